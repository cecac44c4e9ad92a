"""windtunnel list: list plug-ins, presets, published results and natural sets."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel import api
from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.report.score_format import unit


def _show_rows(console: Console, kind: str, rows: list[dict[str, Any]]) -> None:
    columns = [name for name in rows[0] if name not in WIDE.get(kind, ())]
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=column == "name", overflow="fold" if column in FORMS else "ellipsis")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in columns))
    console.print(table)


def _cell(value: Any) -> str:
    """A value in words: yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _show_metrics(console: Console, _kind: str, rows: list[dict[str, Any]]) -> None:
    """Print name, unit and direction of every metric in one line, and its help text below."""
    for row in rows:
        facts = (row["written"], row["unit"], DIRECTIONS.get(row["better"], ""))
        _show_entry(console, row["name"], facts, row["about"], last=row is rows[-1])


def _show_corruptions(console: Console, _kind: str, rows: list[dict[str, Any]]) -> None:
    """Print name, family and severities of every corruption in one line, and what it imitates below."""
    for row in rows:
        severities = f"{row['severities']} severities" if row["severities"] else "one strength"
        facts = (row["family"], severities, "random" if row["random"] else "")
        _show_entry(console, row["name"], facts, row["imitates"], last=row is rows[-1])


def _show_entry(console: Console, name: str, facts: tuple[str, ...], text: str, *, last: bool) -> None:
    """Print a name with facts in one line, and a text below; a blank line follows unless it is the last."""
    console.print(f"[bold]{name}[/bold]  ", end="", highlight=False)
    console.print(", ".join(filter(None, facts)), markup=False, highlight=False, soft_wrap=True)
    lines = textwrap.wrap(text, console.width - len(INDENT), break_on_hyphens=False)
    for line in [*lines, *([] if last else [""])]:
        console.print(f"{INDENT}{line}".rstrip(), markup=False, highlight=False)


def _show_published(console: Console, _kind: str, _rows: list[dict[str, Any]]) -> None:
    """Print a table for every source, with the data it was measured on."""
    for source in api.published_sources().values():
        models = api.published_models(source=source.name)
        console.print(f"[bold]{source.name}[/bold]  {source.where}", highlight=False, soft_wrap=True)
        for line in filter(None, (source.measured.describe(), source.caution)):
            console.print(f"  {line}", highlight=False, soft_wrap=True)
        metrics = [name for name in api.PUBLISHED_METRICS if any(name in model.values for model in models)]
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("name", no_wrap=True)
        for metric in metrics:
            table.add_column(f"{api.PUBLISHED_METRICS[metric].title}, {unit(metric)}", justify="right")
        for model in models:
            table.add_row(model.name, *(_percent(model.values.get(metric)) for metric in metrics))
        console.print(table)


def _percent(value: float | None) -> str:
    """A fraction in per cent, with one to three decimals; "" for None."""
    text = "" if value is None else f"{100 * value:.3f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


INDENT = "    "
DIRECTIONS = {"less": "lower is better", "more": "higher is better"}
# Columns that people copy from: long words are folded and not cut.
FORMS = ("form", "written")
# Columns that are too wide for the terminal; --json prints all.
WIDE = {
    "sequences": ("random", "met_by", "source", "frames"),
    "layouts": ("corrupted",),
    **dict.fromkeys(
        ("wrappers", "image-steps", "batch-steps", "losses", "destinations"), ("parameters", "source")
    ),
    "decoders": ("needs", "scales"),
    "resizers": ("needs",),
    "natural-sets": ("own", "source"),
}
SHOW: dict[str, Callable[[Console, str, list[dict[str, Any]]], None]] = {
    "corruptions": _show_corruptions,
    "metrics": _show_metrics,
    "published": _show_published,
}


@click.command("list")
@click.argument("kind", type=click.Choice(sorted(api.KINDS)), default="corruptions")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@INCLUDE
@AS_JSON
def command(kind: str, folders: tuple[str, ...], as_json: bool) -> None:
    """List plug-ins of a kind, preprocessing presets, published results or natural sets.

    natural-sets lists the published sets, and your own in each FOLDER and the folders in it; default: the
    current folder. `windtunnel run MODEL FOLDER` reads them.

    \b
    Examples:
      windtunnel list suites
      windtunnel list natural-sets
      windtunnel list natural-sets ./benchmarks
    """
    rows = api.list_plugins(kind, folders)
    if as_json:
        print_json(rows)
        return
    SHOW.get(kind, _show_rows)(Console(), kind, rows)
