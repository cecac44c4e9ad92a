"""windtunnel report: write or print the report of finished runs, of a study, an experiment, or trainings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.core.progress_bar import Bar
from windtunnel.core.scores import Score
from windtunnel.core.wording import listed
from windtunnel.report.accuracy_drops import drops_csv
from windtunnel.report.category_tables import CATEGORY_COLUMNS, category_rows
from windtunnel.report.comparison import comparison_csv
from windtunnel.report.experiment_tables import experiment_csv, experiment_document
from windtunnel.report.files import write_multi_run_page
from windtunnel.report.markdown import multi_run_markdown, run_markdown
from windtunnel.report.multi_run import multi_run_document
from windtunnel.report.overlap_study import study_document
from windtunnel.report.tables import csv_text, run_document, scores_csv
from windtunnel.report.training import trainings_csv, trainings_document
from windtunnel.runs import Run, load_run

SEVERAL_FILE = "windtunnel-report.html"


@click.command()
@click.argument("runs", metavar="RUN [RUN]...", nargs=-1, required=True)
@click.option(
    "--baseline",
    metavar="RUN",
    help="A baseline run on the same images, by which CE, mCE, FR, T5D and similar scores are normalised.",
)
@click.option(
    "--public",
    metavar="FOLDER|FILE.csv",
    help="Tables of public results (timm's results-*.csv), with which runs over natural sets are compared.",
)
@click.option(
    "--out",
    metavar="FILE.html",
    help=f"The page of several runs or of trainings; default for several: {SEVERAL_FILE} here.",
)
@click.option(
    "--explain",
    metavar="MODEL",
    help="The run's model; adds saliency maps for the misclassified images shown in the report (slow).",
)
@click.option(
    "--preprocess",
    metavar="PRESET|FILE.toml",
    help="With --explain: the preprocessing of the run, if it was given.",
)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores as CSV.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the report as Markdown.")
def command(
    runs: tuple[str, ...],
    baseline: str | None,
    public: str | None,
    out: str | None,
    explain: str | None,
    preprocess: str | None,
    group: str | None,
    as_json: bool,
    as_csv: bool,
    as_markdown: bool,
) -> None:
    """Write the report of a finished RUN folder, overlap study or training, or one page of several runs.

    One run: report.html, report.md, scores.json and scores.csv in its folder. Several runs of a suite: one
    page that compares them with the first. Runs of several suites: one page with the cost of every shift.
    A study: report.html in its folder, with what a benchmark should contain.
    An experiment: report.html in its folder, with verdicts, differences and costs.
    One or more trainings: their learning curves and recipes.
    The model is needed only for --explain.

    \b
    Examples:
      windtunnel report windtunnel-runs/new
      windtunnel report windtunnel-runs/new --explain resnet50.onnx
      windtunnel report windtunnel-runs/old windtunnel-runs/new --out both.html
      windtunnel report runs/net-imagenet-a runs/net-imagenet-c --public timm-results/
      windtunnel report trainings/plain trainings/augmix --out curves.html
    """
    if as_json + as_csv + as_markdown > 1:
        raise UserError("--json, --csv and --markdown exclude each other; give one.")
    if explain and (as_json or as_csv or as_markdown or len(runs) > 1):
        raise UserError(
            "--explain draws images into report.html of one run; give one RUN, and no --json, --csv or "
            "--markdown."
        )
    if preprocess and not explain:
        raise UserError("--preprocess is the preprocessing of the model of --explain; give both or neither.")
    if len(runs) == 1 and api.is_study(runs[0]):
        if baseline or public or explain or group or as_markdown:
            raise UserError(
                f"{runs[0]} is an overlap study; leave out --baseline, --public, --explain, --group and "
                "--markdown, which are for runs."
            )
        _study(runs[0], out, as_json, as_csv)
        return
    if any(api.is_experiment(folder) for folder in runs):
        if baseline or public or explain or group or as_markdown or len(runs) > 1:
            raise UserError(
                f"{listed(runs)}: give one experiment, without --baseline, --public, --explain, --group and "
                "--markdown, which are for runs."
            )
        _experiment(runs[0], out, as_json, as_csv)
        return
    if any(api.is_training(folder) for folder in runs):
        if baseline or public or explain or group or as_markdown:
            raise UserError(
                f"{listed(runs)}: trainings have no scores; leave out --baseline, --public, --explain, "
                "--group and --markdown, which are for runs."
            )
        _trainings(runs, out, as_json, as_csv)
        return
    for folder in runs:
        api.refuse_unfinished(folder)
    if len(runs) > 1:
        if baseline:
            raise UserError(
                "--baseline is for one run; several runs are compared with the first. Leave it out."
            )
        several = api.summarise_runs([load_run(run, group=group) for run in runs], public)
        _several(several, location_of(out or SEVERAL_FILE), as_json, as_csv, as_markdown)
        return
    if out:
        raise UserError(
            "--out is for the page of several runs; the report of one run is written to its folder. Leave "
            "it out."
        )
    run = load_run(runs[0], baseline=baseline, group=group)
    scores = run.scores()
    placed = api.place_among_public(run, public) if public else []
    if as_json:
        print_json(run_document(run.scoring, scores, placed))
    elif as_csv:
        click.echo(scores_csv(scores), nl=False)
    elif as_markdown:
        click.echo(run_markdown(run_document(run.scoring, scores, placed)), nl=False)
    else:
        page = explained_reports(Console(stderr=True), run, scores, explain, preprocess, placed).html
        click.echo(str(page))


def _study(study: str, out: str | None, as_json: bool, as_csv: bool) -> None:
    page = out or location_of(study) / "report.html"
    try:
        with Bar(Console(stderr=True), "clustering replicates") as bar:
            analysis = api.find_categories(study, progress=bar)
    except UserError as error:
        if as_json or as_csv:
            raise
        # A study that cannot be read is refused here as well.
        click.echo(str(api.write_matrix_page(study, str(error), page)))
        click.echo(f"No categories: {error}", err=True)
        return
    if as_json:
        print_json(study_document(analysis))
    elif as_csv:
        click.echo(csv_text(CATEGORY_COLUMNS, category_rows(analysis)), nl=False)
    else:
        click.echo(str(api.write_study_page(analysis, study, page)))


def _experiment(folder: str, out: str | None, as_json: bool, as_csv: bool) -> None:
    stored = api.open_experiment(folder)
    if as_json:
        print_json(experiment_document(stored.results, stored.costs))
    elif as_csv:
        click.echo(experiment_csv(stored.results, stored.costs), nl=False)
    else:
        click.echo(str(api.write_experiment_page(stored, out)))


def _trainings(folders: Sequence[str], out: str | None, as_json: bool, as_csv: bool) -> None:
    trainings = api.open_trainings(folders)
    if as_json:
        print_json(trainings_document(trainings))
    elif as_csv:
        click.echo(trainings_csv(trainings), nl=False)
    else:
        page = location_of(folders[0]) / "report.html" if len(folders) == 1 else location_of(SEVERAL_FILE)
        click.echo(str(api.write_training_page(trainings, out or page)))


def _several(several: api.Several, out: Location, as_json: bool, as_csv: bool, as_markdown: bool) -> None:
    if as_json:
        print_json(multi_run_document(several))
    elif as_csv:
        click.echo(
            comparison_csv(several.comparison) if several.comparison else drops_csv(several.shifts), nl=False
        )
    elif as_markdown:
        click.echo(multi_run_markdown(several), nl=False)
    else:
        click.echo(str(write_multi_run_page(several, out)))


def explained_reports(
    console: Console,
    run: Run,
    scores: list[Score],
    model: str | None,
    preprocess: str | Path | None,
    placed: Sequence[api.Placed] = (),
) -> api.Written:
    """Write a run's reports, with saliency maps of misclassified images if a model is given.

    `placed` is the run's position among public models, if tables of them were given.
    """
    with Bar(console, "covering patches") as bar, redirect_stdout(sys.stderr):
        written = api.write_report(
            run, scores, model=model, preprocess=preprocess, placed=placed, progress=bar
        )
    for line in written.failures:
        console.print(f"{line}; the rest of the report is written.", markup=False, soft_wrap=True)
    if written.missing_plugins:
        console.print(written.missing_plugins, markup=False, soft_wrap=True)
    return written
