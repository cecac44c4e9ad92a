"""Correlations over models: Pearson's, Spearman's, partial, and those that shared terms cause by themselves.

A correlation is None where it is undefined: fewer than three pairs, or a vector that does not vary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from windtunnel.stats.bootstrap import REPLICATES, replicated_means
from windtunnel.stats.intervals import CONFIDENCE, Groups, unit_count

Floats = NDArray[np.float64]

# Significant digits of ranked values: values that differ by rounding alone are equal.
RANKED_DIGITS = 10
# Permuted correlations that differ from the observed one by less are equal to it.
SAME_CORRELATION = 1e-9
# Variation below this share of a vector's size is rounding.
ROUNDING = 1e-12
# Correlations are kept this far from -1 and 1 before Fisher's transformation.
EDGE = 1e-9
# Below this number of models, less the variables held constant, resamples of too few different models have
# correlations of -1 and 1 and inflate the bootstrap's spread.
FEWEST_BOOTSTRAPPED = 10
# Vectors that are bootstrapped together.
BLOCK = 256


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient, its two-sided p-value (Student's t) and its degrees of freedom."""

    r: float
    p: float
    freedom: int


def pearson(x: Floats, y: Floats) -> Correlation | None:
    """Pearson's correlation: r = cov(x, y) / (sd x sd y), t = r sqrt((n - 2) / (1 - r^2))."""
    return _correlation(_unit(x), _unit(y), len(x) - 2)


def spearman(x: Floats, y: Floats) -> Correlation | None:
    """Spearman's rank correlation: Pearson's of the ranks, ties at their mean rank.

    Values that differ by rounding alone, such as 0.9 - 0.6 and 0.8 - 0.5, are ties.
    """
    return pearson(average_ranks(_without_rounding(x)), average_ranks(_without_rounding(y)))


def _without_rounding(values: Floats) -> Floats:
    """The values with as many digits as can be trusted after a few operations."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < np.inf:
        return values
    return np.asarray(np.round(values / largest, RANKED_DIGITS), np.float64)


def average_ranks(values: Floats) -> Floats:
    """The rank of every value, 1 for the lowest; equal values have the mean of their ranks."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[place], np.float64)


def partial_correlation(x: Floats, y: Floats, given: Floats) -> Correlation | None:
    """The correlation of x and y given other variables, the columns of `given`.

    It is Pearson's of the residuals of two linear regressions on them, with n - 2 - rank degrees of freedom.
    For one variable z it equals (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)).
    """
    basis = _basis(given)
    left, right = (_unit(values - _projected(values, basis), float(np.ptp(values))) for values in (x, y))
    return _correlation(left, right, len(x) - 2 - basis.shape[1])


def correlation_matrix(left: Floats, right: Floats, given: Floats | None = None) -> tuple[Floats, Floats]:
    """Correlations of every column of `left` with every column of `right`, and their p-values.

    With `given` they are partial. NaN where they are undefined.
    """
    basis = np.empty((len(left), 0)) if given is None else _basis(given)
    freedom = len(left) - 2 - basis.shape[1]
    units = [
        np.stack([_unit_or_nan(column, basis) for column in columns.T], axis=1) for columns in (left, right)
    ]
    r = np.clip(units[0].T @ units[1], -1, 1)
    if freedom < 1:
        return np.full(r.shape, np.nan), np.full(r.shape, np.nan)
    with np.errstate(divide="ignore"):
        statistic = np.abs(r) * np.sqrt(freedom / (1 - r * r))
    return np.asarray(r, np.float64), np.asarray(2 * stdtr(freedom, -statistic), np.float64)


def varies(values: Floats) -> bool:
    """Whether values differ by more than rounding, so that they have correlations."""
    return _unit(values) is not None


def correlation_without_partial(x: Floats, y: Floats, given: Floats) -> float | None:
    """The correlation that x and y would have if their partial correlation given other variables were 0.

    It is cov(x^, y^) / (sd x sd y), x^ and y^ being the values fitted by the variables. For one variable z it
    is r_xz r_yz.
    """
    explained = float(matrix_without_partial(x[:, None], y[:, None], given)[0, 0])
    return explained if np.isfinite(explained) else None


def matrix_without_partial(left: Floats, right: Floats, given: Floats) -> Floats:
    """`correlation_without_partial` of every column of `left` with every column of `right`.

    NaN where it is undefined.
    """
    basis, nothing = _basis(given), np.empty((len(left), 0))
    fitted = [
        basis.T @ np.stack([_unit_or_nan(column, nothing) for column in columns.T], axis=1)
        for columns in (left, right)
    ]
    return np.asarray(np.clip(fitted[0].T @ fitted[1], -1, 1), np.float64)


def permuted_correlations(
    x: Floats, y: Floats, given: Floats, *, seed: int = 0, permutations: int = REPLICATES
) -> Floats:
    """Correlations of x and y if they shared nothing but a linear dependence on `given`.

    The residuals of x are shuffled among the models and regressed on `given` again (Freedman and Lane). Their
    correlation q with the residuals of y is a partial correlation under the null hypothesis. The result is
    r0 + q sqrt((1 - R_x^2)(1 - R_y^2)), with r0 from `correlation_without_partial` and R^2 the shares of
    variance that `given` explains. Without shuffling it is r. NaN where it is undefined.
    """
    basis = _basis(given)
    explained = correlation_without_partial(x, y, given)
    rest = [values - values.mean() - _projected(values - values.mean(), basis) for values in (x, y)]
    first, second = (_unit(part, float(np.ptp(values))) for part, values in zip(rest, (x, y), strict=True))
    if explained is None or first is None or second is None:
        return np.full(permutations, np.nan)
    unexplained = float(rest[0].std() * rest[1].std() / (x.std() * y.std()))
    order = np.argsort(np.random.default_rng(seed).random((permutations, len(x))), axis=1)
    shuffled = first[order]
    shuffled -= (shuffled @ basis) @ basis.T
    with np.errstate(divide="ignore", invalid="ignore"):
        partial = (shuffled @ second) / np.sqrt((shuffled**2).sum(axis=1))
    return np.asarray(explained + unexplained * partial, np.float64)


def shared_term_correlation(
    first_clean: Floats, first: Floats, second_clean: Floats, second: Floats
) -> float | None:
    """The expected correlation of two differences whose terms are independent but for the clean ones.

    corr(c1 - s, c2 - n) = cov(c1, c2) / sqrt((var c1 + var s)(var c2 + var n)), for s and n that depend
    neither on clean accuracy nor on each other.
    """
    variances = [float(np.var(values)) for values in (first_clean, first, second_clean, second)]
    scale = (variances[0] + variances[1]) * (variances[2] + variances[3])
    shared = float(np.mean((first_clean - first_clean.mean()) * (second_clean - second_clean.mean())))
    return shared / scale**0.5 if scale > 0 else None


def correlation_replicates(
    left: Floats,
    right: Floats,
    *,
    given: Floats | None = None,
    groups: Groups = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Iterator[tuple[int, Floats]]:
    """Bootstrap replicates of the correlations of every column of `left` with every column of `right`.

    Models, or groups of models, are resampled. Yields the first column of a block of `left`, and the
    correlations (replicates, columns of the block, columns of `right`). With `given`, they are partial.
    """
    right = _centred(right)
    fixed = right if given is None else np.hstack([right, _basis(given)])
    for start in range(0, left.shape[1], BLOCK):
        block = _centred(left[:, start : start + BLOCK])
        blocks = [
            _correlations_of_means(means, block.shape[1], fixed.shape[1], right.shape[1])
            for means in replicated_means(
                _moments(block, fixed), groups=groups, seed=seed, replicates=replicates
            )
        ]
        yield start, np.concatenate(blocks)


def correlation_interval(
    value: float,
    replicates: Floats,
    models: int,
    groups: Groups = None,
    controls: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """The interval of a correlation from bootstrap replicates, on Fisher's scale; Fisher's for few models.

    tanh(artanh r -+ t sd), with the replicates' standard deviation of artanh r and Student's quantile at
    units - 1. In simulations with 8 to 100 models, nominal 95 % intervals cover 92 to 99 % for normal and
    uniform values, and 87 to 99 % for heavy tails (Student's t, 3 degrees of freedom). They are widest for
    few models. Percentiles cover 87 to 96 %. [-1, 1] for fewer than three models or groups.

    With fewer than 10 models beyond the `controls` variables held constant, and no groups, it is Fisher's:
    tanh(artanh r -+ 1.96 / sqrt(models - controls - 3)). [-1, 1] if the root is not positive.
    """
    if is_fishers(models, groups, controls):
        freedom = models - controls - 3
        if freedom < 1:
            return -1.0, 1.0
        return _around(value, float(ndtri((1 + confidence) / 2)) / freedom**0.5)
    finite = replicates[np.isfinite(replicates)]
    units = unit_count(models, groups)
    if units < 3 or len(finite) < 2:
        return -1.0, 1.0
    spread = float(_fisher(finite).std())
    reach = float(stdtrit(units - 1, (1 + confidence) / 2)) * spread
    return _around(value, reach)


def is_fishers(models: int, groups: Groups = None, controls: int = 0) -> bool:
    """Whether an interval of a correlation is Fisher's, because there are too few models for a bootstrap."""
    return groups is None and models - controls < FEWEST_BOOTSTRAPPED


def _around(value: float, reach: float) -> tuple[float, float]:
    """The correlations at a distance from another on Fisher's scale."""
    centre = float(_fisher(np.array([value]))[0])
    return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))


def _fisher(values: Floats) -> Floats:
    return np.arctanh(np.clip(values, EDGE - 1, 1 - EDGE))


def _unit(values: Floats, size: float | None = None) -> Floats | None:
    """The values minus their mean, of length 1; None if only rounding makes them vary."""
    away = values - values.mean()
    length = float(np.sqrt((away**2).sum()))
    scale = float(np.abs(values).max(initial=0.0)) if size is None else size
    return away / length if length > ROUNDING * max(scale, 1e-300) * len(values) ** 0.5 else None


def _unit_or_nan(values: Floats, basis: Floats) -> Floats:
    """The residuals of values given a basis, of length 1; NaN if only rounding makes them vary."""
    centred = values - values.mean()
    unit = _unit(centred - _projected(centred, basis), float(np.ptp(values)))
    return np.full(len(values), np.nan) if unit is None else unit


def _correlation(x: Floats | None, y: Floats | None, freedom: int) -> Correlation | None:
    if x is None or y is None or freedom < 1:
        return None
    r = float(np.clip(x @ y, -1, 1))
    if abs(r) == 1:
        return Correlation(r, 0.0, freedom)
    statistic = r * (freedom / (1 - r * r)) ** 0.5
    return Correlation(r, float(2 * stdtr(freedom, -abs(statistic))), freedom)


def _centred(columns: Floats) -> Floats:
    return np.asarray(columns - columns.mean(axis=0), np.float64)


def _basis(given: Floats) -> Floats:
    """Orthonormal columns that span the variables, without their means; dependent ones are left out."""
    centred = _centred(np.asarray(given, np.float64).reshape(len(given), -1))
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-10 * max(1e-300, float(np.abs(given).max(initial=0.0)))], np.float64)


def _projected(values: Floats, basis: Floats) -> Floats:
    return np.asarray(basis @ (basis.T @ values), np.float64)


def _moments(block: Floats, fixed: Floats) -> Floats:
    """Columns whose means are the first and second moments of each column of a block with the fixed ones."""
    among = [fixed[:, [place]] * fixed[:, place:] for place in range(fixed.shape[1])]
    crossed = [block * fixed[:, [place]] for place in range(fixed.shape[1])]
    return np.hstack([block, block**2, fixed, *among, *crossed])


def _correlations_of_means(means: Floats, count: int, fixed: int, targets: int) -> Floats:
    """Correlations (replicates, columns, targets) from the means of `_moments`; partial given the rest."""
    ends = np.cumsum([count, count, fixed, fixed * (fixed + 1) // 2])
    first, second, fixed_means, among, crossed = np.split(means, ends, axis=1)
    replicates = len(means)
    # Covariances of the fixed variables with each other, and of the block's columns with them.
    covariance = np.empty((replicates, fixed, fixed))
    upper = np.triu_indices(fixed)
    covariance[:, upper[0], upper[1]] = among
    covariance[:, upper[1], upper[0]] = among
    covariance -= fixed_means[:, :, None] * fixed_means[:, None, :]
    cross = crossed.reshape(replicates, fixed, count) - fixed_means[:, :, None] * first[:, None, :]
    variance = second - first**2
    controls = covariance[:, targets:, targets:]
    target_variance = np.diagonal(covariance, axis1=1, axis2=2)[:, :targets].copy()
    joint = cross[:, :targets].copy()
    if fixed > targets:
        solved = np.linalg.pinv(controls, hermitian=True) @ cross[:, targets:]
        variance = variance - (cross[:, targets:] * solved).sum(axis=1)
        onto = covariance[:, :targets, targets:]
        joint -= onto @ solved
        target_variance -= ((onto @ np.linalg.pinv(controls, hermitian=True)) * onto).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = joint / np.sqrt(target_variance[:, :, None] * variance[:, None, :])
    return np.asarray(np.clip(found, -1, 1).transpose(0, 2, 1), np.float64)
