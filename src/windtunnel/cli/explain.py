"""windtunnel explain: draw the regions of an image that a prediction depends on."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.options import ExplainOptions
from windtunnel.report.plan_summary import describe_model
from windtunnel.report.saliency_overlay import map_title, range_text, scale_of


@click.command()
@click.argument("model")
@click.argument("image")
@click.option(
    "--class",
    "target",
    metavar="NAME",
    help="The class to explain: name, WordNet id or index; default: the predicted class.",
)
@record_options(ExplainOptions)
@click.option("--out", metavar="FILE.png", help="The PNG file; default: <image>.explained.png here.")
@AS_JSON
def command(model: str, image: str, target: str | None, out: str | None, as_json: bool, **given: Any) -> None:
    """Write IMAGE next to a saliency map of MODEL's prediction, and print the top classes.

    Occlusion works for any model. The image is covered patch by patch, and the map shows how far the
    probability of the class falls (orange) or rises (blue). The colour scale is the same for every image
    and is shown in the legend. Grad-CAM needs a torch module. It weights the feature maps of the last
    convolution by the gradient of the class's score; its values have no unit.

    \b
    Examples:
      windtunnel explain resnet50.onnx cat.jpg
      windtunnel explain net.py:make cat.jpg --class tabby --method grad-cam
    """
    path = api.explanation_path(image, out)
    options = ExplainOptions(**given)
    loaded = api.load_model(model, options.preprocess, device=options.device)
    with Bar(Console(stderr=True), "covering patches") as bar, redirect_stdout(sys.stderr):
        explanation = api.explain(loaded, image, target, options, progress=bar)
    api.write_explanation(explanation, path)
    if as_json:
        print_json({"model": loaded.name, "image": image, "written": str(path), **explanation.to_json()})
        return
    print_lines(
        Console(),
        [
            ("model", f"{loaded.name}   {describe_model(loaded)}"),
            *_lines(explanation),
            ("written", str(path)),
        ],
    )


def _lines(explanation: api.Explanation) -> list[tuple[str, str]]:
    height, width = explanation.image.shape[:2]
    explained = explanation.explained
    lines = [
        ("top", "   ".join(f"{top.name} {100 * top.probability:.1f} %" for top in explanation.top)),
        (
            "explained",
            f"{explained.name} (class {explained.index}) by {explanation.method}, at {width}x{height} pixels",
        ),
        ("depends on", explanation.words),
    ]
    if explanation.decisive_patch:
        patch = explanation.decisive_patch.patch
        lines.append(("framed", f"{patch.width}x{patch.height} pixels at {patch.left},{patch.top}"))
        lines.append(("spread", f"half of the map is in {100 * explanation.half_area:.0f} % of the image"))
    lines.append(("colours", f"{_colours(explanation)}; {map_title(explanation)}: {range_text(explanation)}"))
    if explanation.patches:
        lines.append(
            (
                "patches",
                f"{explanation.patches} covered one by one; {explanation.lowering} lower the "
                f"{explanation.score}, {explanation.changing} change the predicted class",
            )
        )
    return lines


def _colours(explanation: api.Explanation) -> str:
    """The meaning of the colours in the written map."""
    full = f"full colour at {scale_of(explanation).ticks[-1][1]}"
    if explanation.score is None:
        return f"orange: the class depends on it; {full}, no unit, not comparable between images"
    unit = " points" if explanation.score == "probability" else ""
    return f"orange: the {explanation.score} falls when covered, blue: it rises; {full}{unit}"
