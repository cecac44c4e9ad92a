"""windtunnel curate transfer: accuracy of held-out models on a shortlist."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options, with_workers
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.progress_bar import Bar
from windtunnel.options import TransferOptions

HEADER = ("model", "candidates", "n", "top-1 %", "95 % interval", "note")


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
def command(project: str, models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Measure the accuracy of held-out models on the shortlist of PROJECT.

    Next to it are their accuracies on as many random candidates, and on the candidates whose centre crop
    every filter model misclassifies. Filter models are shown for comparison and marked.

    \b
    Example:
      windtunnel curate transfer my-project --held-out efficientnet.onnx
    """
    with Bar(Console(stderr=True), "predicting candidates") as bar:
        step = api.measure_transfer(project, models, TransferOptions(**with_workers(options)), progress=bar)
    if as_json:
        print_json({"recipe": step.recipe, "summary": step.summary})
        return
    rows = [
        (
            row["model"],
            row["group"].replace("_", " "),
            f"{row['n']:,}",
            f"{100 * row['accuracy']:.1f}",
            f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]",
            row["note"],
        )
        for row in step.summary["accuracies"]
    ]
    print_table(Console(), HEADER, rows)
    print_lines(Console(), [(name.replace("_", " "), text) for name, text in step.summary["groups"].items()])
