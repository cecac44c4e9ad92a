"""What the commands of filtering steps share: their options, and how they print a finished step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, Decorator, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.curation_records import NearDuplicate
from windtunnel.core.errors import ImplausibleScores, UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.core.records import FilterModelInfo
from windtunnel.core.wording import counted, listed
from windtunnel.options import Options

# Pairs of near-duplicates, and classes, that are printed.
SHOWN = 5

Lines = list[tuple[str, str]]


def filter_options(record: type[Options]) -> Decorator:
    """The argument and options of a command that filters candidates: the project, its models, formats."""
    parts = (
        click.argument("project"),
        click.option(
            "--filter",
            "models",
            multiple=True,
            required=True,
            metavar="MODEL",
            help="A filter model, in the forms that windtunnel run takes; may be repeated.",
        ),
        record_options(record),
        AS_JSON,
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV: a row for each candidate."),
        LOG,
    )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for part in reversed(parts):
            function = part(function)
        return function

    return decorate


@contextmanager
def quiet_bar(console: Console, title: str = "predicting candidates") -> Iterator[Bar]:
    """A progress bar; Python's warnings are not shown, since `print_step` prints them."""
    with Bar(console, title) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleScores)
        yield bar


def refuse_both(*, as_json: bool, as_csv: bool) -> None:
    """Refuse two formats at once."""
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")


def print_step(
    console: Console,
    step: api.FinishedStep[Any, Any],
    lines: Callable[[], Lines],
    *,
    as_json: bool,
    csv_text: Callable[[], str] | None = None,
) -> None:
    """Print a finished step on standard output, as CSV if it is given, and its warnings on the console."""
    if step.summary.warnings:
        print_lines(console, [("WARNING", text) for text in step.summary.warnings])
    if as_json:
        print_json(step.to_json())
    elif csv_text is not None:
        click.echo(csv_text(), nl=False)
    else:
        print_lines(Console(), lines())


def print_filtering(
    console: Console,
    project: str,
    step: api.FinishedStep[Any, Any],
    lines: Lines,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Print a step that has an audit, which is its CSV."""

    def audit() -> str:
        return api.audit_csv(project, step.step)

    summary = step.summary
    print_step(
        console,
        step,
        lambda: [
            *lines,
            *_duplicate_lines(summary.near_duplicates, summary.features),
            ("audit", f"{project}/audit/{step.step}.parquet"),
        ],
        as_json=as_json,
        csv_text=audit if as_csv else None,
    )


def model_line(models: Sequence[FilterModelInfo], accuracies: Sequence[float] = ()) -> tuple[str, str]:
    """The filter models, with their accuracies if they are known."""
    names = [f"{model.name} ({model.fingerprint[:12]})" for model in models]
    shown = [f"{name} {accuracy:.1%}" for name, accuracy in zip(names, accuracies, strict=False)]
    return "filter", f"{listed(shown or names)}{'   centre crops with the weak label' if shown else ''}"


def _duplicate_lines(pairs: Sequence[NearDuplicate], features: str) -> Lines:
    """The near-duplicates of a shortlist."""
    shown = listed([f"{pair.first[:8]} and {pair.other[:8]}" for pair in pairs], SHOWN)
    found = f"{counted(len(pairs), 'pair')} in the shortlist{f': {shown}' if pairs else ''}"
    return [("near-duplicates", found), ("features", features)]
