"""windtunnel list: what there is, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.corruptions import REGISTRY, include_units
from windtunnel.models.preprocess import presets
from windtunnel.suites import load_suite, suite_names


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


def _suites() -> list[dict[str, Any]]:
    return [
        {"name": suite.citation, "units": len(suite.units), "about": suite.about}
        for suite in map(load_suite, suite_names())
    ]


def _presets() -> list[dict[str, Any]]:
    return [{"name": name, "about": row["about"], "source": row["source"]} for name, row in presets().items()]


# What a corruption's row has no room for on a screen; --json prints it all.
WIDE = {"corruptions": ("met_by", "source")}
KINDS = {"corruptions": _corruptions, "suites": _suites, "presets": _presets}


@click.command("list")
@click.argument("kind", type=click.Choice(sorted(KINDS)), default="corruptions")
@INCLUDE
@AS_JSON
def command(kind: str, include: tuple[str, ...], as_json: bool) -> None:
    """List corruptions, suites or preprocess presets."""
    include_units(map(Path, include))
    rows = KINDS[kind]()
    if as_json:
        print_json(rows)
        return
    columns = [name for name in rows[0] if name not in WIDE.get(kind, ())]
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(str(row[name]) for name in columns))
    Console().print(table)
