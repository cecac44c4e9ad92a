"""The TOML text of a suite of corruptions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from windtunnel.core.errors import UserError
from windtunnel.corruptions import SEVERITIES
from windtunnel.suites.registry import SUITES
from windtunnel.suites.units import check_unit

METRICS = ("top1_error", "top5_error", "mean_error", "residual_robustness")
NAME = re.compile(r"[\w.-]+")


def check_suite_name(name: str) -> None:
    """Refuse what is not a name, and the name of a known suite."""
    if not NAME.fullmatch(name) or name.endswith(".toml"):
        raise UserError(
            f"The suite's name is '{name}'; give a name of letters, digits and hyphens, such as 'my-suite'."
        )
    if name in SUITES.names():
        raise UserError(f"The suite's name is '{name}', which windtunnel has already; give another name.")


def suite_text(name: str, about: str, groups: Mapping[str, Sequence[str]], note: str) -> str:
    """A suite of conditions (`fog:3`, `s2n/blur`) as TOML, with a comment at the top and above each group.

    A corruption without a severity is scored at all of its severities, or at its one strength.

    Raises:
        UserError: the name is none or is taken, or a corruption is unknown.
    """
    check_suite_name(name)
    levels: dict[str, set[int]] = {}
    lines = [
        f"# {note}",
        f"name = {_string(name)}",
        "version = 1",
        f"about = {_string(about)}",
        'canvas = "imagenet-c"',
        'edition = "auto"',
        'codec = "none"',
        "units = [",
    ]
    for group, conditions in groups.items():
        lines.append(f"  # {group}")
        for condition in conditions:
            unit, colon, level = condition.partition(":")
            check_unit(unit)
            if unit not in levels:
                lines.append(f"  {_string(unit)},")
            levels.setdefault(unit, set()).update({int(level)} if colon and level.isdecimal() else ())
    lines.append("]")
    graded = {unit: sorted(of_unit) for unit, of_unit in levels.items() if of_unit}
    every = sorted({level for of_unit in graded.values() for level in of_unit})
    if len(graded) < len(levels):
        every = list(SEVERITIES)  # of the others; a unit with one strength has none
    other = {unit: of_unit for unit, of_unit in graded.items() if of_unit != every}
    lines += [f"levels = {every}"] if graded else []
    lines.append(f"metrics = {json.dumps(METRICS)}")
    if other:
        lines += ["[unit_levels]", *(f"{_string(unit)} = {of_unit}" for unit, of_unit in other.items())]
    return "\n".join(lines) + "\n"


def _string(text: str) -> str:
    """A basic TOML string; JSON escapes the same characters."""
    return json.dumps(text, ensure_ascii=False)
