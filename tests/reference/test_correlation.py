"""Correlations and their controls, against SciPy, regressions, hand-worked examples and simulations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LinearRegression

from windtunnel.stats.correlation import (
    average_ranks,
    correlation_interval,
    correlation_matrix,
    correlation_replicates,
    correlation_without_partial,
    partial_correlation,
    pearson,
    permuted_correlations,
    shared_term_correlation,
    spearman,
)
from windtunnel.stats.line_band import line_band


@pytest.fixture
def world() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two vectors that depend on two others and on each other."""
    rng = np.random.default_rng(1)
    given = rng.normal(size=(40, 2))
    x = given @ [1, 0.5] + rng.normal(size=40)
    return x, given @ [0.7, -1] + 0.4 * x + rng.normal(size=40), given


def test_pearson_and_spearman_are_scipys(world: tuple[np.ndarray, ...]) -> None:
    x, y, _ = world
    for ours, theirs in (
        (pearson(x, y), scipy.stats.pearsonr(x, y)),
        (spearman(np.round(x), np.round(y)), scipy.stats.spearmanr(np.round(x), np.round(y))),
    ):
        assert ours is not None
        assert (ours.r, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert average_ranks(np.array([3.0, 1, 3, 2])).tolist() == [3.5, 1, 3.5, 2]


def test_a_correlation_by_hand() -> None:
    """x = 1, 2, 3, 4 and y = 1, 3, 2, 4: covariance 1, both variances 1.25, r = 0.8."""
    found = pearson(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    assert found is not None and found.r == pytest.approx(0.8)


def test_partial_correlation_is_that_of_regression_residuals(world: tuple[np.ndarray, ...]) -> None:
    x, y, given = world
    rest = [values - LinearRegression().fit(given, values).predict(given) for values in (x, y)]
    found = partial_correlation(x, y, given)
    expected = scipy.stats.pearsonr(*rest).statistic
    assert found is not None and found.r == pytest.approx(expected)
    # 40 models, two vectors, two controls.
    assert found.freedom == 36
    t = expected * (36 / (1 - expected**2)) ** 0.5
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(t, 36))


def test_partial_correlation_by_hand() -> None:
    """r_xy = 0.8, r_xz = 0.6, r_yz = 0.4: (0.8 - 0.24) / sqrt(0.64 * 0.84) = 0.7638."""
    rows = np.linalg.cholesky(np.array([[1, 0.8, 0.6], [0.8, 1, 0.4], [0.6, 0.4, 1]]))
    basis = np.linalg.qr(np.column_stack([np.ones(9), np.random.default_rng(0).normal(size=(9, 3))]))[0][
        :, 1:
    ]
    x, y, z = (basis @ rows.T).T
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.8)
    found = partial_correlation(x, y, z)
    assert found is not None and found.r == pytest.approx(0.56 / (0.64 * 0.84) ** 0.5)
    # What the third variable alone would give: 0.6 * 0.4.
    assert correlation_without_partial(x, y, z) == pytest.approx(0.24)
    # A control that repeats another one changes nothing, nor does it cost a degree of freedom.
    assert partial_correlation(x, y, np.column_stack([z, 2 * z])) == found


def test_what_does_not_vary_has_no_correlation() -> None:
    x = np.array([1.0, 2, 3, 5])
    assert pearson(x, np.full(4, 0.3)) is None
    assert pearson(x[:2], x[:2]) is None
    assert partial_correlation(x, x + 1, x) is None
    r, p = correlation_matrix(np.column_stack([x, np.full(4, 0.3)]), x[:, None])
    assert r[0, 0] == pytest.approx(1) and np.isnan(r[1, 0]) and np.isnan(p[1, 0])


def test_a_matrix_has_the_single_correlations(world: tuple[np.ndarray, ...]) -> None:
    x, y, given = world
    for controls in (None, given):
        r, p = correlation_matrix(np.column_stack([x, x**2]), np.column_stack([y, y**3]), controls)
        for row, left in enumerate((x, x**2)):
            for column, right in enumerate((y, y**3)):
                single = (
                    pearson(left, right) if controls is None else partial_correlation(left, right, controls)
                )
                assert single is not None
                assert (r[row, column], p[row, column]) == pytest.approx((single.r, single.p))


def test_the_shared_clean_term_alone_correlates_drops_as_simulated() -> None:
    """Accuracies that know nothing of each other: both drops subtract from the same clean accuracy."""
    rng = np.random.default_rng(2)
    clean = rng.normal(0.7, 0.06, 40)
    first, second = rng.normal(0.5, 0.04, 40), rng.normal(0.4, 0.09, 40)
    expected = shared_term_correlation(clean, first, clean, second)
    drawn = [
        np.corrcoef(clean - rng.permutation(first), clean - rng.permutation(second))[0, 1]
        for _ in range(4000)
    ]
    assert expected == pytest.approx(float(np.mean(drawn)), abs=0.01)
    # By hand: equal variances of clean and shifted accuracies give 1/2.
    signs = [np.array(row, float) for row in ([1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1])]
    assert shared_term_correlation(signs[0], signs[1], signs[0], signs[2]) == pytest.approx(0.5)
    # With different clean accuracies only their covariance is shared.
    assert shared_term_correlation(signs[0], signs[1], signs[1], signs[2]) == pytest.approx(0)


def test_shuffled_residuals_give_what_clean_accuracy_alone_explains() -> None:
    rng = np.random.default_rng(3)
    clean = rng.normal(size=300)
    x, y = clean + rng.normal(size=300), 2 * clean + rng.normal(size=300)
    expected = correlation_without_partial(x, y, clean)
    shuffled = permuted_correlations(x, y, clean)
    # r_xc r_yc = 1/sqrt(2) * 2/sqrt(5) = 0.632 in the population.
    assert expected == pytest.approx(0.632, abs=0.05)
    assert float(shuffled.mean()) == pytest.approx(expected, abs=0.01)


def test_shuffled_residuals_spread_as_partial_correlations_do() -> None:
    """A null partial correlation has variance 1 / (freedom + 1); r moves by it times what is unexplained.

    r_xc = 0.7 and r_yc = 0.95: shuffles that kept the dependence on clean accuracy would spread too widely.
    """
    rng = np.random.default_rng(3)
    clean = rng.normal(size=60)
    x, y = clean + rng.normal(size=60), 3 * clean + rng.normal(size=60)
    shuffled = permuted_correlations(x, y, clean)
    unexplained = (1 - np.corrcoef(x, clean)[0, 1] ** 2) * (1 - np.corrcoef(y, clean)[0, 1] ** 2)
    assert float(shuffled.std()) == pytest.approx((unexplained / 58) ** 0.5, rel=0.05)
    # Predictor and target can be exchanged.
    exchanged = permuted_correlations(y, x, clean)
    assert float(exchanged.std()) == pytest.approx(float(shuffled.std()), rel=0.07)
    assert np.isnan(permuted_correlations(clean, y, clean)).all()


def test_replicates_are_those_of_resampled_models(world: tuple[np.ndarray, ...]) -> None:
    x, y, given = world
    for controls in (None, given):
        ((_, found),) = correlation_replicates(
            np.column_stack([x, x**2]), y[:, None], given=controls, replicates=50
        )
        rng = np.random.default_rng(0)
        for replicate in found:
            rows = rng.integers(0, 40, 40)
            for place, left in enumerate((x, x**2)):
                single = (
                    pearson(left[rows], y[rows])
                    if controls is None
                    else partial_correlation(left[rows], y[rows], controls[rows])
                )
                assert single is not None and replicate[place, 0] == pytest.approx(single.r)


def test_intervals_cover_the_true_correlation() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        x = rng.normal(size=15)
        y = 0.7 * x + (1 - 0.49) ** 0.5 * rng.normal(size=15)
        ((_, replicates),) = correlation_replicates(x[:, None], y[:, None], replicates=400)
        low, high = correlation_interval(float(np.corrcoef(x, y)[0, 1]), replicates[:, 0, 0], 15)
        hits += low <= 0.7 <= high
    assert hits >= 180


def test_families_are_resampled_as_a_whole(world: tuple[np.ndarray, ...]) -> None:
    """Every model listed five times: only resampling families knows that nothing was learned."""
    x, y, _ = (np.repeat(values, 5, axis=0) for values in world)
    groups = np.repeat(np.arange(40), 5)
    widths = []
    for units in (None, groups):
        ((_, replicates),) = correlation_replicates(x[:, None], y[:, None], groups=units)
        low, high = correlation_interval(float(np.corrcoef(x, y)[0, 1]), replicates[:, 0, 0], 200, units)
        widths.append(high - low)
    assert widths[1] > 1.8 * widths[0]


def test_the_band_of_a_line_is_the_textbooks() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=20)
    y = 1 + 2 * x + rng.normal(size=20)
    grid, middle, low, high = (np.array(values) for values in line_band(x, y))
    fit = scipy.stats.linregress(x, y)
    assert middle == pytest.approx(fit.intercept + fit.slope * grid)
    # At x = 0 the band is the interval of the intercept.
    at_zero = np.interp(0, grid, high - middle)
    assert at_zero == pytest.approx(scipy.stats.t.ppf(0.975, 18) * fit.intercept_stderr, rel=0.02)
    assert high - middle == pytest.approx(middle - low)


def test_few_models_have_fishers_interval() -> None:
    """Against SciPy, and by hand for a partial correlation: one variable held constant costs one model."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=6)
    y = x + 0.3 * rng.normal(size=6)
    ((_, replicates),) = correlation_replicates(x[:, None], y[:, None])
    expected = scipy.stats.pearsonr(x, y)
    ends = correlation_interval(float(expected.statistic), replicates[:, 0, 0], 6)
    assert ends == pytest.approx(tuple(expected.confidence_interval(0.95)))
    # tanh(artanh 0.5 -+ 1.96 / sqrt(7 - 1 - 3)) = tanh(0.5493 -+ 1.1316)
    assert correlation_interval(0.5, replicates[:, 0, 0], 7, controls=1) == pytest.approx(
        (-0.5243, 0.9329), abs=5e-4
    )
    assert correlation_interval(0.5, replicates[:, 0, 0], 4, controls=1) == (-1, 1)


def test_an_interval_of_six_models_agrees_with_the_p_value() -> None:
    """r = 0.95 of six models has p 0.004: the interval excludes 0."""
    x = np.array([0.0, 1, 2, 3, 4, 5])
    y = np.array([0.0, 1.5, 1.2, 3.4, 3.1, 5.5])
    found = pearson(x, y)
    ((_, replicates),) = correlation_replicates(x[:, None], y[:, None])
    assert found is not None and found.p < 0.01
    assert correlation_interval(found.r, replicates[:, 0, 0], 6)[0] > 0.4
