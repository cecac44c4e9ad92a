"""The doctor's trials, and when one is surely better than another on the same images.

Two ways to prepare the same images are told apart by the probability they give the label, which says more
than right and wrong: Wilcoxon's signed-rank test of the labels' log-probabilities. Orders of labels, and
models that only vote, are told apart by McNemar's test. Every p is multiplied by the number of changes that
may be tried: where none is truly better, one is taken in at most one of twenty data sets. Images are taken
as independent: `analysis/doctor.py` draws one of each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

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
# On many images every filter is surely a little better or worse than the one of training: another geometry
# or filter must be better by so much, at the lower end of its interval.
LEAST_GAIN = 0.01
# Log-probabilities nearer than this are one, but for the last bits of float32.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Trial:
    """A way to show images to a model and to read its answers.

    Attributes:
        changed: what is other than declared.
        preprocess: how images are shown.
        order: which output stands for which class.
        right: the images it is right on.
        sure: the labels' log-probabilities, images x sharpnesses; None where there are none.
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
    """What accuracy gains on the same images, and its 95 % interval (Tango)."""
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
    """The best of the trials that are surely better than the centre, or the centre.

    The best is that of most log-probability. One that gives up fewer of the things that somebody declared
    goes before it unless it is surely worse; how an arithmetic is written decides only between two that are
    the same.
    """
    better = _better(centre, trials, tried)
    if not better:
        return centre
    best = _ranked(better)[0]
    near = [one for one in better if not surely_better(one, best, tried)]
    fewest = min(_given_up(centre, one) for one in near)
    first = _ranked([one for one in near if _given_up(centre, one) == fewest])[0]
    return min((one for one in near if _same(one, first)), key=lambda one: _fields_changed(centre, one))


def not_told_apart(centre: Trial, chosen: Trial, trials: Sequence[Trial], tried: int) -> tuple[Trial, ...]:
    """The other trials that are surely better than the centre and not surely worse than the chosen.

    What is the chosen to these images (BGR where all are grey) is not another.
    """
    near = [one for one in _better(centre, trials, tried) if not surely_better(one, chosen, tried)]
    return tuple(_ranked([one for one in near if not _same(one, chosen) and not _no_other(one, chosen)]))


def images_needed(tried: int) -> int:
    """With how many images a change can be surely better at all: if every label gains, each its own."""
    count = 1
    while tried * signed_rank(np.arange(1.0, count + 1))[1] >= ALPHA:
        count += 1
    return count


def _better(centre: Trial, trials: Sequence[Trial], tried: int) -> list[Trial]:
    return [one for one in trials if surely_better(centre, one, tried)]


def _ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Best first, by what is tested.

    Orders of labels are told apart by right answers; trials that share the best order by the labels' mean
    log-probability, all at the one sharpness that suits them together.
    """
    ranked = sorted(trials, key=lambda one: -int(one.right.sum()))
    alike = [one for one in ranked if one.order == ranked[0].order]
    means = [one.sure.mean(axis=0, dtype=np.float64) for one in alike if one.sure is not None]
    if len(means) < max(1, len(alike)):
        return ranked
    sharpness = int(np.sum(means, axis=0).argmax())
    by_sure = sorted(range(len(alike)), key=lambda place: -float(means[place][sharpness]))
    rest = [one for one in ranked if one.order != ranked[0].order]
    return [*(alike[place] for place in by_sure), *rest]


def _same(one: Trial, other: Trial) -> bool:
    """Whether two trials are one, written in two ways."""
    if one.order != other.order or one.preprocess.geometry != other.preprocess.geometry:
        return False
    return one.preprocess.tensor.same_arithmetic(other.preprocess.tensor)


def _no_other(one: Trial, other: Trial) -> bool:
    """Whether two trials say the same of every image."""
    gained = surer(one, other)
    return np.array_equal(one.right, other.right) and (
        gained is None or bool(np.abs(gained).max() < ROUNDING)
    )


def _given_up(before: Trial, after: Trial) -> int:
    """How many declared things are other: label order, channel order, arithmetic; an assumed one is none."""
    orders = int(before.order != after.order)
    if before.preprocess.assumed:
        return orders
    was, now = before.preprocess.tensor, after.preprocess.tensor
    if now.channels == was.channels:
        return orders + (not now.same_arithmetic(was))
    by_place = replace(was, channels=now.channels)
    by_colour = replace(by_place, mean=was.mean[::-1], std=was.std[::-1])
    return orders + 1 + (not (now.same_arithmetic(by_place) or now.same_arithmetic(by_colour)))


def _fields_changed(before: Trial, after: Trial) -> int:
    """In how many numbers and names two preprocesses differ."""
    one, two = before.preprocess, after.preprocess
    pairs = ((one.geometry, two.geometry), (one.tensor, two.tensor))
    return sum(getattr(a, item.name) != getattr(b, item.name) for a, b in pairs for item in fields(a))
