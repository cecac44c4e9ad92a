"""Calibration errors and AURRA where confidences are equal, or all predictions are right or wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, norm
from scipy.stats import t as student

from windtunnel.metrics.calibration import ece_values, rms_values
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import calibration_coverage


def measured(metric: str, confidence: np.ndarray, right: np.ndarray) -> Measure:
    """The measure of one condition, from confidences and whether each prediction is right."""
    return calibration_coverage.SCORES[metric](np.asarray(confidence, float)[:, None], right[:, None])


def share_right(n: int, right: int) -> np.ndarray:
    return np.arange(n) < right


def test_equal_confidences_still_have_the_variance_of_right_and_wrong() -> None:
    found = measured("RMS", np.full(200, 0.95), share_right(200, 160))
    # Of one confidence the error is |0.95 - accuracy|, as sure as the accuracy: 1.97 sqrt(.8 * .2 / 199).
    low, high = found.interval()
    assert found.value == pytest.approx(0.15)
    assert (low, high) == pytest.approx((0.15 - 0.0559, 0.15 + 0.0559), abs=1e-3)


@pytest.mark.parametrize("distinct", [1, 2, 5, 12])
def test_influences_with_ties_are_those_of_a_prediction_turned_wrong(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    confidence = rng.choice(np.linspace(0.3, 0.95, distinct), 400)
    right = rng.random(400) < confidence - 0.15
    values = rms_values(confidence[:, None], right[:, None])
    for row in np.flatnonzero(right)[::40]:
        turned = right.copy()
        turned[row] = False
        change = rms_values(confidence[:, None], turned[:, None]).mean() - values.mean()
        # The same confidence right and wrong differ by what turning one does to the score, times n.
        wrong = np.flatnonzero((confidence == confidence[row]) & ~right)[0]
        assert values[wrong] - values[row] == pytest.approx(400 * change, abs=0.05)


def test_no_calibration_error_is_a_point() -> None:
    # Calibrated to the digit: what the accuracy may be is what the error may be.
    for metric in ("ECE", "RMS"):
        low, high = measured(metric, np.full(100, 0.5), share_right(100, 50)).interval()
        assert (low, high) == (0, pytest.approx(1.984 * np.sqrt(0.25 / 99), rel=1e-3))
    # All right, or all wrong: as many of the other kind as 200 images do not exclude.
    for metric in ("ECE", "RMS"):
        for confidence, right in ((1.0, 200), (0.9, 200), (0.3, 0)):
            found = measured(metric, np.full(200, confidence), share_right(200, right))
            low, high = found.interval()
            unseen = 1 - beta.ppf(0.025, 200, 1)
            assert high - found.value == pytest.approx(unseen, rel=0.1)
            assert low == pytest.approx(max(0, found.value - unseen), abs=0.002)
        # Confidences that differ do not make an accuracy of 100 % any surer.
        spread = measured(metric, np.linspace(0.9, 1, 200), share_right(200, 200))
        assert spread.interval()[1] - spread.value == pytest.approx(unseen, rel=0.15)


def test_ece_of_a_bin_without_a_gap_varies() -> None:
    values = ece_values(np.full((10, 1), 0.5), share_right(10, 5)[:, None])
    assert values.mean() == 0 and values.std() == 0.5


@pytest.mark.parametrize("n", [10, 200])
def test_aurra_of_all_right_or_all_wrong_has_the_exact_interval(n: int) -> None:
    confidence = np.linspace(0.2, 0.9, n)
    assert measured("AURRA", confidence, share_right(n, n)).interval() == pytest.approx(
        (beta.ppf(0.025, n, 1), 1)
    )
    assert measured("AURRA", confidence, share_right(n, 0)).interval() == pytest.approx(
        (0, beta.ppf(0.975, 1, n))
    )


@pytest.mark.parametrize("metric", ["ECE", "RMS", "AURRA"])
def test_differences_carry_the_same_variance(metric: str) -> None:
    rng = np.random.default_rng(0)
    confidence = rng.choice([0.8, 0.95], 300)
    old, new = (rng.random(300) < confidence - gap for gap in (0.1, 0.2))
    change = estimate_difference(measured(metric, confidence, old), measured(metric, confidence, new))
    drawn = []
    for _ in range(400):
        rows = rng.integers(0, 300, 300)
        one, two = (measured(metric, confidence[rows], right[rows]).value for right in (old, new))
        drawn.append(two - one)
    width = change.end(0.975) - change.end(0.025)
    assert width == pytest.approx(2 * norm.ppf(0.975) * np.std(drawn), rel=0.15)
    # Two models that are always right need not be alike.
    perfect = measured(metric, np.full(300, 0.99), share_right(300, 300))
    other = measured(metric, np.full(300, 0.95), share_right(300, 300))
    same = estimate_difference(perfect, other)
    assert same.end(0.975) - same.end(0.025) > 3 / 300


@pytest.mark.parametrize("case", calibration_coverage.CASES, ids=lambda case: case.name)
def test_intervals_contain_the_expected_calibration_error(case: calibration_coverage.Case) -> None:
    found = calibration_coverage.coverage(case, 200, 300)
    # 2,000 simulations show 93 % and more: less three standard errors of 300. Calibrated models show 99 %.
    assert min(found.values()) >= 0.885, found
    assert case.calibrated or max(found.values()) <= 0.99, found


@pytest.mark.parametrize("n", [200, 1000])
def test_aurra_of_one_wrong_prediction_is_no_surer_than_of_none(n: int) -> None:
    """One error at the lowest confidence does not rule out errors at higher ones."""
    confidence = np.linspace(0.9, 0.2, n)
    low, high = measured("AURRA", confidence, np.arange(n) < n - 1).interval()
    assert low <= beta.ppf(0.025, n, 1) and high <= 1
    # By hand: the area is 1 - 1/n^2; its variance over area (1 - area) is 1/n^2; one image decides (K = 1).
    area, inverse, t = 1 - 1 / n**2, (1 / n**2 + 4 / n) / 3, student.ppf(0.975, n - 1)
    # Wilson's ends are the shares p that lie t standard errors from the area.
    for end in (low, high):
        assert abs(area - end) == pytest.approx(t * np.sqrt(end * (1 - end) * inverse), rel=0.02)


@pytest.mark.parametrize(
    "case",
    [case for case in calibration_coverage.ACCURATE if case.name.startswith("99 %")][:2],
    ids=lambda case: case.name,
)
def test_aurra_intervals_of_accurate_models_contain_the_expected_score(
    case: calibration_coverage.Case,
) -> None:
    (n,) = case.images
    found = calibration_coverage.coverage(case, n, 300, scores=("AURRA",))
    assert found["AURRA"] >= 0.905, found  # 2,000 simulations show 96 %: less four standard errors
