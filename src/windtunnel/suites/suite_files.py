"""Suites as TOML files: found by name or path, read, extended, and checked key by key."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import REGISTRY, metric_named, needing
from windtunnel.core.wording import listed
from windtunnel.corruptions import EDITIONS
from windtunnel.published.natural_sets import natural_set
from windtunnel.suites.canvas import WHOLE
from windtunnel.suites.registry import SUFFIX, SUITES, SuiteFile, read_suite_file
from windtunnel.suites.suite import PUBLISHED, Suite, check_levels, check_stored_as
from windtunnel.suites.units import check_unit

CANVASES = ("imagenet-c", "imagenet-s", "native", WHOLE)
_KINDS: dict[str, Any] = {
    "name": str,
    "version": int,
    "about": str,
    "canvas": str,
    "edition": (int, str),
    "codec": str,
    "units": (list, tuple),
    "levels": (list, tuple),
    "unit_levels": dict,
    "metrics": (list, tuple),
    "weights": dict,
    "subset": int,
    "mask": bool,
    "stored": bool,
    "natural": str,
    "families": dict,
}


def suite_names() -> list[str]:
    """The suites that are known by name."""
    return SUITES.names()


def load_suite(name_or_path: str | Path) -> Suite:
    """Load a suite by name (`smoke`, `smoke@1`), or from a TOML file."""
    if not isinstance(name_or_path, str | Path):
        raise UserError(f"The suite is {name_or_path!r}; give a suite's name or a .toml file.")
    return _loaded(_found(name_or_path, Path()), ())


def _loaded(file: SuiteFile, extending: tuple[str, ...]) -> Suite:
    """The suite in a file; `extending` are the files that extend it."""
    if file.where in extending:
        raise UserError(f"{file.where} extends itself through {', '.join(extending)}.")
    table = dict(file.table)
    base: dict[str, Any] = {}
    if "extends" in table:
        parent = _found(str(table.pop("extends")), file.folder)
        inherited = _loaded(parent, (*extending, file.where)).to_json()
        # A suite with differences is another suite and needs its own name and version.
        base = {key: value for key, value in inherited.items() if key not in ("name", "version", "about")}
    return _checked(table, base, file.where)


def _found(name_or_path: str | Path, folder: Traversable) -> SuiteFile:
    """The file of a suite; the path of a file is relative to a folder."""
    if Path(name_or_path).suffix == SUFFIX:
        return read_suite_file(folder, str(name_or_path))
    name, _, version = str(name_or_path).partition("@")
    if name not in SUITES:
        raise unknown_name("suite", name, SUITES.names(), f"{SUITES.command}, or give a .toml file")
    file = SUITES.get(name)
    if version and version != str(file.table["version"]):
        raise UserError(f"There is no {name}@{version}; this windtunnel has {name}@{file.table['version']}.")
    return file


def _checked(table: dict[str, Any], base: dict[str, Any], where: str) -> Suite:
    fields = Suite.__dataclass_fields__
    for key in table:
        if key not in fields:
            raise unknown_name(f"key in {where}", key, [*fields, "extends"])
    merged = {**base, **table}
    for key, value in merged.items():
        kind = _KINDS[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UserError(f"{where}: {key} is {value!r}; see CONTRIBUTING.md for a suite's keys.")
        if isinstance(value, list | tuple):
            inner = int if key == "levels" else str
            if not all(isinstance(item, inner) and not isinstance(item, bool) for item in value):
                raise UserError(f"{where}: {key} is {value!r}; see CONTRIBUTING.md for a suite's keys.")
            if len(set(value)) < len(value):
                raise UserError(f"{where}: {key} contains an entry twice; remove one.")
            merged[key] = tuple(value)
    merged["unit_levels"] = _read_unit_levels(merged.get("unit_levels", {}), where)
    merged["metrics"] = tuple(map(metric_named, merged.get("metrics", Suite.metrics)))
    suite = Suite(**merged)
    if suite.canvas not in CANVASES:
        raise unknown_name(f"canvas in {where}", suite.canvas, CANVASES)
    if suite.edition != "auto" and suite.edition not in EDITIONS:
        raise UserError(f"{where}: edition is {suite.edition!r}; give 'auto', {listed(EDITIONS)}.")
    check_levels(suite, where)
    if suite.subset < 0:
        raise UserError(f"{where}: subset is {suite.subset}; give the number of images, or 0 for all.")
    if not suite.name or suite.version < 1 or not suite.metrics:
        raise UserError(f"{where} needs a name, a version from 1 and at least one metric.")
    if suite.natural:
        natural_set(suite.natural)
        if suite.units or suite.stored or suite.canvas != "native":
            raise UserError(
                f"{where} scores the natural set {suite.natural} unchanged; leave out units and stored, "
                "and write canvas = 'native'."
            )
    for metric in suite.metrics:
        if metric not in REGISTRY.names():
            raise unknown_name(f"metric in {where}", metric, REGISTRY.names(), REGISTRY.command)
    for unit in () if suite.stored else suite.units:
        check_unit(unit)
    _check_weights(suite, where)
    _check_families(table.get("families", {}), suite, where)
    suite = suite.without_unused_levels()
    return (
        suite
        if suite.codec == PUBLISHED
        else replace(suite, codec=check_stored_as(suite, suite.codec, where))
    )


def _read_unit_levels(table: dict[str, Any], where: str) -> dict[str, tuple[int, ...]]:
    """The severities of single corruptions; `check_levels` validates them."""
    for unit, levels in table.items():
        if not isinstance(levels, list | tuple) or any(type(level) is not int for level in levels):
            raise UserError(f"{where}: unit_levels of {unit} is {levels!r}; give a list of severities.")
    return {unit: tuple(levels) for unit, levels in table.items()}


def _check_families(own: dict[str, Any], suite: Suite, where: str) -> None:
    """Refuse families of units that the suite does not have; inherited ones may be of other units."""
    for unit, family in own.items():
        if suite.units and unit not in suite.units:
            raise unknown_name(f"unit in the families of {where}", unit, suite.units)
        if not isinstance(family, str) or not family:
            raise UserError(f"{where}: the family of {unit} is {family!r}; give a word, such as 'noise'.")


def _check_weights(suite: Suite, where: str) -> None:
    for unit, weight in suite.weights.items():
        if unit not in suite.units:
            raise unknown_name(f"unit in the weights of {where}", unit, suite.units)
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not 0 < weight < float("inf"):
            raise UserError(f"{where}: the weight of {unit} is {weight!r}; give a number above 0.")
    weighted = [] if suite.weights else needing("weights", suite.metrics)
    if weighted:
        raise UserError(
            f"{where} has the metric {weighted[0]}; also give weights = {{ UNIT = NUMBER, ... }}."
        )
