"""The metrics against scikit-learn, the published code's arithmetic, and values worked by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from windtunnel.metrics.aurra import aurra_values
from windtunnel.metrics.calibration import (
    ece_values,
    rms_values,
)
from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.proper_scores import brier_score, negative_log_likelihood
from windtunnel.metrics.slices import shrink, size_bucket
from windtunnel.stats.intervals import mean_interval


def drawn(n: int, seed: int = 0, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and answers that are right a little less often than they say."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.1, 1, n)
    if ties:
        confidence = np.round(confidence, 1)
    return confidence, rng.random(n) < confidence**1.5


def score(values: Callable[..., np.ndarray], confidence: np.ndarray, right: np.ndarray, **options) -> float:
    """The mean of the images' values, which is the score."""
    return float(values(confidence[:, None], right[:, None], **options).mean())


def test_ece_is_that_of_calibration_curve() -> None:
    confidence, right = drawn(3000)
    share, mean = calibration_curve(right, confidence, n_bins=15)
    edges = np.linspace(0, 1, 16)
    counts = np.bincount(np.searchsorted(edges[1:-1], confidence), minlength=15)
    wanted = (counts[counts > 0] / 3000 * np.abs(share - mean)).sum()
    assert score(ece_values, confidence, right) == pytest.approx(wanted)


def test_ece_by_hand() -> None:
    # Bin (0.8, 0.8667]: mean confidence .85, half right; bin (0.2667, 0.3333]: .3, none right.
    confidence, right = np.array([0.85, 0.85, 0.3, 0.3]), np.array([True, False, False, False])
    assert score(ece_values, confidence, right) == pytest.approx(0.5 * 0.35 + 0.5 * 0.3)
    # An edge belongs to the bin below it, as in scikit-learn.
    assert score(ece_values, np.array([0.5, 0.51]), np.array([True, False]), bins=2) == pytest.approx(0.505)


def published_calibration_error(confidence: np.ndarray, right: np.ndarray, drop: bool) -> float:
    """Bins of 100 by confidence, the remainder in the last; the published loop stops one bin short."""
    order = np.argsort(confidence)
    confidence, right = confidence[order], right[order]
    bins = [[i * 100, (i + 1) * 100] for i in range(len(confidence) // 100)]
    bins[-1][1] = len(confidence)
    total = 0.0
    for begin, end in bins[:-1] if drop else bins:
        gap = confidence[begin:end].mean() - right[begin:end].mean()
        total += (end - begin) / len(confidence) * gap**2
    return float(np.sqrt(total))


@pytest.mark.parametrize("n", [100, 199, 950, 7500])
def test_rms_calibration_error_with_and_without_the_dropped_bin(n: int) -> None:
    confidence, right = drawn(n)
    assert score(rms_values, confidence, right) == pytest.approx(
        published_calibration_error(confidence, right, drop=False)
    )
    assert score(rms_values, confidence, right, compat=True) == pytest.approx(
        published_calibration_error(confidence, right, drop=True)
    )


def test_rms_calibration_error_of_few_is_one_bin() -> None:
    confidence, right = np.array([0.9, 0.7]), np.array([True, False])
    assert score(rms_values, confidence, right) == pytest.approx(0.3)


def test_aurra_by_hand() -> None:
    confidence, right = np.array([0.2, 0.9, 0.5, 0.7]), np.array([True, True, False, False])
    # By confidence: right, wrong, wrong, right: 1, 1/2, 1/3, 2/4.
    assert score(aurra_values, confidence, right) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_aurra_of_ties_is_the_mean_over_their_orders() -> None:
    confidence, right = np.array([0.9, 0.5, 0.5]), np.array([True, True, False])
    orders = [(1 + 1 + 2 / 3) / 3, (1 + 1 / 2 + 2 / 3) / 3]
    assert score(aurra_values, confidence, right) == pytest.approx(np.mean(orders))


@pytest.mark.parametrize("values", [aurra_values, rms_values])
def test_order_does_not_matter_even_with_ties(values) -> None:
    confidence, right = drawn(1000, ties=True)
    shuffled = np.random.default_rng(1).permutation(1000)
    again = score(values, confidence[shuffled], right[shuffled])
    assert score(values, confidence, right) == pytest.approx(again, abs=1e-12)


# Not of the RMS error: leaving one image out moves the borders of all later bins.
@pytest.mark.parametrize("values", [ece_values, aurra_values])
def test_influences_are_those_of_leaving_an_image_out(values) -> None:
    confidence, right = drawn(2400)
    confidence, right = confidence.reshape(1200, 2), right.reshape(1200, 2)
    found = values(confidence, right)
    left_out = []
    for row in range(0, 1200, 60):
        rest = np.delete(np.arange(1200), row)
        left_out.append(1199 * (found.mean() - values(confidence[rest], right[rest]).mean()) + found.mean())
    assert found[::60] == pytest.approx(left_out, abs=0.02)


@pytest.mark.parametrize("values", [ece_values, rms_values, aurra_values])
def test_intervals_of_pseudo_values_cover(values) -> None:
    scores, hits = [], []
    for seed in range(300):
        confidence, right = drawn(800, seed)
        found = values(confidence[:, None], right[:, None])
        scores.append(found.mean())
        hits.append(mean_interval(found))
    centre = np.mean(scores)
    share = np.mean([low <= centre <= high for low, high in hits])
    assert 0.91 <= share <= 0.99


def test_brier_and_nll_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(6), 500)
    labels = rng.integers(6, size=500)
    own = share[np.arange(500), labels]
    assert brier_score((share**2).sum(axis=1), own).mean() == pytest.approx(
        brier_score_loss(labels, share, labels=list(range(6)), scale_by_half=False)
    )
    assert negative_log_likelihood(np.log(own)).mean() == pytest.approx(log_loss(labels, share))
    assert brier_score(np.array([0.5]), np.array([0.5])) == pytest.approx([0.5])


def test_flips_by_hand() -> None:
    assert flipped(np.array([1, 2, 3]), np.array([1, 3, 3])).tolist() == [False, True, False]


def test_shrinkage_knows_chance_from_difference() -> None:
    rng = np.random.default_rng(0)
    # Slices that differ by chance alone all shrink to the mean; a lone wrong image is no bad class.
    same = [(rng.random(12) < 0.3).astype(float) for _ in range(40)]
    assert np.ptp(shrink(same, 0.3)) < 0.15
    # With rates from a beta distribution the weight is that of the beta-binomial: n / (n + a + b).
    rates = rng.beta(2, 6, 4000)
    groups = [(rng.random(20) < rate).astype(float) for rate in rates]
    means = np.array([group.mean() for group in groups])
    pulled = shrink(groups, float(means.mean()))
    slope = np.polyfit(means, pulled, 1)[0]
    assert slope == pytest.approx(20 / (20 + 8), abs=0.03)
    assert np.mean((pulled - rates) ** 2) < np.mean((means - rates) ** 2)


def equal_sites(seed: int, alike: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Six sites that do not differ, ten patients of ten images each, alike or not within a patient."""
    rng = np.random.default_rng(seed)
    patients = np.repeat(np.arange(60), 10)
    ease = rng.random(60)[patients] if alike else rng.random(600)
    wrong = (0.9 * ease + 0.1 * rng.random(600) < 0.3).astype(float)
    return np.split(wrong, 6), np.split(patients, 6)


def test_shrinkage_knows_groups_from_slices() -> None:
    def told_alike(alike: bool, grouped: bool) -> float:
        found = []
        for seed in range(300):
            sites, patients = equal_sites(seed, alike)
            pulled = shrink(sites, float(np.mean(sites)), patients if grouped else None)
            found.append(np.ptp(pulled) < 1e-12)
        return float(np.mean(found))

    # A variance that is 0 is found to be at most 0 in about 58 % of worlds (chi-squared, 5 degrees).
    assert told_alike(alike=False, grouped=False) == pytest.approx(0.58, abs=0.09)
    assert told_alike(alike=True, grouped=True) == pytest.approx(0.58, abs=0.09)
    assert told_alike(alike=True, grouped=False) < 0.05


def test_shrinkage_with_groups_keeps_what_differs() -> None:
    rng = np.random.default_rng(0)
    rates = rng.normal(0, 1, 200)
    patients = [np.repeat(np.arange(8) + 8 * site, 5) for site in range(200)]
    ease = rng.normal(0, 1, 1600)
    sites = [rate + ease[who] + rng.normal(0, 1, 40) for rate, who in zip(rates, patients, strict=True)]
    means = np.array([site.mean() for site in sites])
    pulled = shrink(sites, float(means.mean()), patients)
    # Variance of a mean: 1/8 of patients and 1/40 of images, beside 1 between sites.
    assert np.polyfit(means, pulled, 1)[0] == pytest.approx(1 / (1 + 1 / 8 + 1 / 40), abs=0.03)
    alone = [np.arange(40) + 40 * site for site in range(200)]
    assert shrink(sites, 0.0, alone) == pytest.approx(shrink(sites, 0.0))
    # One patient per site: nothing tells sites from patients.
    assert set(shrink(sites[:3], 0.5, [np.full(40, site) for site in range(3)])) == {0.5}


def test_shrinkage_where_groups_spread_over_slices() -> None:
    rng = np.random.default_rng(0)
    alike = []
    for _ in range(300):
        patients = np.repeat(np.arange(60), 10)
        values = rng.normal(0, 1, 60)[patients] + rng.normal(0, 1, 600)
        rows = np.array_split(rng.permutation(600), 6)
        pulled = shrink([values[one] for one in rows], 0.0, [patients[one] for one in rows])
        alike.append(np.ptp(pulled) < 1e-12)
    assert np.mean(alike) == pytest.approx(0.58, abs=0.09)


def test_size_buckets() -> None:
    found = [size_bucket(side).strip() for side in (8, 32, 224, 1024, 5000)]
    assert found == ["0-31 px", "32-63 px", "128-255 px", "1024 px and more", "1024 px and more"]
