"""The images of a run that have a prediction under every condition, whatever the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.store.run import StoredRun


@dataclass(frozen=True)
class Unscored:
    """An image that failed under some condition.

    Attributes:
        image: its id.
        conditions: number of its predictions that failed: conditions, and frames of sequences.
        condition: the first of them.
        status, reason: status and reason of the first failure.
    """

    image: str
    conditions: int
    condition: str
    status: str
    reason: str


class CompleteImages:
    """What scores and reports of every task use of a run's predictions.

    An image that fails under one condition is excluded from all, so that all conditions have the same
    images.

    Attributes:
        conditions: the conditions with one image each, in the run's order.
        complete: which of the run's images were predicted under every condition and in every frame.
        kept: which of the run's images are scored.
        left_out: images that failed under some condition.
        unlabelled: complete images that are not scored because they have no label.
        unscored: the images that failed.
        with_unlabelled: the predictions on all complete images, if some metrics need no labels.
        tie_share: share of predictions decided by class order; None for a task without such ties.
    """

    conditions: tuple[str, ...]
    complete: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    left_out: int
    unlabelled: int
    unscored: list[Unscored]
    with_unlabelled: CompleteImages
    tie_share: float | None
    _ids: NDArray[np.object_]

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The ids of the scored images."""
        return self._ids[self.kept]

    @property
    def not_finite(self) -> NDArray[np.bool_]:
        """Which predictions are not finite (images, conditions)."""
        raise NotImplementedError

    @property
    def gives_probabilities(self) -> bool:
        """Whether every class's probability is known."""
        return False

    def column(self, condition: str) -> int:
        """The column of a condition in matrices (images, conditions)."""
        return self.conditions.index(condition)


def failed_images(
    ok: NDArray[np.bool_],
    status: Sequence[Any],
    reason: Sequence[Any],
    ids: NDArray[Any],
    views: NDArray[Any],
) -> list[Unscored]:
    """The images that failed, given which predictions succeeded (images, views).

    Args:
        ok: which predictions succeeded.
        status, reason: of every prediction, image after image; Arrow values.
        ids: the ids of the images.
        views: the condition of every view.
    """
    failed = []
    for row in np.flatnonzero(~ok.all(axis=1)):
        first = int(ok[row].argmin())
        place = int(row) * ok.shape[1] + first
        failed.append(
            Unscored(
                ids[row],
                int((~ok[row]).sum()),
                str(views[first]),
                status[place].as_py(),
                reason[place].as_py(),
            )
        )
    return failed


def check_finished(run: StoredRun, images: int) -> None:
    """Refuse a run of which only some images have stored predictions."""
    stored, expected = images * run.views, run.expected_rows
    if stored != expected:
        nothing = "" if stored else " and has no stored predictions yet"
        raise UserError(
            f"{run.path} is not finished ({stored:,} of {expected:,} predictions){nothing}; "
            "repeat the run command to resume it."
        )
