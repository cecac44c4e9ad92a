"""Images in groups: intervals against brute force and by simulation."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from windtunnel.stats.intervals import clustered_share, effective_size, mean_interval
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference, paired_difference
from windtunnel.stats.ranks import rank_models

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import group_coverage
import worlds


def grouped_answers(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A model's and another's answers, and the groups, of sizes 1 to 15."""
    rng = np.random.default_rng(seed)
    groups = group_coverage.CASES[2].draw(rng)
    model, other = group_coverage.MODEL, group_coverage.OTHER
    wrong, beside = worlds.answers(
        rng, len(groups), [model, other], within=0.85, kinship=0.8, groups=groups, between=0.85
    )
    return wrong, beside, groups


def brute_force_deviation(measure: Measure, groups: np.ndarray, replicates: int = 1500) -> float:
    """Standard deviation of a score over bootstrap samples of whole groups, drawn one by one."""
    rng = np.random.default_rng(1)
    members = [np.flatnonzero(groups == one) for one in np.unique(groups)]
    values = []
    for _ in range(replicates):
        rows = np.concatenate([members[one] for one in rng.integers(0, len(members), len(members))])
        values.append(float(measure.of_means(measure.columns[rows].mean(axis=0))))
    return float(np.std(values))


@pytest.mark.parametrize("name", [name for name in group_coverage.truths() if "models" not in name])
def test_intervals_are_as_wide_as_a_bootstrap_of_groups(name: str) -> None:
    wrong, other, groups = grouped_answers()
    measure = group_coverage.measures(wrong, other, groups)[name]
    low, high = measure.interval()
    assert high - low == pytest.approx(2 * 1.984 * brute_force_deviation(measure, groups), rel=0.08)
    narrow = replace(measure, groups=None).interval()
    assert high - low > 1.3 * (narrow[1] - narrow[0])


def test_differences_are_as_wide_as_a_bootstrap_of_groups() -> None:
    wrong, other, groups = grouped_answers()
    old, new = (group_coverage.measures(one, one, groups)["mean error"] for one in (wrong, other))
    found = paired_difference(old, new)
    change = Measure("", "", "", (), (other[:, 1:].mean(axis=1) - wrong[:, 1:].mean(axis=1))[:, None])
    deviation = brute_force_deviation(change, groups)
    assert found.high - found.low == pytest.approx(2 * 1.984 * deviation, rel=0.08)
    assert found.test == "paired score test over groups of images"
    single = [replace(group_coverage.measures(one, one, groups)["one condition"]) for one in (wrong, other)]
    assert paired_difference(*single).test == "paired score test over groups of images"
    assert paired_difference(*(replace(one, groups=None) for one in single)).test == "McNemar, mid-p"


def test_every_image_its_own_group_changes_nothing() -> None:
    wrong, other, _ = grouped_answers()
    own = np.arange(len(wrong))[::-1].copy()
    for name, measure in group_coverage.measures(wrong, other, None).items():
        # A single condition takes the normal quantile without groups, Student's with them.
        close = 3e-3 if name == "one condition" else 1e-9
        if name != "against a stored run":  # draws other images for the same integers
            assert replace(measure, groups=own).interval() == pytest.approx(measure.interval(), rel=close)
    old, new = (group_coverage.measures(one, one, None)["mean error"] for one in (wrong, other))
    alone, grouped = (
        estimate_difference(replace(old, groups=one), replace(new, groups=one)) for one in (None, own)
    )
    assert grouped.end(0.025) == pytest.approx(alone.end(0.025))


def test_groups_all_alike_are_worth_their_number() -> None:
    shares = np.random.default_rng(0).random(50)
    groups = np.repeat(np.arange(50), 4)
    four = np.repeat(shares, 4)
    assert mean_interval(four, groups=groups) == pytest.approx(mean_interval(shares))
    assert clustered_share(four, 1, groups=groups) == pytest.approx(clustered_share(shares, 3), rel=0.02)
    # Nothing wrong in 200 images of 50 groups tells no more than 50 images do; uneven groups even less.
    assert effective_size(np.zeros(200), 0.0, 15, groups) == pytest.approx(50)
    assert effective_size(np.zeros(4), 0.0, 15, np.array([0, 0, 0, 1])) == pytest.approx(16 / 10)
    # Large groups may be the hard ones: then there is no floor.
    sizes = np.repeat([1, 20], [80, 1])
    hard = np.repeat(sizes > 1, sizes).astype(float)
    members = np.repeat(np.arange(81), sizes)
    assert (
        effective_size(hard, float(hard.mean() * (1 - hard.mean())), 1, members) < 100**2 / (20**2 + 80) / 3
    )


def test_ranks_draw_groups() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 30)
    hard = rng.random((10, 1)) < 0.5
    first, second = hard[groups], (hard ^ (rng.random((10, 1)) < 0.4))[groups]
    loose = rank_models([Measure("", "", "", (), one, groups=groups) for one in (first, second)])
    tight = rank_models([Measure("", "", "", (), one) for one in (first, second)])
    assert [(one.low, one.high) for one in loose] == [(1, 2), (1, 2)]
    assert [one.rank for one in loose] == [one.rank for one in tight]


@pytest.mark.parametrize("case", group_coverage.CASES[1:3], ids=lambda case: case.name)
def test_intervals_hold_the_truth_of_grouped_images(case: group_coverage.Case) -> None:
    assert group_coverage.correlation() == pytest.approx(0.5, abs=0.03)
    # 95 % of 300 simulations, give or take three standard errors.
    assert all(0.912 <= one <= 0.988 for one in group_coverage.coverage(case, 300).values())
    naive = group_coverage.coverage(case, 100, grouped=False)
    assert naive["mean error"] < 0.8
