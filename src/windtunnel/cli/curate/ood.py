"""windtunnel curate ood: selection of out-of-distribution candidates."""

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
from windtunnel.core.curation_records import OodSummary
from windtunnel.core.wording import listed
from windtunnel.options import OodOptions


@click.command("ood", short_help="Shortlist confident predictions of unknown classes, as for ImageNet-O.")
@click.argument("project")
@FILTER
@record_options(OodOptions)
@AS_JSON
@AS_CSV
@LOG
def command(
    project: str, models: tuple[str, ...], as_json: bool, as_csv: bool, console: Console, **options: Any
) -> None:
    """Shortlist candidates of PROJECT whose class no filter model has, but that all are confident about.

    With a hierarchy, candidates of classes above or below an in-distribution class are dropped as well:
    such classes are not out of distribution.

    \b
    Examples:
      windtunnel curate ood my-project --filter resnet50.onnx --hierarchy wordnet.is_a.txt
      windtunnel curate ood my-project --filter shop.onnx --hierarchy categories.csv
    """
    refuse_both(as_json=as_json, as_csv=as_csv)
    with quiet_bar(console) as bar:
        step = api.select_ood(project, models, OodOptions(**with_workers(options)), progress=bar)
    print_step(
        console,
        step,
        lambda: _lines(project, step.summary),
        as_json=as_json,
        csv_text=(lambda: api.audit_csv(project, step.step)) if as_csv else None,
    )


def _lines(project: str, summary: OodSummary) -> Lines:
    lines = [
        model_line(summary.filter_models),
        ("candidates", f"{summary.stored:,}"),
        ("other classes", f"{summary.outside_label_space:,}   not a class of the filter models"),
    ]
    if summary.hierarchy_known:
        lines.append(("unrelated", f"{summary.unrelated:,}   neither above nor below one of their classes"))
    else:
        lines.append(("note", "no hierarchy is given, so broader and narrower classes are not recognised"))
    if related := summary.related_classes:
        shown = listed([f"{row.name} ({row.relation} {row.known})" for row in related], SHOWN)
        lines.append(("dropped classes", shown))
    return [
        *lines,
        ("shortlist", f"{summary.shortlist:,}   every model is confident"),
        *duplicate_lines(summary.near_duplicates, summary.features),
        ("audit", f"{project}/audit/ood.parquet"),
    ]
