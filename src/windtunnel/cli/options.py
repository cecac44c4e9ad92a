"""Click options: those of the options records, and those that several commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from windtunnel.options import Options, RunFile, RunOptions, is_run_file, read_run_file
from windtunnel.options.record import Field

if TYPE_CHECKING:
    from rich.console import Console

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _register(_context: click.Context, _option: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    if files:
        from windtunnel import api

        api.include_plugins(files)
    return files


def click_option(field: Field) -> Decorator:
    """The command-line option of a record's field."""
    about: dict[str, Any] = {"help": field.help, "metavar": field.metavar}
    if field.choices:
        about["type"] = click.Choice(field.choices)
    elif field.kind == "number":
        about["type"] = int if field.minimum is None else click.IntRange(min=field.minimum)
    elif field.kind == "decimal":
        about["type"] = float
    if field.kind == "flag":
        about["is_flag"] = True
    elif field.kind == "texts":
        about["multiple"] = True
    else:
        about |= {"default": field.default, "show_default": field.default is not None}
    if field.name == "include":
        # Plug-ins are registered before the command starts, also in worker processes.
        about["callback"] = _register
    return click.option(f"--{field.flag_name}", field.name, **about)


def record_options(record: type[Options], without: Sequence[str] = ()) -> Decorator:
    """The command-line options of a record's fields, in their order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for field in reversed(record.fields()):
            if field.name not in without:
                function = click_option(field)(function)
        return function

    return decorate


def with_workers(given: dict[str, Any]) -> dict[str, Any]:
    """Typed options with one worker per processor core, if neither workers nor an executor are given."""
    automatic = given["workers"] is None and given["executor"] is None
    return given | {"workers": os.cpu_count()} if automatic else given


INCLUDE = click.option(
    "--include",
    multiple=True,
    metavar="FILE",
    expose_value=False,
    callback=_register,
    help=RunOptions.field("include").help,
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
LOG = click.option(
    "--log-json",
    "console",
    is_flag=True,
    callback=lambda _context, _option, chosen: log_console(as_json=chosen),
    help="Write progress and notes as JSON, one object per line, on standard error.",
)
GROUP = click_option(RunOptions.field("group"))

_SUBJECT: tuple[Decorator, ...] = (
    click.argument("subject", metavar="MODEL... DATA", nargs=-1, required=True),
    click.option(
        "--suite",
        help="A suite's name or TOML file; default: imagenet-c-quick, or the suite of a precomputed or "
        "natural set.",
    ),
)


def run_options(*without: str) -> Decorator:
    """The arguments and options of a run, except the given ones."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = record_options(RunOptions, without)(function)
        for subject in reversed(_SUBJECT):
            function = subject(function)
        return function

    return decorate


def asked_run(context: click.Context, subject: tuple[str, ...], suite: str | None, **given: Any) -> RunFile:
    """The requested run: by models and DATA, or by a run file and the options that override it."""
    *models, data = subject
    if models:
        return RunFile(tuple(models), data, suite, RunOptions(**given))
    if not is_run_file(data):
        raise click.UsageError(f"Missing argument 'DATA' after MODEL {data}.", context)
    described = read_run_file(data)
    typed = {
        name: value
        for name, value in given.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    return RunFile(
        described.models, described.data, suite or described.suite, described.options.with_changes(typed)
    )


def log_console(*, as_json: bool) -> Console:
    """Where a command reports progress and notes: standard error, for people or for programs."""
    from rich.console import Console

    if not as_json:
        return Console(stderr=True)
    from windtunnel.core.interruption import announce_with
    from windtunnel.core.json_log import JsonLog, event_line

    announce_with(lambda number: event_line("stopping", signal=number).encode())
    return JsonLog()


def print_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
