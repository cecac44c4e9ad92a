"""Intervals of differences between methods of training, against simulations and written-out cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from windtunnel.stats.seed_differences import seed_difference, seed_variance

METHODS, IMAGES = 6, 120


def test_pooled_variances_of_a_written_out_table() -> None:
    scores = np.array([[1.0, 3.0], [2.0, 8.0]])
    # Rows vary by (2, 18) / 1 around their means; the residuals of the two-way table are +-1.
    assert seed_variance(scores, paired=False).value == pytest.approx((2 + 18) / 2)
    assert seed_variance(scores, paired=False).freedom == 2
    assert seed_variance(scores, paired=True).value == pytest.approx(4.0)
    assert seed_variance(scores, paired=True).freedom == 1


def test_a_shared_effect_of_seeds_is_removed_only_if_paired() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 0.01, (5, 4)) + rng.normal(0, 1, (1, 4))
    assert seed_variance(scores, paired=True).value < 1e-3 < 0.05 < seed_variance(scores, paired=False).value


def test_without_seeds_the_interval_is_students_over_images() -> None:
    rng = np.random.default_rng(1)
    new, old = rng.random((1, 50)), rng.random((1, 50))
    found = seed_difference(new, old, seed_variance(np.zeros((3, 1)), paired=True))
    expected = stats.ttest_rel(new[0], old[0])
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.p == pytest.approx(expected.pvalue)


def test_equal_predictions_do_not_prove_that_methods_agree() -> None:
    errors = np.tile(np.arange(40) % 2, (3, 1)).astype(float)
    found = seed_difference(errors, errors, seed_variance(np.full((3, 3), 0.5), paired=True))
    assert found.value == 0 and found.p == 1.0 and found.low < 0 < found.high
    # One image more or less of 40, as for any method; nothing is known about other images.
    right = np.zeros((3, 40))
    found = seed_difference(right, right, seed_variance(np.zeros((3, 3)), paired=True))
    assert found.high == pytest.approx(stats.t.ppf(0.975, 39) * 2 / 40)


def test_a_method_with_a_much_larger_variance_uses_its_own() -> None:
    rng = np.random.default_rng(2)
    errors = rng.normal(0, 0.01, (8, 3, 100)) + rng.normal(0, 0.01, (8, 3, 1))
    errors[-1] += np.array([-1.0, 0.0, 1.0])[:, None]
    pooled = seed_variance(errors[:-1].mean(axis=2), paired=True)
    calm, wild = (seed_difference(errors[row], errors[0], pooled) for row in (1, -1))
    assert not calm.own_variance and wild.own_variance
    # The means are -1, 0 and 1 against 0: s2 is 1/2, of 2 degrees of freedom, to which 4 are added.
    assert wild.high - wild.low == pytest.approx(2 * stats.t.ppf(0.975, 6) * np.sqrt(2 * 0.5 / 3), rel=0.05)
    assert calm.high - calm.low < 0.1


def test_two_methods_with_two_seeds_are_not_found_to_differ_by_chance() -> None:
    """The variance between trainings has one degree of freedom; Holm's procedure needs small p-values."""
    rng = np.random.default_rng(3)
    trials, low = 1000, 0
    for _ in range(trials):
        image = rng.normal(0, 1, (1, 1, IMAGES)) + rng.normal(0, 0.5, (2, 1, IMAGES))
        errors = image + rng.normal(0, 0.3, (2, 2, 1)) + rng.normal(0, 1, (2, 2, IMAGES))
        found = seed_difference(errors[1], errors[0], seed_variance(errors.mean(axis=2), paired=True))
        low += found.p < 0.005
    # 5 of 1000 are expected at most.
    assert low <= 12


@pytest.mark.parametrize(
    ("seeds", "training_sd", "shared", "paired"),
    [
        (2, 0.3, 0.0, True),
        (3, 0.0, 0.0, True),
        (3, 0.1, 0.5, True),
        (3, 0.3, 0.5, True),
        (3, 0.3, 0.0, False),
    ],
)
def test_the_interval_covers_the_true_difference(
    seeds: int, training_sd: float, shared: float, paired: bool
) -> None:
    """Sums of normal effects, whose true difference between the first two methods is 0.2."""
    rng = np.random.default_rng([seeds, int(10 * training_sd), int(paired)])
    trials, inside = 500, 0
    for _ in range(trials):
        image = rng.normal(0, 1, (1, 1, IMAGES)) + rng.normal(0, 0.5, (METHODS, 1, IMAGES))
        both = rng.normal(0, 1, (1, seeds, 1)) * shared**0.5
        own = rng.normal(0, 1, (METHODS, seeds, 1)) * (1 - shared) ** 0.5
        errors = image + training_sd * (both + own) + rng.normal(0, 1, (METHODS, seeds, IMAGES))
        errors[1] += 0.2
        found = seed_difference(errors[1], errors[0], seed_variance(errors.mean(axis=2), paired=paired))
        inside += found.low <= 0.2 <= found.high
    # 95 % of 500 has a standard deviation of 1 %. With few seeds the interval covers up to 99 %: a variance
    # that is larger by chance replaces the pooled one, and each part has a quantile of its own.
    assert 0.92 <= inside / trials <= 0.998
