"""Benchmarks of a table: sets of settings whose mean drop is one number per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from windtunnel.analysis.model_tables.csv_rows import csv_rows
from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.wording import listed
from windtunnel.suites.registry import SUFFIX
from windtunnel.suites.suite_files import load_suite, suite_names

# Columns of a file of generated benchmarks that every line has.
NEEDED = ("benchmark", "corruption")
CANDIDATE_PREFIX = "s2n/"
NAMED = 5


@dataclass(frozen=True)
class Benchmark:
    """Settings whose values are averaged.

    Attributes:
        name: its name in tables.
        settings: names of settings of the table.
        groups: how it was generated, such as {"n": "6", "k": "2"}.
    """

    name: str
    settings: tuple[str, ...]
    groups: Mapping[str, str] = field(default_factory=dict)


def select_settings(table: ModelTable, text: str) -> tuple[str, ...]:
    """The settings that a text names; several names are separated by commas.

    A name is a column, a corruption (all its severities), a table or suite that was read (all its settings
    except clean ones), a suite of windtunnel or its TOML file (its corruptions and severities), or a pattern
    such as `*_blur:*`.
    """
    chosen = _named(table, text)
    if chosen is None:
        names = [name.strip() for name in text.split(",") if name.strip()]
        chosen = [setting for name in names for setting in _named_or_refused(table, name)]
    return tuple(dict.fromkeys(chosen))


def _named_or_refused(table: ModelTable, name: str) -> list[str]:
    chosen = _named(table, name)
    if chosen is None:
        known = [*table.names, *(setting.corruption for setting in table.settings if setting.corruption)]
        raise unknown_name("column, corruption or suite", name, set(known))
    return chosen


def _named(table: ModelTable, name: str) -> list[str] | None:
    """The settings of one name; None if it is unknown."""
    if name in table.names:
        return [name]
    shifted = [setting for setting in table.settings if setting.role != "clean"]
    for found in (
        [setting.name for setting in shifted if name in (setting.corruption, _plain(setting))],
        [setting.name for setting in shifted if name in (setting.table, Path(setting.table).stem)],
        [setting.name for setting in shifted if fnmatchcase(setting.name, name)],
    ):
        if found:
            return found
    is_file = name.endswith(SUFFIX) and ("," not in name or Path(name).is_file())
    return _of_suite(table, name) if is_file or name in suite_names() else None


def _plain(setting: Setting) -> str:
    """A candidate's name without its prefix, which tables made elsewhere leave out."""
    return setting.corruption.removeprefix(CANDIDATE_PREFIX)


def _of_suite(table: ModelTable, suite: str) -> list[str]:
    """The settings of a suite's corruptions at its severities; refused if the table lacks a corruption.

    `suite` is a name or a TOML file.
    """
    loaded = load_suite(suite)
    by_corruption: dict[str, list[str]] = {}
    for unit in loaded.units:
        levels = {str(level) for level in loaded.levels_of(unit)}
        for setting in table.settings:
            severity = setting.name.rpartition(":")[2] if ":" in setting.name else ""
            if setting.corruption == unit and (not severity.isdigit() or severity in levels):
                by_corruption.setdefault(unit, []).append(setting.name)
    missing = [name for name in loaded.units if name not in by_corruption]
    if missing:
        raise UserError(
            f"The table has no column of {listed(missing, NAMED)}, which {suite} contains; name the columns "
            "that it has instead."
        )
    return [name for names in by_corruption.values() for name in names]


def read_benchmarks(path: Path, table: ModelTable) -> list[Benchmark]:
    """The generated benchmarks of a CSV file: columns benchmark and corruption, a line per corruption.

    Further columns with one value per benchmark (n, k, std) group them. `size` is added: the number of
    corruptions.
    """
    header, *lines = csv_rows(path)
    lacking = [name for name in NEEDED if name not in header]
    if lacking:
        raise UserError(
            f"{path} lacks the column{'s' if len(lacking) > 1 else ''} {' and '.join(lacking)}; a file of "
            "benchmarks has benchmark,corruption and a line per corruption."
        )
    places = {name: header.index(name) for name in header}
    corruptions: dict[str, list[str]] = {}
    groups: dict[str, dict[str, str]] = {}
    for line in lines:
        name, corruption = (line[places[column]] for column in NEEDED)
        members = corruptions.setdefault(name, [])
        if corruption in members:
            raise UserError(
                f"{path} lists {corruption} twice in the benchmark {name}; keep one of the lines."
            )
        members.append(corruption)
        own = {column: line[place] for column, place in places.items() if column not in NEEDED}
        known = groups.setdefault(name, own)
        # A column that varies within a benchmark, such as the category, describes corruptions.
        groups[name] = {column: cell for column, cell in known.items() if own.get(column) == cell}
    if not corruptions:
        raise UserError(f"{path} lists no benchmark; it needs a line for each corruption of each.")
    selected = {
        name: _column_of_candidate(table, name, path)
        for name in dict.fromkeys(name for members in corruptions.values() for name in members)
    }
    return [
        Benchmark(
            name,
            tuple(setting for member in members for setting in selected[member]),
            {"size": str(len(members)), **groups[name]},
        )
        for name, members in corruptions.items()
    ]


def _column_of_candidate(table: ModelTable, name: str, path: Path) -> tuple[str, ...]:
    """The settings of a candidate, whose name may have its prefix or not."""
    plain = name.removeprefix(CANDIDATE_PREFIX)
    for spelling in (name, plain, CANDIDATE_PREFIX + plain):
        chosen = _named(table, spelling)
        if chosen:
            return tuple(chosen)
    raise UserError(f"{path} names the corruption {name}, which no column of the table has.")


def each_alone(table: ModelTable, names: Sequence[str]) -> list[Benchmark]:
    """A benchmark per corruption with all its severities, and one per other setting."""
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(table.setting(name).corruption or name, []).append(name)
    return [Benchmark(name, tuple(settings)) for name, settings in members.items()]
