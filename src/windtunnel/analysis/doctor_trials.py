"""The doctor's trials, and when one is significantly better than another on the same images.

Two kinds of preprocessing are compared by the label's log-probability, which carries more information than
correctness, with Wilcoxon's signed-rank test. Label orders, and models that output only 0 and 1, are compared
with McNemar's test. Every p is multiplied by the number of changes that may be tried: if none is truly
better, one is accepted in at most one of twenty datasets. Images are treated as independent:
`analysis/doctor.py` uses one of each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.preprocess_grid import Order
from windtunnel.models.preprocess import Preprocess
from windtunnel.stats.intervals import CONFIDENCE
from windtunnel.stats.multiple_tests import SIGNIFICANT
from windtunnel.stats.paired import mcnemar, shares_of_change, signed_rank

# A small change of contrast raises confidence a little without better predictions: smaller mean gains of the
# labels' log-probabilities, in nats, are ignored.
LEAST_NATS = 0.05
# On many images every filter differs significantly from the one used in training. Another geometry or filter
# must therefore be better by at least this much at the lower end of its confidence interval.
LEAST_GAIN = 0.01
# Log-probabilities closer than this are equal up to float32 rounding.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Trial:
    """A combination of preprocessing and label order, with its predictions.

    Attributes:
        changed: the differences from the declaration.
        preprocess: the preprocessing.
        order: the class of each output.
        right: which images are predicted correctly.
        log_probabilities: the labels' log-probabilities, images x sharpnesses; None if there are none.
        predicted: the predicted output of every image.
    """

    changed: tuple[str, ...]
    preprocess: Preprocess
    order: Order
    right: NDArray[np.bool_]
    log_probabilities: NDArray[np.float32] | None = None
    predicted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return float(self.right.mean())


def log_probability_gain(before: Trial, after: Trial) -> NDArray[np.float64] | None:
    """The gain in each label's log-probability; None if the two trials cannot be compared by it.

    Both use the sharpness that maximises the sum of both log-probabilities: neither of two equally good
    trials is favoured, nor one that is merely more confident.
    """
    old, new = before.log_probabilities, after.log_probabilities
    if before.order != after.order or old is None or new is None:
        return None
    sharpness = int((old.mean(axis=0, dtype=np.float64) + new.mean(axis=0, dtype=np.float64)).argmax())
    return np.asarray(new[:, sharpness].astype(np.float64) - old[:, sharpness])


def p_value(before: Trial, after: Trial) -> float:
    """p-value that two trials are equally good: Wilcoxon's of log-probabilities, or McNemar's mid-p."""
    gained = log_probability_gain(before, after)
    if gained is not None:
        return signed_rank(gained)[1]
    return mcnemar(int((before.right & ~after.right).sum()), int((after.right & ~before.right).sum()))


def test_name(before: Trial, after: Trial) -> str:
    """The name of the test that `p_value` uses."""
    return (
        "McNemar" if log_probability_gain(before, after) is None else "Wilcoxon, log-probability of the label"
    )


class Gain(NamedTuple):
    """A gain in accuracy as a fraction, with the ends of its 95 % confidence interval."""

    value: float
    low: float
    high: float


def gain(before: Trial, after: Trial) -> Gain:
    """The gain in accuracy on the same images, and its 95 % confidence interval (Tango)."""
    change = shares_of_change(after.right.astype(np.float64) - before.right, 1, None)
    tail = (1 - CONFIDENCE) / 2
    return Gain(change.value, change.end(tail), change.end(1 - tail))


def significantly_better(before: Trial, after: Trial, tried: int) -> bool:
    """Whether a trial is significantly better than another; `tried` is the number of changes tried in all.

    Its p times `tried` is below 5 % and its accuracy is not lower. The mean gain of the labels'
    log-probabilities is at least `LEAST_NATS`. If geometries differ, the interval of the gain in accuracy is
    above `LEAST_GAIN`.
    """
    if tried * p_value(before, after) >= SIGNIFICANT:
        return False
    ahead = int(after.right.sum()) - int(before.right.sum())
    gained = log_probability_gain(before, after)
    if gained is None and ahead <= 0:
        return False
    if gained is not None and (ahead < 0 or signed_rank(gained)[0] < 0 or gained.mean() < LEAST_NATS):
        return False
    return before.preprocess.geometry == after.preprocess.geometry or gain(before, after).low > LEAST_GAIN


def choose(centre: Trial, trials: Sequence[Trial], tried: int) -> Trial:
    """The best of the trials that are significantly better than the centre, or the centre.

    The best has the highest log-probability. A trial that changes fewer of the declared settings is preferred
    unless it is significantly worse. The number of changed fields decides only between equal trials.
    """
    better = _better(centre, trials, tried)
    if not better:
        return centre
    best = _ranked(better)[0]
    near = [trial for trial in better if not significantly_better(trial, best, tried)]
    fewest = min(_declared_settings_changed(centre, trial) for trial in near)
    first = _ranked([trial for trial in near if _declared_settings_changed(centre, trial) == fewest])[0]
    equivalent = [trial for trial in near if _equivalent(trial, first)]
    return min(equivalent, key=lambda trial: _fields_changed(centre, trial))


def indistinguishable(centre: Trial, chosen: Trial, trials: Sequence[Trial], tried: int) -> tuple[Trial, ...]:
    """The other trials that are significantly better than the centre and not worse than the chosen one.

    A trial that equals the chosen one on these images (BGR if all are grey) does not count.
    """
    near = [
        trial
        for trial in _better(centre, trials, tried)
        if not significantly_better(trial, chosen, tried)
        and not _equivalent(trial, chosen)
        and not _same_predictions(trial, chosen)
    ]
    return tuple(_ranked(near))


def images_needed(tried: int) -> int:
    """The smallest number of images with which a change can be significant, if every label gains."""
    count = 1
    while tried * signed_rank(np.arange(1.0, count + 1))[1] >= SIGNIFICANT:
        count += 1
    return count


def _better(centre: Trial, trials: Sequence[Trial], tried: int) -> list[Trial]:
    return [trial for trial in trials if significantly_better(centre, trial, tried)]


def _ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Trials in descending order of the tested quantity.

    Label orders are ranked by accuracy. Trials that share the best order are ranked by the labels' mean
    log-probability, all at the sharpness that maximises their sum.
    """
    ranked = sorted(trials, key=lambda trial: -int(trial.right.sum()))
    same_order = [trial for trial in ranked if trial.order == ranked[0].order]
    means = [
        trial.log_probabilities.mean(axis=0, dtype=np.float64)
        for trial in same_order
        if trial.log_probabilities is not None
    ]
    if len(means) < max(1, len(same_order)):
        return ranked
    sharpness = int(np.sum(means, axis=0).argmax())
    by_log_probability = sorted(range(len(same_order)), key=lambda index: -float(means[index][sharpness]))
    rest = [trial for trial in ranked if trial.order != ranked[0].order]
    return [*(same_order[index] for index in by_log_probability), *rest]


def _equivalent(trial: Trial, other: Trial) -> bool:
    """Whether two trials have the same label order and geometry, and equivalent arithmetic."""
    if trial.order != other.order or trial.preprocess.geometry != other.preprocess.geometry:
        return False
    return trial.preprocess.tensor.same_arithmetic(other.preprocess.tensor)


def _same_predictions(trial: Trial, other: Trial) -> bool:
    """Whether two trials have the same predictions on every image."""
    gained = log_probability_gain(trial, other)
    return np.array_equal(trial.right, other.right) and (
        gained is None or bool(np.abs(gained).max() < ROUNDING)
    )


def _declared_settings_changed(before: Trial, after: Trial) -> int:
    """Number of declared settings that differ: label order, channel order, arithmetic.

    Settings that were assumed because nothing was declared do not count.
    """
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
    """Number of fields in which the preprocessing of two trials differs."""
    old, new = before.preprocess, after.preprocess
    pairs = ((old.geometry, new.geometry), (old.tensor, new.tensor))
    return sum(getattr(a, field.name) != getattr(b, field.name) for a, b in pairs for field in fields(a))
