"""windtunnel score: print the scores of a run, or score predictions made elsewhere."""

from __future__ import annotations

import warnings
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.cli.run import finish
from windtunnel.core.errors import ImplausibleScores, UserError
from windtunnel.core.metrics import headline_titles, metric_named
from windtunnel.core.progress_bar import Bar
from windtunnel.options import ScoreOptions
from windtunnel.report.score_summary import (
    SELECTED_HEADER,
    score_lines,
    selected_score_lines,
    selected_score_rows,
)
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.runs import Run, load_run

# Parameters that apply to a run folder.
OF_RUNS = ("run_folder", "metrics", "baseline", "group", "include", "as_json", "as_csv")


@click.command()
@click.argument("run_folder", metavar="[RUN]", required=False)
@click.option("--metric", "metrics", multiple=True, help="Print only this metric; may be repeated.")
@click.option(
    "--baseline",
    metavar="RUN",
    help="A baseline run on the same images, by which CE, mCE, FR, T5D and similar scores are normalised.",
)
@click.option(
    "--predictions",
    metavar="FILE",
    help="A Parquet, npz, CSV, JSON or JSONL file of predictions made elsewhere; or COCO results: a JSON "
    "file, or a folder with clean.json, fog/3.json ...",
)
@click.option("--data", help="With --predictions: their images.")
@click.option("--suite", help="With --predictions: the suite of their conditions.")
@record_options(ScoreOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores as CSV.")
@click.pass_context
def command(
    context: click.Context,
    /,
    run_folder: str | None,
    metrics: tuple[str, ...],
    baseline: str | None,
    predictions: str | None,
    data: str | None,
    suite: str | None,
    as_json: bool,
    as_csv: bool,
    **given: Any,
) -> None:
    """Print the scores of RUN, or make a run folder from predictions made elsewhere.

    \b
    Examples:
      windtunnel score windtunnel-runs/my-run --csv
      windtunnel score --predictions logits.parquet --data ./val --suite imagenet-c
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    if (run_folder is None) == (predictions is None):
        raise UserError("Give a RUN folder, or --predictions FILE with --data DATA.")
    options = ScoreOptions(**given)
    console = Console(stderr=True)
    if predictions is None:
        _refuse_import_options(context)
        run = load_run(str(run_folder), baseline=baseline, group=options.group)
        _print(run, metrics, as_json=as_json, as_csv=as_csv)
        return
    if data is None:
        raise UserError("--predictions needs the images of the predictions; give --data DATA.")
    # The summary prints the warnings.
    with Bar(console, "reading image headers") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleScores)
        run = api.score_predictions(predictions, data, suite, options, progress=bar)
    if baseline is not None:
        run = run.against(baseline)
    if remarks := run.info.remarks:
        print_lines(console, [("note", remark) for remark in remarks])
    if metrics or as_csv:
        _print(run, metrics, as_json=as_json, as_csv=as_csv)
    else:
        finish(console, [run], as_json=as_json)


def _refuse_import_options(context: click.Context) -> None:
    """Refuse options that have no effect on a run folder, which is already made."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in OF_RUNS
        and context.get_parameter_source(str(parameter.name)) is not ParameterSource.DEFAULT
    ]
    if given:
        verb, them = ("applies", "it") if len(given) == 1 else ("apply", "them")
        raise UserError(f"{', '.join(given)} {verb} to --predictions only; leave {them} out.")


def _check_metrics(run: Run, metrics: tuple[str, ...]) -> None:
    """Refuse metrics that need another kind of run."""
    for metric in metrics:
        if needed := api.kind_of_run_needed(run, metric.partition(":")[0]):
            raise UserError(f"{metric} needs {needed}, and {run.path} is not one; give such a run.")


def _print(run: Run, metrics: tuple[str, ...], *, as_json: bool, as_csv: bool) -> None:
    metrics = tuple(map(metric_named, metrics))
    _check_metrics(run, metrics)
    scores = run.scores(metrics or None)
    if as_json:
        print_json(run_document(run.scoring, scores))
    elif as_csv:
        click.echo(scores_csv(scores), nl=False)
    elif metrics:
        if scores:
            print_table(Console(), SELECTED_HEADER, selected_score_rows(scores))
        print_lines(Console(), selected_score_lines(run.scoring, metrics, scores))
    else:
        headlines = headline_titles()
        others = [
            (score.metric, f"{score.value:.4f}  [{score.low:.4f}, {score.high:.4f}]   {score.formula}")
            for score in scores
            if not score.condition and score.metric not in headlines
        ]
        print_lines(Console(), [*score_lines(run.scoring, scores), *others])
