"""Fits of shifted against clean accuracy, against SciPy and hand-worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from scipy.special import expit, logit

from windtunnel.stats.accuracy_fits import fit_accuracies, fit_band, from_axis, on_axis, student_band


def kinked(count: int, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies whose logits bend at a clean logit of 1 (73.1 %): slope 0.4 below it, 2 above."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-0.5, 2.5, count)
    y = -3 + 0.4 * x + 1.6 * np.maximum(0, x - 1) + noise * rng.normal(size=count)
    return expit(x), expit(y)


def test_axes_are_log_odds_and_normal_quantiles() -> None:
    assert float(on_axis(0.75, "logit")) == pytest.approx(math.log(3))
    assert float(on_axis(0.975, "probit")) == pytest.approx(1.959964, abs=1e-6)
    for axis in ("logit", "probit"):
        assert float(from_axis(on_axis(0.3, axis), axis)) == pytest.approx(0.3)


def test_a_probit_line_is_scipys() -> None:
    rng = np.random.default_rng(0)
    clean = rng.uniform(0.5, 0.95, 30)
    shifted = scipy.stats.norm.cdf(-0.4 + 0.9 * scipy.stats.norm.ppf(clean) + 0.1 * rng.normal(size=30))
    fit = fit_accuracies(clean, shifted, axis="probit")
    expected = scipy.stats.linregress(scipy.stats.norm.ppf(clean), scipy.stats.norm.ppf(shifted))
    assert fit is not None
    assert (fit.slope, fit.intercept, fit.correlation) == pytest.approx(
        (expected.slope, expected.intercept, expected.rvalue)
    )
    assert fit.shifted_at(0.7) == pytest.approx(
        scipy.stats.norm.cdf(expected.intercept + expected.slope * scipy.stats.norm.ppf(0.7))
    )


def test_two_pieces_without_noise_are_found_exactly() -> None:
    clean, shifted = kinked(61, 0)
    fit = fit_accuracies(clean, shifted, pieces=2, breakpoint=float(expit(1)))
    assert fit is not None and fit.breakpoint == pytest.approx(float(expit(1)))
    assert (fit.slope, fit.bend, fit.intercept) == pytest.approx((0.4, 1.6, -3))
    assert fit.error == pytest.approx(0, abs=1e-6)
    # At the breakpoint both pieces meet: logit -2.6.
    assert fit.shifted_at(float(expit(1))) == pytest.approx(float(expit(-2.6)))
    assert fit.shifted_at(float(expit(2))) == pytest.approx(float(expit(-0.6)))


def test_two_pieces_are_those_of_nonlinear_least_squares() -> None:
    clean, shifted = kinked(200, 0.15)
    x, y = logit(clean), logit(shifted)

    def pieces(x: np.ndarray, a: float, b: float, c: float, knot: float) -> np.ndarray:
        return a + b * x + c * np.maximum(0, x - knot)

    expected, _ = scipy.optimize.curve_fit(pieces, x, y, p0=(-3, 0.5, 1, 0.8))
    fit = fit_accuracies(clean, shifted, pieces=2)
    line = fit_accuracies(clean, shifted)
    assert fit is not None and line is not None and fit.breakpoint is not None
    assert logit(fit.breakpoint) == pytest.approx(expected[3], abs=0.05)
    assert (fit.intercept, fit.slope, fit.bend) == pytest.approx(expected[:3], abs=0.05)
    assert fit.error < line.error
    least = float(np.sqrt(np.mean((y - pieces(x, *expected)) ** 2)))
    assert fit.error == pytest.approx(least, rel=0.01)


def test_a_given_breakpoint_is_ordinary_least_squares() -> None:
    clean, shifted = kinked(50, 0.3)
    x, y = logit(clean), logit(shifted)
    design = np.column_stack([np.ones(50), x, np.maximum(0, x - logit(0.8))])
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    fit = fit_accuracies(clean, shifted, pieces=2, breakpoint=0.8)
    assert fit is not None
    assert (fit.intercept, fit.slope, fit.bend) == pytest.approx(tuple(expected))
    assert fit.error == pytest.approx(float(np.sqrt(np.mean((y - design @ expected) ** 2))))


def test_the_limits_of_two_pieces_follow_their_own_slopes() -> None:
    clean, shifted = kinked(61, 0)
    fit = fit_accuracies(clean, 1 - shifted, pieces=2, breakpoint=float(expit(1)))
    assert fit is not None and (fit.shifted_at(0), fit.shifted_at(1)) == (1, 0)


def test_too_few_models_have_no_two_pieces() -> None:
    clean, shifted = kinked(8, 0)
    assert fit_accuracies(clean, shifted, pieces=2) is None
    assert fit_accuracies(clean, shifted, pieces=2, breakpoint=0.999) is None
    assert fit_accuracies(clean, shifted) is not None


def test_a_band_is_that_of_refitted_resamples() -> None:
    rng = np.random.default_rng(0)
    clean = rng.uniform(0.5, 0.9, 25)
    shifted = expit(-1 + 0.8 * logit(clean) + 0.2 * rng.normal(size=25))
    band = fit_band(clean, shifted, replicates=200)
    drawn = np.random.default_rng(0)
    for coefficients in band.coefficients:
        rows = drawn.integers(0, 25, 25)
        expected = scipy.stats.linregress(logit(clean[rows]), logit(shifted[rows]))
        assert coefficients[:2] == pytest.approx((expected.intercept, expected.slope))
    at = np.array([0.6, 0.8])
    low, high = band.ends(at)
    lines = expit(band.coefficients[:, [0]] + band.coefficients[:, [1]] * logit(at))
    assert low == pytest.approx(np.quantile(lines, 0.025, axis=0))
    assert high == pytest.approx(np.quantile(lines, 0.975, axis=0))


def test_breakpoints_vary_with_the_models() -> None:
    clean, shifted = kinked(80, 0.3)
    band = fit_band(clean, shifted, pieces=2, replicates=200)
    assert np.std(band.knots) > 0
    assert abs(float(np.median(band.knots)) - 1) < 0.3
    fixed = fit_band(clean, shifted, pieces=2, breakpoint=0.75, replicates=50)
    assert set(fixed.knots) == {float(logit(0.75))}


def test_a_breakpoint_among_the_lowest_models_is_found() -> None:
    """4 % of 500 models lie below the bend, as for sets that a network of low accuracy filtered."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.linspace(-1, 1, 20), np.linspace(1, 3, 480)])
    y = -3 + 2.5 * np.maximum(0, x - 1) + 0.02 * rng.normal(size=500)

    def squares(knot: float) -> float:
        design = np.column_stack([np.ones(500), x, np.maximum(0, x - knot)])
        return float(np.linalg.lstsq(design, y, rcond=None)[1][0])

    best = scipy.optimize.minimize_scalar(squares, bounds=(-0.5, 2.5), method="bounded")
    fit = fit_accuracies(expit(x), expit(y), pieces=2)
    assert fit is not None and fit.breakpoint is not None
    assert logit(fit.breakpoint) == pytest.approx(best.x, abs=0.03)
    assert not fit.at_search_limit


def test_a_breakpoint_at_the_limit_of_the_search_is_marked() -> None:
    """The bend lies below all but two models, where no breakpoint is tried."""
    x = np.concatenate([[-3.0, -2.5], np.linspace(0, 2, 98)])
    y = -3 + 2.5 * np.maximum(0, x + 1)
    fit = fit_accuracies(expit(x), expit(y), pieces=2)
    assert fit is not None and fit.at_search_limit
    given = fit_accuracies(expit(x), expit(y), pieces=2, breakpoint=float(expit(-1)))
    assert given is not None and not given.at_search_limit and given.error < fit.error


def test_the_band_of_few_models_is_the_textbooks() -> None:
    """At a clean accuracy of 50 % the logit is 0, and the band is the interval of the intercept."""
    clean = np.array([0.4, 0.55, 0.7, 0.8])
    shifted = np.array([0.2, 0.35, 0.45, 0.62])
    fit = scipy.stats.linregress(logit(clean), logit(shifted))
    reach = scipy.stats.t.ppf(0.975, 2) * fit.intercept_stderr
    low, high = student_band(clean, shifted).ends(np.array([0.5]))
    assert (low[0], high[0]) == pytest.approx(tuple(expit(fit.intercept + np.array([-reach, reach]))))
