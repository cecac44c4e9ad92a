"""windtunnel report: write a run's report and tables again, or those of several runs, or print them."""

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
from windtunnel.core.progress_bar import Bar
from windtunnel.core.scores import Score
from windtunnel.report.accuracy_drops import drops_csv
from windtunnel.report.comparison import comparison_csv
from windtunnel.report.files import write_multi_run_page
from windtunnel.report.markdown import multi_run_markdown, run_markdown
from windtunnel.report.multi_run import multi_run_document
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.runs import Run, load_run

SEVERAL_FILE = "windtunnel-report.html"


@click.command()
@click.argument("runs", metavar="RUN [RUN]...", nargs=-1, required=True)
@click.option(
    "--baseline",
    metavar="RUN",
    help="A run on the same images to divide CE, mCE, FR, T5D and their like by.",
)
@click.option(
    "--public",
    metavar="FOLDER|FILE.csv",
    help="Tables of other people's results (timm's results-*.csv), to place runs over natural sets among.",
)
@click.option("--out", metavar="FILE.html", help=f"Page of several runs; {SEVERAL_FILE} here by default.")
@click.option(
    "--explain",
    metavar="MODEL",
    help="The run's model, to draw what the wrong answers of shown images hang on; a minute or two.",
)
@click.option("--preprocess", metavar="PRESET|FILE.toml", help="With --explain: as the run had it.")
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
    """Write the report of a finished RUN folder, or one page of several; nothing is predicted.

    One run: report.html, report.md, scores.json and scores.csv in its folder. Several: one page in which the
    others are compared with the first, or, where they are of several tests, what every shift costs.
    --explain alone asks the model again.

    \b
    Examples:
      windtunnel report windtunnel-runs/new
      windtunnel report windtunnel-runs/new --explain resnet50.onnx
      windtunnel report windtunnel-runs/old windtunnel-runs/new --out both.html
      windtunnel report runs/net-imagenet-a runs/net-imagenet-c --public timm-results/
    """
    if as_json + as_csv + as_markdown > 1:
        raise UserError("--json, --csv and --markdown exclude each other; give one.")
    if explain and (as_json or as_csv or as_markdown or len(runs) > 1):
        raise UserError(
            "--explain draws images into report.html of one run; give one RUN and nothing to print."
        )
    if preprocess and not explain:
        raise UserError("--preprocess says how --explain's model wants its images; give both or neither.")
    if len(runs) > 1:
        if baseline:
            raise UserError("--baseline is for one run; several are compared with the first of them.")
        found = api.summarise_runs([load_run(run, group=group) for run in runs], public)
        _several(found, Path(out or SEVERAL_FILE), as_json, as_csv, as_markdown)
        return
    if out:
        raise UserError("--out is for the page of several runs; one run's reports lie in its own folder.")
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


def _several(found: api.Several, out: Path, as_json: bool, as_csv: bool, as_markdown: bool) -> None:
    if as_json:
        print_json(multi_run_document(found))
    elif as_csv:
        click.echo(
            comparison_csv(found.comparison) if found.comparison else drops_csv(found.shifts), nl=False
        )
    elif as_markdown:
        click.echo(multi_run_markdown(found), nl=False)
    else:
        click.echo(str(write_multi_run_page(found, out)))


def explained_reports(
    console: Console,
    run: Run,
    scores: list[Score],
    model: str | None,
    preprocess: str | Path | None,
    placed: Sequence[api.Placed] = (),
) -> api.Written:
    """Write a run's reports; with a model given, with saliency maps of misclassified images.

    `placed` is the run among public models, where tables of those were given.
    """
    with Bar(console, "explaining") as bar, redirect_stdout(sys.stderr):
        written = api.write_report(
            run, scores, model=model, preprocess=preprocess, placed=placed, progress=bar
        )
    for line in written.failures:
        console.print(f"{line}; the rest of the report is written.", markup=False, soft_wrap=True)
    if written.missing_plugins:
        console.print(written.missing_plugins, markup=False, soft_wrap=True)
    return written
