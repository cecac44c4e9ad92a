"""The doctor's trials, and when one is surely better than another on the same pictures.

Two ways to prepare the same pictures are told apart by the probability they give the label, which says more
than right and wrong: Wilcoxon's signed-rank test of the labels' log-probabilities. Orders of labels, and
models that only vote, are told apart by McNemar's test. Every p is multiplied by the number of changes that
may be tried: where none is truly better, one is taken in at most one of twenty data sets. Pictures are taken
as independent: `analysis/doctor.py` draws one of each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.preprocess_grid import Order
from windtunnel.models.preprocess import Preprocess
from windtunnel.stats.intervals import CONFIDENCE
from windtunnel.stats.paired import mcnemar, shares_of_change, signed_rank

ALPHA = 0.05
# A small change of contrast makes every answer a little surer and none better: gains under this, the mean of
# the labels' log-probabilities in nats, count for nothing.
LEAST_NATS = 0.05
# On many pictures every filter is surely a little better or worse than the one of training: another geometry
# or filter must be better by so much, at the lower end of its interval.
LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Trial:
    """A way to show pictures to a model and to read its answers.

    Attributes:
        changed: what is other than declared.
        preprocess: how pictures are shown.
        order: which output stands for which class.
        right: the pictures it is right on.
        sure: the labels' log-probabilities, pictures x sharpnesses; None where there are none.
    """

    changed: tuple[str, ...]
    preprocess: Preprocess
    order: Order
    right: NDArray[np.bool_]
    sure: NDArray[np.float32] | None = None

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float(self.right.mean())


def surer(before: Trial, after: Trial) -> NDArray[np.float64] | None:
    """What every label's log-probability gains; None where the two cannot be compared by it.

    Both are taken at the sharpness at which the labels have most of it in both together: of two trials that
    are equally good neither is favoured, and neither is one that is merely surer.
    """
    if before.order != after.order or before.sure is None or after.sure is None:
        return None
    best = int(
        (before.sure.mean(axis=0, dtype=np.float64) + after.sure.mean(axis=0, dtype=np.float64)).argmax()
    )
    return np.asarray(after.sure[:, best].astype(np.float64) - before.sure[:, best])


def p_value(before: Trial, after: Trial) -> float:
    """That two trials are equally good: Wilcoxon's of log-probabilities, or McNemar's mid-p."""
    gained = surer(before, after)
    if gained is not None:
        return signed_rank(gained)[1]
    return mcnemar(int((before.right & ~after.right).sum()), int((after.right & ~before.right).sum()))


def test_name(before: Trial, after: Trial) -> str:
    """Which test `p_value` is."""
    return "McNemar" if surer(before, after) is None else "Wilcoxon, log-probability of the label"


def gain(before: Trial, after: Trial) -> tuple[float, float, float]:
    """What accuracy gains on the same pictures, and its 95 % interval (Tango)."""
    change = shares_of_change(after.right.astype(np.float64) - before.right, 1, None)
    tail = (1 - CONFIDENCE) / 2
    return change.value, change.end(tail), change.end(1 - tail)


def surely_better(before: Trial, after: Trial, tried: int) -> bool:
    """Whether a trial beats another, `tried` being how many changes may be tried in all.

    Its p times `tried` is under 5 % and its accuracy not lower; the labels' log-probabilities gain
    `LEAST_NATS` in the mean; and if geometries differ, the interval of what accuracy gains is above
    `LEAST_GAIN`.
    """
    if tried * p_value(before, after) >= ALPHA:
        return False
    ahead = int(after.right.sum()) - int(before.right.sum())
    gained = surer(before, after)
    if gained is None and ahead <= 0:
        return False
    if gained is not None and (ahead < 0 or signed_rank(gained)[0] < 0 or gained.mean() < LEAST_NATS):
        return False
    return before.preprocess.geometry == after.preprocess.geometry or gain(before, after)[1] > LEAST_GAIN


def choose(centre: Trial, trials: Sequence[Trial], tried: int) -> Trial:
    """The simplest trial that is surely better than the centre and not surely worse than the best; or it."""
    better = [one for one in trials if surely_better(centre, one, tried)]
    better.sort(key=lambda one: -int(one.right.sum()))
    near = [one for one in better if not surely_better(one, better[0], tried)]
    return min(near, key=lambda one: (len(one.changed), _fields_changed(centre, one)), default=centre)


def _fields_changed(before: Trial, after: Trial) -> int:
    """In how many numbers and names two preprocesses differ."""
    one, two = before.preprocess, after.preprocess
    pairs = ((one.geometry, two.geometry), (one.tensor, two.tensor))
    return sum(getattr(a, item.name) != getattr(b, item.name) for a, b in pairs for item in fields(a))
