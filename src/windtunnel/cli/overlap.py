"""windtunnel overlap: train one model per corruption, and measure how far they overlap."""

from __future__ import annotations

import json
from typing import Any, cast

import click
import numpy as np
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import byte_size, counted, listed
from windtunnel.options import OverlapOptions

# The pairs of candidates that are printed.
PAIRS_SHOWN = 10
# Options of a table of accuracies; the others are about training.
TABLE_OPTIONS = ("ratio", "include")
RATIO_MEANINGS = {"clean": "accuracies divided by the model's clean accuracy", "raw": "plain accuracies"}


@click.command()
@click.argument("subject", metavar="TRAIN TEST | ACCURACIES.csv", nargs=-1, required=True)
@click.option("--out", metavar="STUDY", help="The folder of the study; the same command continues it.")
@record_options(OverlapOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the matrix as CSV.")
@LOG
@click.pass_context
def command(
    context: click.Context,
    /,
    subject: tuple[str, ...],
    out: str | None,
    as_json: bool,
    as_csv: bool,
    console: Console,
    **options: Any,
) -> None:
    """Measure how far training with one corruption helps against the others.

    One small network is trained per candidate and seed, and one without corruptions. All of them are tested
    on the clean and on every corrupted test set. The overlapping score of two corruptions is 1 if training
    with one helps against the other as much as its own training, and 0 if it does not help (Laugros et al.
    2021). With ACCURACIES.csv of models that were trained elsewhere, nothing is trained.

    \b
    Examples:
      windtunnel overlap cifar10.npz#train cifar10.npz#test --out study
      windtunnel overlap ./train ./val --out study --candidates fog:3 --candidates snow:3 --seeds 1
      windtunnel overlap accuracies.csv --out matrix
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    if len(subject) > 2:
        raise UserError(f"{len(subject)} arguments are given; give TRAIN and TEST, or ACCURACIES.csv.")
    matrix = (
        _of_table(context, subject[0], out, options)
        if len(subject) == 1
        else _of_study(console, subject[0], subject[1], out, OverlapOptions(**options))
    )
    if as_json:
        print_json(json.loads(matrix.to_json_text()))
    elif as_csv:
        click.echo(matrix.to_csv(), nl=False)
    else:
        _print(Console(), matrix, out)


def _of_table(
    context: click.Context, table: str, out: str | None, options: dict[str, Any]
) -> api.OverlapMatrix:
    """The matrix of a table of accuracies; refuses options about training."""
    if not table.lower().endswith(".csv"):
        raise UserError(f"TEST is missing after {table}; give TRAIN and TEST, or ACCURACIES.csv.")
    for name in options:
        typed = context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        if typed and name not in TABLE_OPTIONS:
            raise UserError(
                f"--{OverlapOptions.field(name).flag_name} is given, but {table} is a table of accuracies, "
                "and nothing is trained; leave it out, or give TRAIN and TEST."
            )
    return api.overlap_of_accuracies(table, out, ratio=cast(Any, options["ratio"]))


def _of_study(
    console: Console, train: str, test: str, out: str | None, options: OverlapOptions
) -> api.OverlapMatrix:
    if out is None:
        raise UserError("--out is not given; give a folder for the models and the matrix, --out STUDY.")
    prepared = api.prepare_study(train, test, out, options)
    study, workers = prepared.study, prepared.workers
    settings = study.protocol.settings
    lines = [
        ("train", f"{study.data.train.location}   {counted(study.recipe.train.count, 'image')}"),
        ("test", f"{study.data.test.location}   {counted(len(study.data.images), 'image')}"),
        ("candidates", f"{len(study.candidates)}: {listed(study.candidates)}"),
        (
            "models",
            f"{len(study.items)} ({study.protocol.network}, {counted(settings.epochs, 'epoch')}): "
            f"{counted(len(study.candidates), 'candidate')} and clean, {counted(len(study.seeds), 'seed')}",
        ),
        (
            "epochs",
            f"{len(study.items) * study.epochs_per_model:,} in all; the test of a model counts as one",
        ),
        ("workers", f"{workers}"),
        ("disk", f"{byte_size(study.models.test_bytes)} of test images while models are trained"),
        ("out", str(study.folder)),
        *(("note", note) for note in study.notes),
    ]
    print_lines(console, lines)
    with Bar(console, "making test images") as making, Bar(console, "training epochs") as training:

        def count_epochs(done: int, total: int, failed: int = 0) -> None:
            making.finish()
            training(done, total, failed)

        return prepared.run(workers, making, count_epochs)


def _print(console: Console, matrix: api.OverlapMatrix, out: str | None) -> None:
    """Print the summary and the pairs that overlap most."""
    values = matrix.values
    rows, columns = np.triu_indices(len(matrix.candidates), 1)
    pairs = [(row, column) for row, column in zip(rows, columns, strict=True) if values[row, column] >= 0]
    pairs.sort(key=lambda pair: -values[pair])
    seeds = counted(len(matrix.seeds), "seed")
    lines = [
        ("overlap", f"{counted(len(matrix.candidates), 'candidate')}, {seeds}, {matrix.images:,} images"),
        ("ratio", f"{matrix.ratio}   {RATIO_MEANINGS[matrix.ratio]}"),
        ("pairs", f"{len(pairs)} with a score, median {np.median([values[pair] for pair in pairs]):.2f}")
        if pairs
        else ("pairs", "none with a score"),
        *(("note", note) for note in matrix.notes),
        *([("files", f"{out}/overlap.json, overlap.csv, accuracies.csv")] if out else []),
    ]
    print_lines(console, lines)
    if pairs:
        header = ["candidate", "other", "overlap", f"{matrix.confidence:.0%} interval"]
        shown = [
            [
                matrix.candidates[row],
                matrix.candidates[column],
                f"{values[row, column]:.2f}",
                f"{matrix.low[row][column]:.2f} to {matrix.high[row][column]:.2f}",
            ]
            for row, column in pairs[:PAIRS_SHOWN]
        ]
        print_table(console, header, shown)
        if len(pairs) > PAIRS_SHOWN:
            console.print(f"and {len(pairs) - PAIRS_SHOWN} more (--csv)")
