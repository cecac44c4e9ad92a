"""Which unit a name stands for in a suite: a corruption, a sequence or a step of the pipeline."""

from __future__ import annotations

from windtunnel.core.errors import UserError
from windtunnel.corruptions import REGISTRY
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.suites.pipeline_steps import check_step, is_step


def check_unit(unit: str) -> None:
    """Say what units there are where none has that name."""
    if unit.startswith(SEQUENCE_PREFIX):
        SEQUENCES.get(unit.removeprefix(SEQUENCE_PREFIX))
    elif is_step(unit):
        check_step(unit)
    else:
        REGISTRY.get(unit)


def sequence_named(written: str, suite: str) -> str:
    """The sequence that a name stands for in a suite of sequences, where it needs no prefix."""
    bare = written.removeprefix(SEQUENCE_PREFIX)
    if bare not in SEQUENCES.names() and (is_step(written) or written in REGISTRY.names()):
        raise UserError(
            f"--only {written} is no sequence, and suite {suite} holds sequences; give --suite imagenet-c or "
            f"another of single images, or one of {', '.join(SEQUENCES.names())}."
        )
    return SEQUENCE_PREFIX + bare


def image_unit_named(written: str, suite: str) -> str:
    """The unit that a name stands for in a suite of single images, where no sequence is meant."""
    bare = written.removeprefix(SEQUENCE_PREFIX)
    if bare in SEQUENCES.names() and (bare != written or bare not in REGISTRY.names()):
        raise UserError(
            f"--only {written} is a sequence, and suite {suite} holds none; give --suite imagenet-p."
        )
    return written
