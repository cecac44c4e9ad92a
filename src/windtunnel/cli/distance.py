"""windtunnel distance: the Fréchet distance between two datasets."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import DistanceOptions


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--features", required=True, metavar="NET.onnx", help="The network whose features are compared."
)
@record_options(DistanceOptions)
@AS_JSON
def command(a: str, b: str, features: str, as_json: bool, **options: Any) -> None:
    """Measure the Fréchet distance between datasets A and B in the features of a network.

    The same distance is measured between two halves of A and two halves of B, with the same number of
    images. Their mean is the distance expected without a shift; the excess over it measures the shift. No
    labels are needed.

    \b
    Examples:
      windtunnel distance ./val ./sketches --features resnet50.onnx --output features
      windtunnel distance ./val ./val-c#fog:3 --features inception.onnx
    """
    console = Console(stderr=True)
    with Bar(console, "computing features") as feature_bar, Bar(console, "measuring splits") as split_bar:

        def count_split(done: int, total: int, _failed: int = 0) -> None:
            feature_bar.finish()
            split_bar(done, total)

        distance = api.distance(
            a, b, features, DistanceOptions(**options), progress=feature_bar, progress_splits=count_split
        )
    if as_json:
        print_json(distance.to_json())
    else:
        print_lines(Console(), _lines(distance))


def _lines(distance: api.Distance) -> list[tuple[str, str]]:
    grid = distance.grid
    averaged = f", averaged over {grid[0]}x{grid[1]} positions" if grid else ""
    splits = len(distance.between.values)
    return [
        ("distance", distance.title),
        ("network", f"{distance.network}:{distance.output}   {distance.features:,} features{averaged}"),
        ("preprocess", distance.preprocess),
        *_set_lines("A", distance.a),
        *_set_lines("B", distance.b),
        ("splits", f"{splits} of {distance.n:,} against {distance.n:,} images, seed {distance.seed}"),
        ("A to B", _range(distance.between)),
        ("A to A", f"{_range(distance.within_a)}   two groups of A"),
        ("B to B", f"{_range(distance.within_b)}   two groups of B"),
        ("excess", f"{_range(distance.excess)}   A to B minus the mean of A to A and B to B"),
        *(("warning", warning) for warning in distance.warnings),
    ]


def _set_lines(name: str, image_set: api.ImageSet) -> list[tuple[str, str]]:
    images = counted(image_set.images, "image")
    if image_set.drawn < image_set.images:
        images += f", {image_set.drawn:,} in a split: one frame of every video"
    notes = [("note", remark) for remark in image_set.remarks]
    return [(name, f"{image_set.location}   {images}"), *notes]


def _range(value: api.OverSplits) -> str:
    """The median over splits, with the 2.5 % and 97.5 % quantiles."""
    return f"{value.median:.4g}   [{value.low:.4g}, {value.high:.4g}]"
