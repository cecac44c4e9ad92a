"""Standard deviation and range over methods without what chance adds: covariances, ends worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from windtunnel.stats.bootstrap import replicated_means
from windtunnel.stats.spread import noise_variance, range_interval, std_interval


def answers(seed: int, n: int, methods: int) -> np.ndarray:
    """Right or wrong: methods that share most of what decides."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, methods)) < 0.5


def drawn(columns: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    return np.concatenate(list(replicated_means(columns, groups=groups)))


def test_the_noise_is_the_trace_of_the_covariance_of_what_differs() -> None:
    columns = answers(0, 300, 5)
    # Var(mean of x_j - row mean) summed over j: the trace of C S C / n, C centring, S the covariance.
    centring = np.eye(5) - 1 / 5
    wanted = np.trace(centring @ np.cov(columns.T) @ centring) / 300 / 4
    assert noise_variance(columns) == pytest.approx(wanted)


def test_chance_adds_that_much_to_the_variance_of_equal_methods() -> None:
    found = [(columns.mean(axis=0).var(ddof=1), noise_variance(columns))
             for columns in (answers(seed, 200, 6) for seed in range(400))]  # fmt: skip
    variance, noise = np.mean(found, axis=0)
    assert noise == pytest.approx(variance, rel=0.1)


def test_groups_that_flip_together_add_as_many_times_more() -> None:
    few = answers(1, 60, 4)
    groups = np.repeat(np.arange(60), 5)
    assert noise_variance(few.repeat(5, axis=0), groups) == pytest.approx(noise_variance(few))
    assert noise_variance(few.repeat(5, axis=0)) < noise_variance(few) / 4


@pytest.mark.parametrize("n", [50, 200])
def test_where_nothing_flips_some_could_have(n: int) -> None:
    columns = np.repeat(np.arange(n)[:, None] % 3 > 0, 4, axis=1)
    # Wilson's upper end of 0 of n; two methods at either end of that range.
    quantile = t.ppf(0.975, n - 1)
    share = quantile**2 / (n + quantile**2)
    low, high = std_interval(columns, drawn(columns))
    assert (low, high) == (0, pytest.approx(np.std([0, 0, share, share], ddof=1)))
    assert range_interval(columns, drawn(columns)) == (0, pytest.approx(share))


def test_of_two_methods_both_are_intervals_of_their_difference() -> None:
    columns = answers(2, 4000, 2)
    columns[:300, 1] = ~columns[:300, 1] | columns[:300, 0]
    change = columns[:, 1].astype(float) - columns[:, 0]
    value, error = abs(change.mean()), change.std(ddof=1) / np.sqrt(4000)
    # Chance moves the difference down either way round: 2.5 % in both tails together.
    down, up = value - norm.ppf(1 - 0.0125) * error, value + t.ppf(0.975, 3999) * error
    low, high = range_interval(columns, drawn(columns))
    assert (low, high) == (pytest.approx(down, rel=0.1), pytest.approx(up, rel=0.05))
    low, high = std_interval(columns, drawn(columns))
    assert (low, high) == (
        pytest.approx(down / np.sqrt(2), rel=0.1),
        pytest.approx(up / np.sqrt(2), rel=0.05),
    )


def test_one_image_says_nothing() -> None:
    columns = np.array([[True, False, True]])
    assert std_interval(columns, drawn(columns)) == (pytest.approx(np.std([1, 0, 1], ddof=1)),) * 2
    assert range_interval(columns, drawn(columns)) == (1, 1)
