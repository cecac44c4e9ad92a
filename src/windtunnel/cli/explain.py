"""windtunnel explain: what a model sees in an image, and on which part of it the answer hangs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Console

from windtunnel.analysis.explain import Explanation, Method, explain
from windtunnel.analysis.occlusion import Cover, Kind
from windtunnel.cli.options import AS_JSON, DEVICE, INCLUDE, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.models import load_model
from windtunnel.report.plan_summary import describe_model
from windtunnel.report.saliency_overlay import map_title, range_text, scale_of, side_by_side


@click.command()
@click.argument("model")
@click.argument("image")
@click.option(
    "--class", "of", metavar="NAME", help="Explain this class (name, WordNet id, index), not the best answer."
)
@click.option("--method", type=click.Choice(get_args(Method)), default="occlusion", show_default=True)
@click.option("--cover", type=click.Choice(get_args(Cover)), default="mean", show_default=True,
              help="What covers a patch: the image's mean colour, or its blur.")  # fmt: skip
@click.option("--score", "kind", type=click.Choice(get_args(Kind)), default="probability", show_default=True,
              help="What falls in the map of occlusion.")  # fmt: skip
@click.option("--layer", metavar="NAME", help="Of grad-cam: the layer; by default the last convolution.")
@click.option(
    "--preprocess",
    metavar="PRESET|FILE.toml",
    help="How the model wants its images; else MODEL.toml beside the model, else preset imagenet.",
)
@DEVICE
@click.option("--out", metavar="FILE.png", help="Where to write; default <image>.explained.png here.")
@INCLUDE
@AS_JSON
def command(
    model: str,
    image: str,
    preprocess: str | None,
    device: str,
    out: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write IMAGE beside a map of what MODEL's answer hangs on, and print the best answers.

    Occlusion, for any model: the image is covered patch by patch, and the map is how far the answer's
    probability falls. Orange: it falls when this region is covered; blue: it rises. The scale of the
    colours is the same in every image and stands in the legend. Grad-CAM, for torch modules: the last
    layer's maps by the gradient of the class's score; its values have no unit.

    \b
    Examples:
      windtunnel explain resnet50.onnx cat.jpg
      windtunnel explain net.py:make cat.jpg --class tabby --method grad-cam
    """
    target = _target(image, out)
    console = Console(stderr=True)
    loaded = load_model(model, preprocess, device=device)
    with Bar(console, "covering") as bar, redirect_stdout(sys.stderr):
        found = explain(loaded, image, progress=bar, **options)
    side_by_side(found).save(target, "PNG")
    if as_json:
        print_json({"model": loaded.name, "image": image, "written": str(target), **found.to_json()})
        return
    print_lines(
        Console(),
        [
            ("model", f"{loaded.name}   {describe_model(loaded)}"),
            *_lines(found, options["kind"]),
            ("written", str(target)),
        ],
    )


def _target(image: str, out: str | None) -> Path:
    target = Path(out) if out else Path(f"{Path(image).stem}.explained.png")
    if target.suffix.lower() != ".png":
        raise UserError(f"--out is {target}; give a file ending in .png.")
    if not target.parent.is_dir():
        raise UserError(f"--out is {target}; there is no folder {target.parent}.")
    if target.exists() and Path(image).exists() and target.samefile(image):
        raise UserError(f"--out is {target}, the image itself; give another file.")
    return target


def _lines(found: Explanation, kind: str) -> list[tuple[str, str]]:
    height, width = found.image.shape[:2]
    lines = [
        ("says", "   ".join(f"{one.name} {100 * one.probability:.1f} %" for one in found.top)),
        (
            "explained",
            f"{found.explained.name} (class {found.explained.index}) by {found.method}; the model sees "
            f"{width}x{height}",
        ),
        ("hangs on", found.words),
    ]
    if found.hang:
        patch = found.hang.patch
        lines.append(("framed", f"{patch.width}x{patch.height} pixels at {patch.left},{patch.top}"))
        lines.append(("spread", f"half of the map lies in {100 * found.half_in:.0f} % of the image"))
    lines.append(("colours", f"{_colours(found)}; {map_title(found)}: {range_text(found)}"))
    if found.patches:
        what = f"{found.patches} covered one by one; {found.lowering} lower the {kind}"
        lines.append(("patches", f"{what}, {found.changing} change the best answer"))
    return lines


def _colours(found: Explanation) -> str:
    """What the colours of the written map mean."""
    scale = scale_of(found)
    full = f"full colour at {scale.ticks[-1][1]}"
    if found.score is None:
        return f"orange: the class depends on it; {full}, no unit, not comparable between images"
    unit = " points" if found.score == "probability" else ""
    return f"orange: the {found.score} falls when covered, blue: it rises; {full}{unit}"
