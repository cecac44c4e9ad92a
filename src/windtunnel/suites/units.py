"""Units by name: a corruption, a sequence or a pipeline step of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.corruptions import Corruption, refuse_severity
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX, Perturbation
from windtunnel.suites.pipeline_steps import check_step, is_step


def check_unit(unit: str) -> None:
    """Refuse an unknown unit."""
    if unit.startswith(SEQUENCE_PREFIX):
        SEQUENCES.get(unit.removeprefix(SEQUENCE_PREFIX))
    elif is_step(unit):
        check_step(unit)
    else:
        CORRUPTIONS.get(unit)


def sequence_named(written: str, suite: str) -> str:
    """The sequence for a name in a suite of sequences, where the prefix may be omitted."""
    bare = written.removeprefix(SEQUENCE_PREFIX)
    if bare not in SEQUENCES.names() and (is_step(written) or written in CORRUPTIONS.names()):
        raise UserError(
            f"{option('only', [written])} is not a sequence, and suite {suite} contains sequences; give "
            f"{option('suite', 'imagenet-c')} or another suite of single images, or one of "
            f"{', '.join(SEQUENCES.names())}. Corruptions and sequences need a run each."
        )
    return SEQUENCE_PREFIX + bare


def image_unit_named(written: str, suite: str) -> str:
    """The unit for a name in a suite of single images; refuses sequences."""
    bare = written.removeprefix(SEQUENCE_PREFIX)
    if bare in SEQUENCES.names() and (bare != written or bare not in CORRUPTIONS.names()):
        raise UserError(
            f"{option('only', [written])} is a sequence, and suite {suite} contains none; give "
            f"{option('suite', 'imagenet-p')}. Corruptions and sequences need a run each."
        )
    return written


Unit = Corruption | Perturbation


def family_of(unit: str) -> str:
    """The family that a corruption or a sequence declares; "" for none, and for units that are unknown."""
    bare = unit.removeprefix(SEQUENCE_PREFIX)
    for known, name in ((CORRUPTIONS, unit), (SEQUENCES, bare)):
        if name in known:
            return known.get(name).family
    return ""


def families_of(units: Iterable[str], declared: Mapping[str, str]) -> dict[str, str]:
    """The families that a run stores: those a suite declares, and those of third-party units.

    Shipped units are known wherever a run is scored.
    """
    names = dict.fromkeys(units)
    third_party = {name: family_of(name) for name in names if name not in _shipped()}
    return {name: family for name, family in {**third_party, **declared}.items() if family and name in names}


def _shipped() -> set[str]:
    return {*CORRUPTIONS.shipped(), *(SEQUENCE_PREFIX + name for name in SEQUENCES.shipped())}


def unit_names() -> list[str]:
    """Every unit's name, corruptions first; sequences carry their prefix."""
    return [*CORRUPTIONS.names(), *(SEQUENCE_PREFIX + name for name in SEQUENCES.names())]


def find_unit(name: str) -> Unit:
    """The unit of that name; a sequence needs no prefix if no corruption has its name."""
    if name in CORRUPTIONS.names():
        return CORRUPTIONS.get(name)
    bare = name.removeprefix(SEQUENCE_PREFIX)
    if bare != name or bare in SEQUENCES.names():
        return SEQUENCES.get(bare)
    refuse_severity(name)
    known = dict.fromkeys([*CORRUPTIONS.names(), *SEQUENCES.names()])
    raise unknown_name("unit", name, known, "windtunnel list corruptions, windtunnel list sequences")
