"""windtunnel curate hard: adversarial filtration."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options, with_workers
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted, listed
from windtunnel.options import HardOptions

# Pairs of near-duplicates and of overlapping classes that are printed.
SHOWN = 5


@click.command("hard", short_help="Shortlist what filter models misclassify, as for ImageNet-A.")
@click.argument("project")
@click.option(
    "--filter",
    "models",
    multiple=True,
    required=True,
    metavar="MODEL",
    help="A filter model, in the forms that windtunnel run takes; may be repeated.",
)
@record_options(HardOptions)
@AS_JSON
def command(project: str, models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Shortlist the candidates of PROJECT that no filter model classifies correctly.

    Every model predicts ten crops of every candidate. A candidate is dropped if any crop of any model is
    correct, or gives the true class more than 15 % confidence. At most 15 candidates of every confusion are
    kept. Predictions are stored: other thresholds take seconds.

    \b
    Examples:
      windtunnel curate hard my-project --filter resnet50.onnx
      windtunnel curate hard my-project --filter a.onnx --filter b.onnx --classes 200.txt
    """
    with Bar(Console(stderr=True), "predicting crops") as bar:
        step = api.filter_hard(project, models, HardOptions(**with_workers(options)), progress=bar)
    if as_json:
        print_json({"recipe": step.recipe, "summary": step.summary})
    else:
        print_lines(Console(), _lines(project, step.summary))


def _lines(project: str, summary: dict[str, Any]) -> list[tuple[str, str]]:
    models = [f"{model['name']} ({model['fingerprint'][:12]})" for model in summary["filter_models"]]
    lines = [
        ("filter", listed(models)),
        ("candidates", f"{summary['candidates']:,} of {summary['stored']:,} stored"),
        ("never correct", f"{summary['never_correct']:,}   no crop of any model is correct"),
        ("unsure", f"{summary['low_true_confidence']:,}   low confidence in the true class in every crop"),
        ("shortlist", f"{summary['shortlist']:,}   after the cap on each confusion"),
    ]
    if pairs := summary["near_duplicates"]:
        shown = listed([f"{first[:8]} and {other[:8]}" for first, other, _ in pairs], SHOWN)
        lines.append(("near-duplicates", f"{counted(len(pairs), 'pair')} in the shortlist: {shown}"))
    for kind, overlaps in summary["overlapping_classes"].items():
        if overlaps:
            shown = listed([f"{first} and {other}" for first, other in overlaps], SHOWN)
            lines.append(("note", f"classes that overlap by {kind}: {shown}"))
    lines.append(("audit", f"{project}/audit/hard.parquet"))
    return lines
