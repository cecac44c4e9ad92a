"""windtunnel list: what there is, by name."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.core.metrics import REGISTRY as METRIC_REGISTRY
from windtunnel.corruptions import REGISTRY
from windtunnel.data.layouts import by_priority
from windtunnel.imaging.codecs import REGISTRY as CODECS
from windtunnel.imaging.decoders import decoders
from windtunnel.imaging.resizers import libraries
from windtunnel.metrics.published_results import METRICS, published_models, sources
from windtunnel.models.kinds import by_priority as kinds_by_priority
from windtunnel.models.preprocess import presets
from windtunnel.report.score_format import unit
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.suites.suite_files import load_suite, suite_names


def _corruptions() -> list[dict[str, Any]]:
    units = [REGISTRY.get(name) for name in REGISTRY.names()]
    return [
        {
            "name": unit.name,
            "family": unit.family,
            "random": unit.random,
            "imitates": unit.imitates,
            "met_by": unit.met_by,
            "source": unit.source,
        }
        for unit in units
    ]


def _sequences() -> list[dict[str, Any]]:
    units = [SEQUENCES.get(name) for name in SEQUENCES.names()]
    return [
        {
            "name": f"{SEQUENCE_PREFIX}{unit.name}",
            "family": unit.family,
            "type": unit.type,
            "random": unit.random,
            "imitates": unit.imitates,
            "met_by": unit.met_by,
            "source": unit.source,
            "frames": {str(edition): table.frames for edition, table in sorted(unit.tables.items())},
        }
        for unit in units
    ]


def _decoders() -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "library": one.library,
            "formats": one.formats_text or "all",
            "help": one.help,
            "needs": one.needs,
            "scales": one.scales,
        }
        for one in decoders()
    ]


def _resizers() -> list[dict[str, Any]]:
    return [
        {"name": name, "library": one.library, "help": one.help, "needs": one.needs}
        for one in libraries()
        for name in one.resizers
    ]


def _codecs() -> list[dict[str, Any]]:
    return [
        {
            "name": one.written,
            "suffix": one.suffix,
            "lossless": one.lossless,
            "help": one.help,
        }
        for one in CODECS.all()
    ]


def _suites() -> list[dict[str, Any]]:
    return [
        {"name": suite.citation, "units": len(suite.units), "about": suite.about}
        for suite in map(load_suite, suite_names())
    ]


def _presets() -> list[dict[str, Any]]:
    return [{"name": name, "about": row["about"], "source": row["source"]} for name, row in presets().items()]


def _metrics() -> list[dict[str, Any]]:
    return [
        {
            "name": metric.name,
            "written": metric.title,
            "better": BETTER[metric.direction],
            "unit": metric.unit.name,
            "about": metric.help,
        }
        for metric in METRIC_REGISTRY.all()
    ]


def _published() -> list[dict[str, Any]]:
    return [model.to_json() for model in published_models()]


def _model_kinds() -> list[dict[str, Any]]:
    """Model kinds in the order in which they are tried."""
    return [
        {"name": plugin.name, "about": plugin.help, "form": plugin.form, "extra": plugin.extra}
        for plugin in kinds_by_priority()
    ]


def _layouts() -> list[dict[str, Any]]:
    """Dataset layouts in the order in which they are tried."""
    return [
        {"name": layout.name, "about": layout.help, "form": layout.form, "corrupted": layout.corrupted}
        for layout in by_priority()
    ]


def _show_rows(console: Console, kind: str, rows: list[dict[str, Any]]) -> None:
    columns = [name for name in rows[0] if name not in WIDE.get(kind, ())]
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        table.add_row(*(str(row[name]) for name in columns))
    console.print(table)


def _show_metrics(console: Console, _kind: str, rows: list[dict[str, Any]]) -> None:
    """Name, unit and direction of every metric in one line, and below it what it is."""
    for place, row in enumerate(rows):
        told = ", ".join(filter(None, (row["written"], row["unit"], DIRECTIONS.get(row["better"], ""))))
        console.print(f"[bold]{row['name']}[/bold]  ", end="", highlight=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)
        lines = textwrap.wrap(row["about"], console.width - len(INDENT), break_on_hyphens=False)
        for line in [*lines, *([""] if place < len(rows) - 1 else [])]:
            console.print(f"{INDENT}{line}".rstrip(), markup=False, highlight=False)


def _show_published(console: Console, _kind: str, _rows: list[dict[str, Any]]) -> None:
    """A table for every source, under what its figures were measured on."""
    for source in sources().values():
        models = published_models(source=source.name)
        console.print(f"[bold]{source.name}[/bold]  {source.where}", highlight=False, soft_wrap=True)
        for line in filter(None, (source.measured.describe(), source.caution)):
            console.print(f"  {line}", highlight=False, soft_wrap=True)
        metrics = [name for name in METRICS if any(name in model.values for model in models)]
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("name", no_wrap=True)
        for metric in metrics:
            table.add_column(f"{METRICS[metric].title}, {unit(metric)}", justify="right")
        for model in models:
            table.add_row(model.name, *(_percent(model.values.get(metric)) for metric in metrics))
        console.print(table)


def _percent(value: float | None) -> str:
    """At most three decimals, at least one."""
    text = "" if value is None else f"{100 * value:.3f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


INDENT = "    "
BETTER = {"lower": "less", "higher": "more", "none": ""}
DIRECTIONS = {"less": "lower is better", "more": "higher is better"}
# What a unit's row has no room for on a screen; --json prints it all.
WIDE = {
    "corruptions": ("met_by", "source"),
    "sequences": ("random", "met_by", "source", "frames"),
    "layouts": ("corrupted",),
    "decoders": ("needs", "scales"),
    "resizers": ("needs",),
}
KINDS = {
    "corruptions": _corruptions,
    "sequences": _sequences,
    "decoders": _decoders,
    "resizers": _resizers,
    "codecs": _codecs,
    "suites": _suites,
    "presets": _presets,
    "metrics": _metrics,
    "published": _published,
    "layouts": _layouts,
    "model-kinds": _model_kinds,
}
SHOW: dict[str, Callable[[Console, str, list[dict[str, Any]]], None]] = {
    "metrics": _show_metrics,
    "published": _show_published,
}


@click.command("list")
@click.argument("kind", type=click.Choice(sorted(KINDS)), default="corruptions")
@INCLUDE
@AS_JSON
def command(kind: str, as_json: bool) -> None:
    """List plug-ins of a kind, preprocessing presets or published results."""
    rows = KINDS[kind]()
    if as_json:
        print_json(rows)
        return
    SHOW.get(kind, _show_rows)(Console(), kind, rows)
