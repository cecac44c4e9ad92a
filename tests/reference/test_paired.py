"""Paired differences, exact intervals, Holm, ranks: hand-worked, enumerated, and by other means."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta, binomtest, norm, ttest_1samp, wilcoxon

from windtunnel.stats.bootstrap import bootstrap_interval, replicated_means
from windtunnel.stats.estimates import Shares, Symmetric
from windtunnel.stats.intervals import clopper_pearson, variance_of_mean
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import holm
from windtunnel.stats.paired import (
    estimate_difference,
    mcnemar,
    no_difference,
    paired_difference,
    signed_rank,
    unpaired_difference,
)
from windtunnel.stats.ranks import Rank, places, rank_models


def answers(both_right: int, broken: int, mended: int, both_wrong: int) -> tuple[Measure, Measure]:
    counts = (both_right, broken, mended, both_wrong)
    old, new = (
        np.repeat(row, counts)[:, None] for row in ([False, False, True, True], [False, True, False, True])
    )
    return measure(old), measure(new)


def measure(columns: np.ndarray, weights: np.ndarray | None = None, combine: object = None) -> Measure:
    return Measure("error", "", "", (), columns, weights, combine)  # type: ignore[arg-type]


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (56, 200), (0, 1), (1, 1)])
def test_clopper_pearson_is_scipys(successes: int, n: int) -> None:
    wanted = binomtest(successes, n).proportion_ci(method="exact")
    assert clopper_pearson(successes, n) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    if 0 < successes < n:
        assert clopper_pearson(successes, n, 0.9)[0] == pytest.approx(
            beta.ppf(0.05, successes, n - successes + 1)
        )


@pytest.mark.parametrize(("broken", "mended"), [(0, 0), (1, 0), (3, 3), (7, 1), (2, 9), (0, 12)])
def test_mcnemar_by_enumeration(broken: int, mended: int) -> None:
    total = broken + mended
    outcomes = [sum(flips) for flips in product((0, 1), repeat=total)]
    fewer = min(broken, mended)
    at_most = sum(one <= fewer for one in outcomes) / len(outcomes)
    equal = sum(one == fewer for one in outcomes) / len(outcomes)
    assert mcnemar(broken, mended, "exact") == pytest.approx(min(1.0, 2 * at_most) if total else 1.0)
    assert mcnemar(broken, mended) == pytest.approx(min(1.0, 2 * at_most - equal) if total else 1.0)
    if total:
        assert mcnemar(broken, mended, "exact") == pytest.approx(binomtest(broken, total).pvalue)


@pytest.mark.parametrize("ties", [False, True])
def test_signed_ranks_are_scipys(ties: bool) -> None:
    rng = np.random.default_rng(7)
    for count in (5, 40, 300):
        change = rng.normal(0.2, 1, count)
        change = np.round(change, 1) if ties else change
        known = wilcoxon(change, zero_method="wilcox", correction=False, method="approx")
        z, p = signed_rank(change)
        assert p == pytest.approx(float(known.pvalue), rel=1e-9)
        assert (z > 0) == (change.mean() > 0) or abs(z) < 1
    assert signed_rank(np.zeros(4)) == (0.0, 1.0)


@pytest.mark.parametrize("count", [5, 6, 7, 10, 16, 25])
def test_signed_ranks_against_the_exact_test(count: int) -> None:
    """The p of every rank sum that `count` values without ties can have."""
    too_small = []
    for ranks in one_side_loses(count):
        change = np.arange(1.0, count + 1)
        change[[rank - 1 for rank in ranks]] *= -1
        approximate = signed_rank(change)[1]
        exact = float(wilcoxon(change, method="exact").pvalue)
        assert approximate >= exact or approximate > 0.01
        if 0.04 <= approximate <= 0.06:
            too_small.append(exact - approximate)
    worst = {5: 0.0194, 6: 0.0161}
    assert (
        max(too_small) == pytest.approx(worst[count], abs=1e-4) if count in worst else max(too_small) < 0.006
    )


def one_side_loses(count: int) -> Iterator[list[int]]:
    """For every rank sum up to half of all, some ranks that have it."""
    for total in range(count * (count + 1) // 4 + 1):
        ranks, left = [], total
        for rank in range(count, 0, -1):
            if rank <= left:
                ranks.append(rank)
                left -= rank
        yield ranks


def test_tango_on_published_data() -> None:
    # Fagerland, Lydersen & Laake (2014), airway data of 21 children: -0.286, Tango -0.517 to -0.026.
    found = paired_difference(*answers(1, 1, 7, 12))
    assert (found.value, found.low, found.high) == pytest.approx((-0.286, -0.517, -0.026), abs=6e-4)
    assert found.p == pytest.approx(0.0391, abs=1e-4)  # their McNemar mid-p
    assert found.test == "McNemar, mid-p"
    assert (found.n, found.discordant, found.effect) == (21, 8, pytest.approx(1.5 / 7.5))
    assert found.effect_name == "odds ratio of discordant images"


@pytest.mark.parametrize(
    ("up", "down", "n"), [(0.1, 0.04, 100), (0.0, 0.03, 200), (0.2, 0.2, 50), (0.0, 0.0, 80)]
)
def test_score_intervals_against_a_constrained_likelihood(up: float, down: float, n: int) -> None:
    def statistic(limit: float) -> float:
        def loss(q: float) -> float:
            cells = ((up, q + limit), (down, q), (1 - up - down, 1 - 2 * q - limit))
            return -sum(share * np.log(max(chance, 1e-300)) for share, chance in cells if share)

        bounds = (max(0.0, -limit), (1 - limit) / 2)
        q = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        return (up - down - limit) / np.sqrt((2 * q + limit - limit**2) / n)

    found = Shares(up, down, n, 0, "")
    for level, sign in ((0.025, 1), (0.975, -1)):
        span = (-0.9, up - down - 1e-6) if sign == 1 else (up - down + 1e-6, 0.9)
        wanted = brentq(lambda limit, sign=sign: statistic(limit) - sign * norm.ppf(0.975), *span)
        assert found.end(level) == pytest.approx(wanted, abs=1e-4)
    assert found.above(found.end(0.025)) == pytest.approx(0.025)


def test_differences_of_means_are_students() -> None:
    rng = np.random.default_rng(0)
    old, new = rng.normal(0, 1, (40, 2)), rng.normal(0.3, 1, (40, 2))
    weights = np.array([2.0, -1.0])
    found = paired_difference(measure(old, weights), measure(new, weights))
    wanted = ttest_1samp((new - old) @ weights, 0)
    interval = wanted.confidence_interval()
    assert (found.low, found.high, found.p) == pytest.approx((interval.low, interval.high, wanted.pvalue))
    assert found.effect == pytest.approx(
        ((new - old) @ weights).mean() / ((new - old) @ weights).std(ddof=1), rel=0.02
    )


def test_many_conditions_are_worth_between_images_and_answers() -> None:
    rng = np.random.default_rng(0)
    column = rng.random((300, 1)) < 0.3
    flipped = column ^ (rng.random((300, 1)) < 0.1)
    weights = np.full(4, 0.25)
    alike = estimate_difference(measure(np.tile(column, 4), weights), measure(np.tile(flipped, 4), weights))
    one = estimate_difference(measure(column), measure(flipped))
    assert alike.value == pytest.approx(one.value)
    assert alike.end(0.025) == pytest.approx(one.end(0.025), abs=1e-3)  # Student's for the normal quantile
    old = rng.random((300, 4)) < 0.3
    new = old ^ (rng.random((300, 4)) < 0.1)
    width = lambda found: found.end(0.975) - found.end(0.025)  # noqa: E731
    assert width(estimate_difference(measure(old, weights), measure(new, weights))) < 0.7 * width(one)


def test_bootstrapped_differences_agree_with_the_linear_ones() -> None:
    rng = np.random.default_rng(0)
    old, new = (rng.random((400, 3)) < 0.3), (rng.random((400, 3)) < 0.4)
    weights = np.array([0.5, 0.3, 0.2])
    linear = paired_difference(measure(old, weights), measure(new, weights))
    by_draws = paired_difference(
        measure(old, combine=lambda means: means @ weights),
        measure(new, combine=lambda means: means @ weights),
    )
    assert by_draws.value == pytest.approx(linear.value)
    assert (by_draws.low, by_draws.high) == pytest.approx((linear.low, linear.high), abs=4e-3)
    assert by_draws.test == "paired bootstrap over images"


def test_errors_less_clean_errors_are_tangos() -> None:
    # The same children as above, one answer less another of each.
    before, after = answers(1, 1, 7, 12)
    residual = measure(np.hstack([after.columns, before.columns]), np.array([1.0, -1.0]))
    assert residual.value == pytest.approx(-0.286, abs=6e-4)
    assert residual.interval() == pytest.approx((-0.517, -0.026), abs=6e-4)
    # No answer changed: no proof that none ever will.
    alike = measure(np.repeat([[True, True], [False, False]], 20, axis=0), np.array([1.0, -1.0]))
    z2 = norm.ppf(0.975) ** 2
    assert alike.interval() == pytest.approx((-z2 / (40 + z2), z2 / (40 + z2)))
    # Over many conditions, and with weights of any size, it is Student's where images are many.
    rng = np.random.default_rng(0)
    ease = rng.random((3000, 1))
    columns = rng.random((3000, 6)) < ease * np.array([0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
    mean = measure(columns, np.array([-10.0, 2, 2, 2, 2, 2]))
    wanted = ttest_1samp(mean.image_values, 0).confidence_interval()
    assert mean.interval() == pytest.approx((wanted.low, wanted.high), rel=5e-3)


def test_nothing_is_exactly_nothing_for_the_same_model() -> None:
    same, _ = answers(30, 0, 0, 10)
    found = paired_difference(same, same, estimate=no_difference())
    assert (found.value, found.low, found.high, found.p, found.discordant) == (0, 0, 0, 1.0, 0)
    # Another model that answers alike may still differ on the next image.
    assert paired_difference(same, same).high == pytest.approx(
        norm.ppf(0.975) ** 2 / (40 + norm.ppf(0.975) ** 2)
    )
    assert Symmetric(0.0, 0.0, 5, "").above(-0.1) == 0.0
    assert Symmetric(0.0, 0.0, 5, "").above(0.0) == 0.5
    assert Symmetric(0.0, 0.0, 5, "").above(0.1) == 1.0


def test_unpaired_is_newcombes() -> None:
    # Newcombe (1998), method 10: 56/70 - 48/80 = 0.2000, 0.0524 to 0.3339.
    old, new = (np.repeat([True, False], counts)[:, None] for counts in ((48, 32), (56, 14)))
    found = unpaired_difference(measure(old), measure(new))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    assert found.p < 0.05


def test_groups_are_the_unit() -> None:
    values = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    assert variance_of_mean(values) == pytest.approx(values.var(ddof=1) / 5)
    groups = np.array([3, 3, 7, 7, 9])
    # Sums 1, 2, 0; sizes 2, 2, 1; mean 0.6: 3/2 * (0.04 + 0.64 + 0.36) / 25.
    assert variance_of_mean(values, groups) == pytest.approx(1.5 * 1.04 / 25)
    doubled = np.repeat(values, 2)
    assert variance_of_mean(doubled, np.repeat(np.arange(5), 2)) == pytest.approx(variance_of_mean(values))
    columns = np.random.default_rng(0).random((30, 2))
    single = bootstrap_interval(columns, lambda means: means[..., 0] / means[..., 1])
    twice = bootstrap_interval(
        np.repeat(columns, 2, axis=0),
        lambda means: means[..., 0] / means[..., 1],
        groups=np.repeat(np.arange(30), 2),
    )
    assert twice == pytest.approx(single)


def test_blocks_and_seeds_of_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(0).random((20, 2))
    whole = np.concatenate(list(replicated_means(columns, replicates=50)))
    monkeypatch.setattr("windtunnel.stats.bootstrap.BLOCK", 100)
    assert np.concatenate(list(replicated_means(columns, replicates=50))) == pytest.approx(whole)
    assert not np.allclose(np.concatenate(list(replicated_means(columns, replicates=50, seed=1))), whole)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_ranks() -> None:
    first, last = places(np.array([[0.1, 0.3, 0.1]]))
    assert first.tolist() == [[1, 3, 1]]
    assert last.tolist() == [[2, 3, 2]]
    rng = np.random.default_rng(0)
    good, near, bad = (measure(rng.random((500, 1)) < share) for share in (0.2, 0.21, 0.6))
    ranks = rank_models([good, near, bad])
    assert {ranks[0].rank, ranks[1].rank} == {1, 2}
    assert (ranks[0].low, ranks[0].high) == (ranks[1].low, ranks[1].high) == (1, 2)
    assert ranks[2] == Rank(3, 3, 3)
    assert rank_models([good, bad], lower_is_better=False)[1] == Rank(1, 1, 1)
