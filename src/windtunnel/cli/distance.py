"""windtunnel distance: how far one set of images is from another, as a network sees them."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel.analysis.distance import SPLITS, Distance, ImageSet, OverSplits, distance
from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.cli.summary import print_lines
from windtunnel.core.progress import Bar
from windtunnel.core.wording import counted


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--features", required=True, metavar="NET.onnx", help="The network whose features are compared."
)
@click.option(
    "--output", metavar="NAME", help="Which output, or inner tensor; as declared, or the first, by default."
)
@click.option(
    "--preprocess",
    metavar="PRESET|FILE.toml",
    help="How the network wants its images; else NET.onnx.toml beside it, else preset imagenet.",
)
@click.option(
    "--size",
    type=click.IntRange(min=0),
    default=0,
    help="Images in every compared group; by default half of the smaller set, a video being one.",
)
@click.option(
    "--splits", type=click.IntRange(min=1), default=SPLITS, show_default=True, help="How many random splits."
)
@click.option(
    "--subset",
    type=click.IntRange(min=0),
    default=0,
    help="Only this many images of each set, each class in proportion; 0 for all.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the splits and of the subset.")
@INCLUDE
@AS_JSON
def command(
    a: str,
    b: str,
    features: str,
    output: str | None,
    preprocess: str | None,
    size: int,
    splits: int,
    subset: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how far data set B is from A: the Fréchet distance between features of a network.

    Beside it stands the same distance between two halves of A and of B, of as many images: what chance and
    few images make. The excess over those is the shift. No labels are needed.

    \b
    Examples:
      windtunnel distance ./val ./sketches --features resnet50.onnx --output features
      windtunnel distance ./val ./val-c#fog:3 --features inception.onnx
    """
    console = Console(stderr=True)
    with Bar(console, "features") as bar, Bar(console, "splits") as splitting:

        def count_split(done: int, total: int) -> None:
            bar.finish()
            splitting.look(done, total)

        found = distance(
            a,
            b,
            features,
            output=output,
            preprocess=preprocess,
            size=size,
            splits=splits,
            subset=subset,
            seed=seed,
            advance=bar.see,
            advance_splits=count_split,
        )
    if as_json:
        print_json(found.to_json())
    else:
        print_lines(Console(), _lines(found))


def _lines(found: Distance) -> list[tuple[str, str]]:
    averaged = f", averaged over {found.grid[0]}x{found.grid[1]} places" if found.grid else ""
    return [
        ("distance", found.title),
        ("network", f"{found.network}:{found.output}   {found.features:,} features{averaged}"),
        ("preprocess", found.preprocess),
        *_set("A", found.a),
        *_set("B", found.b),
        (
            "splits",
            f"{len(found.between.values)} of {found.n:,} images against {found.n:,}, seed {found.seed}",
        ),
        ("A to B", _over(found.between)),
        ("A to A", f"{_over(found.within_a)}   two groups of A"),
        ("B to B", f"{_over(found.within_b)}   two groups of B"),
        ("excess", f"{_over(found.excess)}   A to B less the mean of the other two"),
        *(("warning", line) for line in found.warnings),
    ]


def _set(name: str, one: ImageSet) -> list[tuple[str, str]]:
    remarks = [("note", remark) for remark in one.remarks]
    frames = f", {one.drawn:,} in a split: one frame of every video" if one.drawn < one.images else ""
    return [(name, f"{one.location}   {counted(one.images, 'image')}{frames}"), *remarks]


def _over(value: OverSplits) -> str:
    return f"{value.median:.4g}   [{value.low:.4g}, {value.high:.4g}]"
