"""windtunnel experiment: train variants with several seeds, and compare them with a baseline."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import byte_size, counted, listed
from windtunnel.options import ExperimentOptions
from windtunnel.report.experiment_tables import (
    choice_text,
    experiment_csv,
    experiment_document,
    facts_line,
    legend,
    main_table,
    verdict_lines,
)


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option("--out", metavar="FOLDER", help="The folder of the experiment; the same command continues it.")
@record_options(ExperimentOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@LOG
def command(
    file: str,
    out: str | None,
    as_json: bool,
    as_csv: bool,
    console: Console,
    **options: Any,
) -> None:
    """Measure which training remedies and wrappers make a network more robust, and what they cost.

    Every variant of FILE.toml is trained with several seeds and tested under the same corruptions. The table
    has errors by family, differences to the baseline with intervals, verdicts and costs.

    \b
    Examples:
      windtunnel experiment remedies.toml --out remedies
      windtunnel report remedies
      windtunnel report remedies --csv
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    if out is None:
        raise UserError("--out is not given; give a folder for the models and results, --out FOLDER.")
    prepared = api.prepare_experiment(file, out, ExperimentOptions(**options))
    _print_plan(console, prepared)
    with Bar(console, "making test images") as making, Bar(console, "training epochs") as training:

        def count_epochs(done: int, total: int, failed: int = 0) -> None:
            making.finish()
            training(done, total, failed)

        prepared.run(prepared.workers, making, count_epochs)
    stored = api.open_experiment(out)
    if as_json:
        print_json(experiment_document(stored.results, stored.costs))
    elif as_csv:
        click.echo(experiment_csv(stored.results, stored.costs), nl=False)
    else:
        _print(Console(), stored, out)


def _print_plan(console: Console, prepared: api.PreparedExperiment) -> None:
    planned = prepared.experiment
    content, data = planned.content, planned.data
    trained = [variant.name for variant in content.variants if not variant.of]
    wrapped = [variant.name for variant in content.variants if variant.of]
    lines = [
        ("train", f"{data.train.location}   {counted(len(data.train_images), 'image')}"),
        ("test", f"{data.test.location}   {counted(len(data.images), 'image')}"),
        ("trained", f"{len(trained)}: {listed(trained)}"),
        *([("wrapped", f"{len(wrapped)}: {listed(wrapped)}")] if wrapped else []),
        ("models", f"{len(planned.trainings)} of {content.network}, {counted(content.seeds, 'seed')} each"),
        ("conditions", f"{len(planned.models.tested)} of {listed([suite.name for suite in planned.suites])}"),
        *([("choosing", _choosing(prepared))] if planned.choosing else []),
        ("epochs", f"{planned.epochs:,} in all; the test of a model counts as one"),
        ("workers", f"{prepared.workers}"),
        ("disk", f"{byte_size(planned.models.test_bytes)} of test images while models are trained"),
        ("out", str(planned.folder)),
        *(("note", note) for note in planned.notes),
    ]
    print_lines(console, lines)


def _choosing(prepared: api.PreparedExperiment) -> str:
    planned = prepared.experiment
    suite = planned.choosing.name if planned.choosing else ""
    return f"{suite}, on {counted(int(planned.chosen_on.sum()), 'test image')} that are not reported"


def _print(console: Console, stored: api.StoredExperiment, out: str) -> None:
    results = stored.results
    print_lines(
        console,
        [("experiment", f"{results.name}   {facts_line(results)}"), ("baseline", results.baseline)],
    )
    print_table(console, *main_table(results, stored.costs))
    console.print(legend(results), markup=False, highlight=False, soft_wrap=True)
    best = choice_text(results)
    print_lines(
        console,
        [
            *verdict_lines(results),
            *([("best", best)] if best else []),
            *(("note", note) for note in results.notes),
            ("page", f"windtunnel report {out}"),
        ],
    )
