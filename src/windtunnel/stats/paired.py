"""Paired differences of two models on the same images: value, interval, test and effect size."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri

from windtunnel.stats.bootstrap import replicated_values
from windtunnel.stats.estimates import Estimate, Scaled, Shares, Symmetric
from windtunnel.stats.intervals import (
    CONFIDENCE,
    ROUNDING,
    Groups,
    effective_size,
    unit_count,
    variance_of_mean,
)

if TYPE_CHECKING:
    from windtunnel.stats.measure import Measure


@dataclass(frozen=True)
class Difference:
    """How a score changed from one model to another.

    Attributes:
        value: new - old, a fraction.
        low, high: 95 % interval.
        p: two-sided p-value of the hypothesis that nothing changed.
        test: the name of the test.
        n: number of images.
        discordant: number of images on which the two models differ.
        effect: the effect size.
        effect_name: the measure of the effect size.
    """

    value: float
    low: float
    high: float
    p: float
    test: str
    n: int
    discordant: int
    effect: float
    effect_name: str

    def to_json(self) -> dict[str, object]:
        """The difference as a JSON object."""
        return asdict(self)


def estimate_difference(old: Measure, new: Measure) -> Estimate:
    """The difference new - old of a score on the same images, the image (or its group) being the unit.

    Shares, and sums and differences of shares with equal weights: Tango's score method at the effective
    sample size. Other sums over images: Student's interval of the paired differences. All others: the
    standard deviation of the difference in bootstrap replicates that both scores share.

    Equal predictions of two models do not prove that they always agree: the standard error of a bootstrapped
    difference, and of one without variation, is at least `_least_error`.
    """
    if old.of_weights is not None and new.of_weights is not None:
        return _resampled(old, new)
    if old.combine is not None or new.combine is not None:
        return _bootstrapped(old, new)
    change = new.image_values - old.image_values
    if not _same_shares(old, new):
        scale = float(max(np.abs(measure.image_values).max(initial=0.0) for measure in (old, new)))
        error = math.sqrt(variance_of_mean(change, old.groups, scale))
        if error == 0:
            error = _least_error_of_constant(old, new, ROUNDING * scale)
        return Symmetric(float(change.mean()), error, old.units - 1, f"paired t-test {_over(old.groups)}")
    whole = float(np.abs(old.linear_weights).sum())
    return Scaled(shares_of_change(change / whole, old.columns.shape[1], old.groups), whole)


def shares_of_change(change: NDArray[np.float64], per_image: int, groups: Groups) -> Shares:
    """The mean change per image, between -1 and 1, over at most `per_image` predictions each."""
    change = np.where(np.abs(change) <= ROUNDING, 0.0, change)
    up, down = float(np.maximum(change, 0).mean()), float(np.maximum(-change, 0).mean())
    size = effective_size(change, up + down - (up - down) ** 2, per_image, groups)
    # Counts of single predictions use the normal quantile, as in Wilson's interval; estimated variances
    # use Student's.
    if per_image == 1 and groups is None:
        return Shares(up, down, size, 0, "paired score test")
    units = unit_count(len(change), groups)
    return Shares(up, down, size, units - 1, f"paired score test {_over(groups)}")


def no_difference(test: str = "the same model") -> Estimate:
    """A difference known to be 0."""
    return Symmetric(0.0, 0.0, 0, test)


def paired_difference(
    old: Measure,
    new: Measure,
    *,
    estimate: Estimate | None = None,
    confidence: float = CONFIDENCE,
) -> Difference:
    """How a score changed from one model to another on the same images.

    For the correct and wrong predictions of one condition, the effect is the odds ratio of discordant images,
    (broken + 1/2)/(repaired + 1/2), and p is McNemar's mid-p. Otherwise the effect is the mean difference
    divided by its standard deviation between images.
    """
    estimated = estimate or estimate_difference(old, new)
    tail = (1 - confidence) / 2
    low, high = estimated.end(tail), estimated.end(1 - tail)
    differing = (old.columns != new.columns).any(axis=1)
    upward = estimated.above(0.0)
    p, test = min(1.0, 2 * min(upward, 1 - upward)), estimated.test
    if estimated.value == 0:
        p = 1.0
    if _single_predictions(old) and _single_predictions(new) and old.groups is None:
        broken = int((new.columns & ~old.columns).sum())
        repaired = int((old.columns & ~new.columns).sum())
        p, test = mcnemar(broken, repaired), "McNemar, mid-p"
        effect, name = (broken + 0.5) / (repaired + 0.5), "odds ratio of discordant images"
    else:
        reach = estimated.end(float(ndtr(1.0))) - estimated.end(float(ndtr(-1.0)))
        deviation = reach / 2 * math.sqrt(len(old.columns))
        effect, name = (estimated.value / deviation if deviation > 0 else 0.0), "standardised mean difference"
    return Difference(
        estimated.value, low, high, p, test, len(old.columns), int(differing.sum()), float(effect), name
    )


def unpaired_difference(old: Measure, new: Measure) -> Difference:
    """How a score changed between two models on different images (Newcombe's square-and-add).

    low = d - sqrt((new - new_low)^2 + (old_high - old)^2), high likewise, from the two scores' own intervals.
    If some images are the same, the interval is conservative.
    """
    (old_low, old_high), (new_low, new_high) = old.interval(), new.interval()
    value = new.value - old.value
    below = math.hypot(new.value - new_low, old_high - old.value)
    above = math.hypot(new_high - new.value, old.value - old_low)
    toward_zero = below if value > 0 else above
    z = abs(value) / toward_zero * float(ndtri((1 + CONFIDENCE) / 2)) if toward_zero > 0 else math.inf
    p = float(2 * ndtr(-z)) if value else 1.0
    n = min(len(old.columns), len(new.columns))
    deviation = (below + above) / 2 / float(ndtri((1 + CONFIDENCE) / 2)) * math.sqrt(n / 2)
    effect = value / deviation if deviation > 0 else 0.0
    return Difference(
        value, value - below, value + above, p, "unpaired", n, 0, effect, "standardised mean difference"
    )


def mcnemar(broken: int, repaired: int, method: Literal["mid-p", "exact"] = "mid-p") -> float:
    """McNemar's two-sided test that as many images broke as were repaired.

    With k the smaller count of N discordant images and X binomial (N, 1/2): exact p = 2*P(X <= k), at most
    1; mid-p = 2*P(X <= k) - P(X = k).
    """
    total, fewer = broken + repaired, min(broken, repaired)
    if total == 0:
        return 1.0
    upto = float(bdtr(fewer, total, 0.5))
    if method == "exact":
        return min(1.0, 2 * upto)
    before = float(bdtr(fewer - 1, total, 0.5)) if fewer else 0.0
    return min(1.0, upto + before)


def signed_rank(change: NDArray[np.float64]) -> tuple[float, float]:
    """Wilcoxon's signed-rank test of symmetry about 0: z and two-sided p, by the normal approximation.

    Values that are not 0 are ranked by size, ties by their mean rank r. With S the sum of the signed ranks:
    z = S / sqrt(sum r^2), p = 2*Phi(-|z|).

    Compared with the exact test, this p is larger wherever it is below 1 %. Near 5 % it is smaller: 0.043
    where the exact p is 0.0625 (5 values, all on one side), 0.046 for 0.0625 (6 values), from 7 values on by
    at most 0.006.
    """
    values = change[change != 0]
    if not len(values):
        return 0.0, 1.0
    _, places, counts = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[places]
    z = float((np.sign(values) * ranks).sum()) / math.sqrt(float((ranks**2).sum()))
    return z, float(2 * ndtr(-abs(z)))


def _over(groups: Groups) -> str:
    return "over images" if groups is None else "over groups of images"


def _bootstrapped(old: Measure, new: Measure) -> Estimate:
    cut = old.columns.shape[1]
    both = np.hstack([old.columns, new.columns]).astype(np.float64)

    def combine(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return new.of_means(means[..., cut:]) - old.of_means(means[..., :cut])

    values = replicated_values(both, combine, groups=old.groups)
    values = values[np.isfinite(values)]
    reach = max(_reach(measure) for measure in (old, new))
    error = max(float(values.std()) if len(values) else 0.0, _least_error(reach, len(both), old.groups))
    test = f"paired bootstrap {_over(old.groups)}"
    return Symmetric(new.value - old.value, error, old.units - 1, test)


def _resampled(old: Measure, new: Measure) -> Estimate:
    """The difference of two scores by weights, with the same weights in every replicate.

    Few images that differ say little about those that were not sampled: the variance is multiplied by
    (d + 2) / d, with d the number of images that differ. If none differs, the standard error is that of an
    image that changes the score by the width of its limits divided by the number of images.
    """
    values = new.weighted_replicates - old.weighted_replicates
    values = values[np.isfinite(values)]
    error = float(values.std()) if len(values) else 0.0
    differing = int((old.columns != new.columns).any(axis=1).sum())
    if differing and error:
        error *= math.sqrt((differing + 2) / differing)
    else:
        width = old.limits[1] - old.limits[0]
        least = _least_error(width if math.isfinite(width) else 1.0, len(old.columns), old.groups)
        error = max(error, least)
    return Symmetric(new.value - old.value, error, old.units - 1, f"paired bootstrap {_over(old.groups)}")


def _least_error(reach: float, images: int, groups: Groups) -> float:
    """The minimum standard error of a difference that one image can change by reach/n: 2 * reach / n.

    If none of n predictions differs, up to 3/n of all may (95 %, one-sided), and 1.645 * 2/n is no less. With
    groups, n is the effective sample size for images that are fully correlated within a group.
    """
    return 2 * reach / effective_size(np.zeros(images), 0.0, 1, groups)


def _least_error_of_constant(old: Measure, new: Measure, rounding: float) -> float:
    """The minimum standard error of a difference that is the same for every image.

    An image can change the score by the range of the images' values; without variation, by the width of the
    score's limits. For a score of two sides, the smaller side is decisive.
    """
    reach = max(float(np.ptp(measure.image_values)) for measure in (old, new))
    if reach <= rounding:
        width = old.limits[1] - old.limits[0]
        reach = width if math.isfinite(width) else 0.0
    if old.sides is not None:
        return _least_error(reach, old.deciding_units, None)
    return _least_error(reach, len(old.columns), old.groups)


def _reach(measure: Measure) -> float:
    """The largest difference between two images' contributions to a score; for ratios by derivatives."""
    columns = np.asarray(measure.columns, np.float64)
    means = columns.mean(axis=0)
    steps = 1e-6 * np.maximum(np.abs(means), 1e-3)
    slopes = (measure.of_means(means + np.diag(steps)) - measure.value) / steps
    contributions = columns @ slopes
    return float(np.ptp(contributions)) if np.isfinite(contributions).all() else 0.0


def _same_shares(old: Measure, new: Measure) -> bool:
    return (
        old.columns.dtype == np.bool_
        and new.columns.dtype == np.bool_
        and old.columns.shape == new.columns.shape
        and np.array_equal(old.linear_weights, new.linear_weights)
    )


def _single_predictions(measure: Measure) -> bool:
    return (
        measure.combine is None
        and measure.of_weights is None
        and measure.weights is None
        and measure.columns.shape[1] == 1
        and measure.columns.dtype == np.bool_
    )
