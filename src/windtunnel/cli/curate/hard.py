"""windtunnel curate hard: adversarial filtration."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.filtering import (
    AS_CSV,
    FILTER,
    SHOWN,
    Lines,
    duplicate_lines,
    model_line,
    print_step,
    quiet_bar,
    refuse_both,
)
from windtunnel.cli.options import AS_JSON, LOG, record_options, with_workers
from windtunnel.core.curation_records import HardSummary
from windtunnel.core.wording import listed
from windtunnel.options import HardOptions


@click.command("hard", short_help="Shortlist what filter models misclassify, as for ImageNet-A.")
@click.argument("project")
@FILTER
@record_options(HardOptions)
@AS_JSON
@AS_CSV
@LOG
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
    print_step(
        console,
        step,
        lambda: _lines(project, step.summary),
        as_json=as_json,
        csv_text=(lambda: api.audit_csv(project, step.step)) if as_csv else None,
    )


def _lines(project: str, summary: HardSummary) -> Lines:
    overlaps = summary.overlapping_classes
    return [
        model_line(summary.filter_models, summary.accuracies),
        ("candidates", f"{summary.candidates:,} of {summary.stored:,} stored"),
        ("never correct", f"{summary.never_correct:,}   no crop of any model is correct"),
        ("unsure", f"{summary.low_true_confidence:,}   low confidence in the true class in every crop"),
        ("shortlist", f"{summary.shortlist:,}   after the cap on each confusion"),
        *duplicate_lines(summary.near_duplicates, summary.features),
        *_overlap_lines("hierarchy", overlaps.hierarchy),
        *_overlap_lines("confusion", overlaps.confusion),
        ("audit", f"{project}/audit/hard.parquet"),
    ]


def _overlap_lines(kind: str, pairs: tuple[tuple[str, str], ...]) -> Lines:
    shown = listed([f"{first} and {other}" for first, other in pairs], SHOWN)
    return [("note", f"classes that overlap by {kind}: {shown}")] if pairs else []
