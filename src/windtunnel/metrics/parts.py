"""The parts of a natural set: which of a run's images are shifted, clean or out of distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


@dataclass(frozen=True)
class Part:
    """A part of a run's images that is scored separately.

    Attributes:
        name: the condition under which they are scored, such as `imagenet-a` or `clean`.
        role: `shifted` or `clean`, which have labels, or `out`, which has none.
        rows: which of the run's scored images they are, ascending.
    """

    name: str
    role: str
    rows: NDArray[np.int64]

    @property
    def labelled(self) -> bool:
        """Whether the part's images have labels."""
        return self.role != "out"


def parts_of(run: ScoredRun) -> tuple[Part, ...]:
    """The parts of a run over a natural set, as the data declares them; () for other runs."""
    if run.natural is None:
        return ()
    names = np.array(run.columns["part"], object)[run.predicted.kept]
    return tuple(Part(part.name, part.role, np.flatnonzero(names == part.name)) for part in run.natural.parts)


def part_of_role(run: ScoredRun, role: str) -> Part | None:
    """The part with this role, or None."""
    return next((part for part in run.parts if part.role == role), None)
