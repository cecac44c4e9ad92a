"""windtunnel categories: group the corruptions of an overlap study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.api.output_files import check_file
from windtunnel.cli.options import AS_JSON, click_option, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.options import PredictivityOptions
from windtunnel.report.category_tables import CATEGORY_COLUMNS, category_lines, category_rows
from windtunnel.report.overlap_study import study_document
from windtunnel.report.tables import csv_text

STUDY = click.argument("study", metavar="STUDY")


def category_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide the categories."""
    for decorate in (
        click.option("--seed", default=0, show_default=True, help="Seed of K-means and of random draws."),
        click.option(
            "--without",
            multiple=True,
            metavar="CORRUPTION",
            help="Leave out this corruption, such as a duplicate; may be repeated.",
        ),
        click.option(
            "--diagonal/--no-diagonal",
            default=True,
            show_default=True,
            help="Whether rows include the overlap of a corruption with itself, as in the paper.",
        ),
        click.option(
            "--threshold",
            type=float,
            default=api.CATEGORY_THRESHOLD,
            show_default=True,
            help="The mean correlation within categories that ends the search for their number.",
        ),
    ):
        function = decorate(function)
    return function


REPLICATES = click.option(
    "--replicates",
    type=click.IntRange(min=0),
    default=api.CATEGORY_REPLICATES,
    show_default=True,
    help="Bootstrap replicates of the overlaps that measure stability, up to 1,000; 0 for none.",
)


@click.command()
@STUDY
@category_options
@REPLICATES
@click.option(
    "--validate",
    multiple=True,
    metavar="RUN|FOLDER|TABLE.csv",
    help="Validate with runs of other models, a folder of them, or a table of models and settings; may be "
    "repeated.",
)
@click_option(PredictivityOptions.field("unit"))
@click.option("--report", "page", metavar="FILE.html", help="Also write an HTML page of the study.")
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: candidate, category, stability.")
def command(study: str, page: str | None, as_json: bool, as_csv: bool, **options: Any) -> None:
    """Group the corruptions of STUDY by their overlaps, and check how stable the groups are.

    STUDY is the folder of an overlap study, its overlap.json or overlap.csv, or a table of accuracies
    (columns trained_on, seed, tested_on, accuracy, images).

    K-means on the rows of the overlap matrix; the number of categories is the first from 2 whose mean
    correlation within categories exceeds the threshold.

    \b
    Examples:
      windtunnel categories studies/cifar
      windtunnel categories studies/cifar --validate runs --validate more.csv
      windtunnel categories accuracies.csv --without s2n/jpeg_compression --csv
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    if page is not None:
        check_file(page, ".html", "report")
    with Bar(Console(stderr=True), "clustering replicates") as bar:
        analysis = api.find_categories(study, progress=bar, **options)
    if page is not None:
        api.write_study_page(analysis, study, page)
    if as_json:
        print_json(study_document(analysis))
    elif as_csv:
        click.echo(csv_text(CATEGORY_COLUMNS, category_rows(analysis)), nl=False)
    else:
        lines = category_lines(analysis)
        print_lines(Console(), [*lines, ("report", page)] if page else lines)
