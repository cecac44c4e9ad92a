"""Units by name: a corruption, a sequence or a pipeline step of a suite."""

from __future__ import annotations

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
