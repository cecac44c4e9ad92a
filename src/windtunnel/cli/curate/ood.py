"""windtunnel curate ood: selection of out-of-distribution candidates."""

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
from windtunnel.core.curation_records import OodSummary
from windtunnel.core.wording import listed
from windtunnel.options import OodOptions


@click.command("ood", short_help="Shortlist confident predictions of unknown classes, as for ImageNet-O.")
@filter_options(OodOptions)
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
    print_filtering(console, project, step, _lines(step.summary), as_json=as_json, as_csv=as_csv)


def _lines(summary: OodSummary) -> Lines:
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
    ]
