"""Scores that do not vary over images: their intervals depend on the images, not on rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, t

from windtunnel.metrics.corruption_error import THE_FIFTEEN, alexnet_errors
from windtunnel.stats.intervals import effective_size, variance_of_mean
from windtunnel.stats.measure import Measure, bounded_interval
from windtunnel.stats.paired import estimate_difference, paired_difference


def mean_of(columns: np.ndarray, weights: np.ndarray | None = None, **options) -> Measure:
    even = np.full(columns.shape[1], 1 / columns.shape[1])
    return Measure("", "", "", (), columns, even if weights is None else weights, **options)


def wilson_of_all(n: int, units: int | None = None) -> float:
    """Lower end of Wilson's interval with Student's quantile where n of n are wrong: n / (n + t^2)."""
    return n / (n + t.ppf(0.975, (units or n) - 1) ** 2)


@pytest.mark.parametrize("conditions", [1, 3, 15, 50, 75, 95, 300])
@pytest.mark.parametrize("n", [6, 51, 200])
def test_all_wrong_is_known_as_well_under_any_number_of_conditions(n: int, conditions: int) -> None:
    low, high = mean_of(np.ones((n, conditions), bool)).interval()
    assert (low, high) == (pytest.approx(wilson_of_all(n)), pytest.approx(1))
    low, high = mean_of(np.zeros((n, conditions), bool)).interval()
    assert (low, high) == (0, pytest.approx(1 - wilson_of_all(n)))


def test_six_images_all_wrong_under_the_conditions_of_imagenet_c() -> None:
    # 6 / (6 + 2.5706^2) = 0.476.
    assert mean_of(np.ones((6, 75), bool)).interval() == pytest.approx((0.476, 1), abs=1e-3)
    sums = np.array([sum(alexnet_errors()[unit]) for unit in THE_FIFTEEN])
    mce = mean_of(np.ones((6, 75), bool), np.repeat(1 / sums / 15, 5))
    low, high = mce.interval()
    assert low / mce.value == pytest.approx(wilson_of_all(6))
    assert high == pytest.approx(mce.value)


def test_groups_and_distances_that_do_not_vary() -> None:
    groups = np.repeat(np.arange(17), 3)
    for conditions in (50, 75):
        low, _ = mean_of(np.ones((51, conditions), bool), groups=groups).interval()
        assert low == pytest.approx(wilson_of_all(17))
        farthest = np.full((51, conditions), 18)
        interval_of = partial(bounded_interval, per_image=conditions)
        low, high = mean_of(farthest, limits=(0, 18), interval_of=interval_of).interval()
        assert (low, high) == (pytest.approx(18 * wilson_of_all(51)), pytest.approx(18))


@pytest.mark.parametrize("conditions", [1, 49, 50, 75, 95])
def test_differences_that_do_not_vary(conditions: int) -> None:
    n = 51
    wrong, right = np.ones((n, conditions), bool), np.zeros((n, conditions), bool)
    fixed, broken = mean_of(wrong), mean_of(right)
    reference = estimate_difference(mean_of(wrong[:, :2]), mean_of(right[:, :2]))
    for level in (0.025, 0.975):
        found = estimate_difference(fixed, broken).end(level)
        if conditions > 1:
            assert found == pytest.approx(reference.end(level), abs=1e-9)
    # Errors of either model in half of the conditions cancel out.
    half = np.arange(conditions) % 2 == 0
    swapped = paired_difference(mean_of(wrong & half), mean_of(wrong & ~half))
    assert swapped.high - swapped.low > 1 / n
    # A constant difference of numbers is no certain one.
    numbers = np.random.default_rng(0).random((n, conditions))
    moved = paired_difference(mean_of(numbers), mean_of(numbers + 0.1))
    assert moved.value == pytest.approx(0.1)
    assert moved.high - moved.low > 0.01


def test_rounding_is_no_variance() -> None:
    # The sum of ten tenths is not the same in every order.
    weights = np.full(75, 1 / 75)
    values = np.array([weights.sum(), weights[::-1].cumsum()[-1], 1.0, np.nextafter(1, 0)])
    assert np.ptp(values) > 0
    assert variance_of_mean(values) == 0
    assert variance_of_mean(1e6 * values) == 0
    assert variance_of_mean(values - 1, scale=1.0) == 0
    assert effective_size(values, float(values[0] * (1 - values[0])), 75) == 4
    # Small numbers vary all the same.
    small = np.array([1e-9, 2e-9, 3e-9])
    assert variance_of_mean(small) == pytest.approx(small.var(ddof=1) / 3)


def test_one_failing_image_narrows_no_interval() -> None:
    # 0 of 75 conditions wrong in 200 images, then 1 of 75 in one image: the upper end may not fall by much.
    none = np.zeros((200, 75), bool)
    one = none.copy()
    one[0, 0] = True
    assert mean_of(one).interval()[1] > 0.5 * mean_of(none).interval()[1]
    # All of 75 in one image: no surer than 1 wrong of 200; Clopper and Pearson's are the widest there.
    one[0] = True
    low, high = mean_of(one).interval()
    assert low < 0.005 < beta.ppf(0.95, 2, 199) < high
