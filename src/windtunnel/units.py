"""Units of every kind, by the names people type: `fog` is a corruption, `seq/tilt` a sequence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.corruptions import Corruption
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX, Perturbation

Unit = Corruption | Perturbation


def include_units(paths: Iterable[Path]) -> None:
    """Register the corruptions and sequences of the user's own files."""
    for path in paths:
        if not [*CORRUPTIONS.include(path), *SEQUENCES.include(path)]:
            raise UserError(f"{path} defines no unit; decorate a function with @corruption or @sequence.")


def unit_names() -> list[str]:
    """Every unit's name, corruptions first; sequences carry their prefix."""
    return [*CORRUPTIONS.names(), *(SEQUENCE_PREFIX + name for name in SEQUENCES.names())]


def find_unit(name: str) -> Unit:
    """The unit of that name; a sequence needs no prefix where no corruption is called like it."""
    if name in CORRUPTIONS.names():
        return CORRUPTIONS.get(name)
    bare = name.removeprefix(SEQUENCE_PREFIX)
    if bare != name or bare in SEQUENCES.names():
        return SEQUENCES.get(bare)
    known = dict.fromkeys([*CORRUPTIONS.names(), *SEQUENCES.names()])
    raise unknown_name("unit", name, known, "windtunnel list corruptions, windtunnel list sequences")
