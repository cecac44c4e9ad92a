"""Names of several files in one: `shards-{000..003}.tar`, `{train,val}-0.tar`."""

from __future__ import annotations

import re
from itertools import product

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
from windtunnel.core.wording import listed

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)", re.ASCII)
# The largest number of files that a pattern may name.
MOST_FILES = 100_000
MISSING_SHOWN = 3


def is_pattern(path: Location) -> bool:
    """Whether the last part of a path names several files in braces, and there is no file of this name."""
    return any(_choices(text) for text in _BRACES.findall(path.name)) and not path.exists()


def files_of(pattern: Location) -> list[Location]:
    """The files that a pattern names, in its order; refuses a pattern with a missing file."""
    parts = _BRACES.split(pattern.name)
    choices = [
        (_choices(part) or [f"{{{part}}}"]) if place % 2 else [part] for place, part in enumerate(parts)
    ]
    count = 1
    for texts in choices:
        count *= len(texts)
    if count > MOST_FILES:
        raise UserError(f"{pattern} names {count:,} files; give at most {MOST_FILES:,}.")
    files: list[Location] = [pattern.parent / "".join(texts) for texts in product(*choices)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise UserError(
            f"{pattern} names {len(files):,} files, of which {len(missing):,} do not exist "
            f"({listed(missing, MISSING_SHOWN)}); correct the pattern, or download them."
        )
    return files


def _choices(text: str) -> list[str]:
    """The texts that the content of braces stands for: a range of numbers, or a list; else none."""
    if match := _RANGE.fullmatch(text):
        first, last = int(match[1]), int(match[2])
        if last - first >= MOST_FILES:
            raise UserError(f"{{{text}}} names {last - first + 1:,} files; give at most {MOST_FILES:,}.")
        return [f"{number:0{len(match[1])}d}" for number in range(first, last + 1)]
    return text.split(",") if "," in text else []
