"""windtunnel curate hard: adversarial filtration."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.filtering import (
    SHOWN,
    Lines,
    filter_options,
    model_line,
    print_filtering,
    quiet_bar,
    refuse_both,
)
from windtunnel.cli.options import with_workers
from windtunnel.core.curation_records import HardSummary
from windtunnel.core.wording import listed
from windtunnel.options import HardOptions


@click.command("hard", short_help="Shortlist what filter models misclassify, as for ImageNet-A.")
@filter_options(HardOptions)
def command(
    project: str, models: tuple[str, ...], as_json: bool, as_csv: bool, console: Console, **options: Any
) -> None:
    """Shortlist the candidates of PROJECT that no filter model classifies correctly.

    Every model predicts ten crops of every candidate. A candidate is dropped if any crop of any model is
    correct, or gives the true class more than 15 % confidence. At most 15 candidates of every confusion are
    kept. Predictions are stored: other thresholds take seconds.

    \b
    Examples:
      windtunnel curate hard my-project --filter resnet50.onnx
      windtunnel curate hard my-project --filter a.onnx --filter b.onnx --classes 200.txt
    """
    refuse_both(as_json=as_json, as_csv=as_csv)
    with quiet_bar(console) as bar:
        step = api.filter_hard(project, models, HardOptions(**with_workers(options)), progress=bar)
    print_filtering(console, project, step, _lines(step.summary), as_json=as_json, as_csv=as_csv)


def _lines(summary: HardSummary) -> Lines:
    overlaps = summary.overlapping_classes
    return [
        model_line(summary.filter_models, summary.accuracies),
        ("candidates", f"{summary.candidates:,} of {summary.stored:,} stored"),
        ("never correct", f"{summary.never_correct:,}   no crop of any model is correct"),
        ("low confidence", f"{summary.low_true_confidence:,}   in the true class, in every crop"),
        ("shortlist", f"{summary.shortlist:,}   after the cap on each confusion"),
        *_overlap_lines("hierarchy", overlaps.hierarchy),
        *_overlap_lines("confusion", overlaps.confusion),
    ]


def _overlap_lines(kind: str, pairs: tuple[tuple[str, str], ...]) -> Lines:
    shown = listed([f"{first} and {other}" for first, other in pairs], SHOWN)
    return [("note", f"classes that overlap by {kind}: {shown}")] if pairs else []
