"""windtunnel subtypes: train on some subtypes of broad types, and test on others."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted, listed
from windtunnel.options import SubtypeOptions
from windtunnel.report.subtypes import (
    MODEL_HEADER,
    PAGE_FILE,
    TYPE_HEADER,
    chance_text,
    facts,
    model_rows,
    type_rows,
)

# Types that the summary names.
TYPES_SHOWN = 6


@click.command()
@click.argument("data", metavar="DATA")
@click.option(
    "--out", metavar="STUDY", required=True, help="The study's folder; the same command continues it."
)
@record_options(SubtypeOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the accuracy of every subtype as CSV.")
@LOG
def command(data: str, out: str, as_json: bool, as_csv: bool, console: Console, **options: Any) -> None:
    """Measure whether a model recognises subtypes that it was not trained on.

    The classes of DATA are subtypes of broad types, such as breeds of dogs. A network is trained on the seen
    subtypes, then its last layer on their types. Its accuracy on unseen subtypes of the same types is
    compared with that on held-out images of seen ones (Hendrycks & Dietterich 2019).

    \b
    Examples:
      windtunnel subtypes cifar10.npz#train --hierarchy types.csv --out study
      windtunnel subtypes ./train --hierarchy imagenet-types --module net.py:resnet --protocol paper \\
        --out study
      windtunnel subtypes ./imagenet-22k --hierarchy wordnet.is_a.txt --types imagenet-types \\
        --seen imagenet-1k --module net.py:resnet --protocol paper --out study
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    with redirect_stdout(sys.stderr):  # factories may print
        prepared = api.prepare_subtypes(data, out, SubtypeOptions(**options))
    study, workers = prepared.study, prepared.workers
    split = study.split
    labels = dict.fromkeys(item.label for item in study.items)
    lines = [
        ("data", f"{study.data.location}   {counted(len(study.types.samples()), 'training image')}"),
        ("types", f"{len(split.types)}: {listed(split.types, TYPES_SHOWN)}"),
        (
            "subtypes",
            f"{len(split.of_part('seen'))} seen, {len(split.of_part('unseen'))} unseen",
        ),
        ("test", counted(len(study.images), "image")),
        ("models", f"{len(study.items)}: {listed(list(labels))}; {counted(options['seeds'], 'seed')}"),
        ("epochs", f"{sum(map(study.epochs, study.items)):,} in all; the test of a model counts as one"),
        ("workers", f"{workers}"),
        ("out", str(study.folder)),
    ]
    print_lines(console, lines)
    with Bar(console, "training epochs") as training:
        result = prepared.run(workers, training)
    if as_json:
        print_json(json.loads(result.to_json_text()))
    elif as_csv:
        click.echo(result.to_csv(), nl=False)
    else:
        _print(Console(), result, out)


def _print(console: Console, result: api.SubtypeRobustness, out: str) -> None:
    """Print the accuracies of every model, and by type if there is only one."""
    lines = [
        ("subtypes", facts(result)),
        ("chance", chance_text(result)),
        *(("note", note) for note in result.notes),
        ("files", f"{out}/{PAGE_FILE}, subtypes.json, accuracies.csv, split.csv"),
    ]
    print_lines(console, lines)
    print_table(console, MODEL_HEADER, model_rows(result.models))
    if len(result.models) == 1:
        console.print()
        print_table(console, TYPE_HEADER, type_rows(result.models[0]))
