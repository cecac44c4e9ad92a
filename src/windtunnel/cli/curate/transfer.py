"""windtunnel curate transfer: accuracy of held-out models on a shortlist."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from rich.console import Console

from windtunnel import api
from windtunnel.cli.filtering import print_step, quiet_bar, refuse_both
from windtunnel.cli.options import AS_JSON, LOG, record_options, with_workers
from windtunnel.cli.printing import print_table
from windtunnel.core.curation_records import GroupAccuracy
from windtunnel.options import TransferOptions
from windtunnel.report.curation import accuracy_cells
from windtunnel.report.tables import csv_text

HEADER = ("model", "candidates", "n", "top-1 %", "95 % interval", "note")
COLUMNS = tuple(field.name for field in msgspec.structs.fields(GroupAccuracy))


@click.command("transfer", short_help="Measure how hard the shortlist is for other models.")
@click.argument("project")
@click.option(
    "--held-out",
    "models",
    multiple=True,
    required=True,
    metavar="MODEL",
    help="A model that did not filter: other weights and another training run; may be repeated.",
)
@record_options(TransferOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: a row for each model and group.")
@LOG
def command(
    project: str, models: tuple[str, ...], as_json: bool, as_csv: bool, console: Console, **options: Any
) -> None:
    """Measure the accuracy of held-out models on the shortlist of PROJECT.

    Next to it are their accuracies on as many random candidates, and on the candidates whose centre crop
    every filter model misclassifies. Filter models are shown for comparison and marked.

    \b
    Example:
      windtunnel curate transfer my-project --held-out efficientnet.onnx
    """
    refuse_both(as_json=as_json, as_csv=as_csv)
    with quiet_bar(console) as bar:
        step = api.measure_transfer(project, models, TransferOptions(**with_workers(options)), progress=bar)
    accuracies = step.summary.accuracies
    if not (as_json or as_csv):
        print_table(Console(), HEADER, [_row(accuracy) for accuracy in accuracies])
    print_step(
        console,
        step,
        lambda: [(name.replace("_", " "), text) for name, text in step.summary.groups.items()],
        as_json=as_json,
        csv_text=(lambda: csv_text(COLUMNS, accuracies)) if as_csv else None,
    )


def _row(accuracy: GroupAccuracy) -> tuple[str, ...]:
    return (
        accuracy.model,
        accuracy.group.replace("_", " "),
        f"{accuracy.n:,}",
        *accuracy_cells(accuracy),
        accuracy.note,
    )
