"""Short, seeded versions of the benchmarks of intervals, of the gate and of the doctor."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


import axis_coverage
import doctor_alarms
import gate_errors
import interval_coverage
import low_error_coverage


@pytest.mark.parametrize("case", interval_coverage.CASES, ids=lambda case: case.name)
def test_mce_intervals_hold_the_truth(case: interval_coverage.Case) -> None:
    fixed, stored, within = interval_coverage.coverage(case, 200, 200)
    # 95 % of 200 simulations, give or take three standard errors.
    assert 0.90 <= fixed <= 0.99
    assert 0.90 <= stored <= 0.99
    assert within >= 0.5


@pytest.mark.parametrize("changes", interval_coverage.STEADINESS)
def test_intervals_of_top_5_distances_hold_the_truth(changes: str) -> None:
    ours, student = interval_coverage.distance_coverage(changes, 20, 300)
    # 95 % of 300 simulations, give or take three standard errors.
    assert 0.91 <= ours <= 0.99
    # Student's has no width where no image of the sample changes.
    assert student <= 0.70 or changes == "often"


@pytest.mark.parametrize("world", low_error_coverage.WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize(("rate", "n"), [(0.005, 50), (0.01, 100), (0.02, 50), (0.02, 200)])
def test_intervals_of_low_errors_contain_the_truth(
    world: low_error_coverage.World, rate: float, n: int
) -> None:
    covered, width = low_error_coverage.coverage(world, rate, n, 300)
    # 94 % or more of 2,000 simulations; less three standard errors of 300.
    assert covered >= 0.90
    # No wider than an interval of 0 wrong of n, and of the image as the unit at this rate.
    assert width <= 4 / n + 4 * np.sqrt(rate / n)


def test_differences_of_low_errors_contain_the_truth() -> None:
    assert min(low_error_coverage.difference_coverage(0.02, 100, 150)) >= 0.90
    assert low_error_coverage.mce_coverage(0.01, 100, 150) >= 0.90


@pytest.mark.parametrize("std", [0.0, 0.02])
@pytest.mark.parametrize("methods", [2, 6, 17])
def test_intervals_over_an_axis_hold_the_truth(methods: int, std: float) -> None:
    for shape in axis_coverage.SHAPES:
        case = axis_coverage.Case(methods, std, 0.2, shape)
        found = axis_coverage.coverage(case, 200, 60)
        # 97 % or more of 2,000; less two and a half standard errors of 60.
        assert (found.held >= 0.91).all(), case
        # Wide enough and no more: a few times what is seen.
        assert (found.high < 4 * found.value).all(), case


def test_wilson_and_clopper_pearson_cover_as_known() -> None:
    for share in (0.02, 0.3, 0.95):
        covered, exact = interval_coverage.share_coverage(200, share)
        assert 0.93 <= covered <= 0.97
        assert exact >= 0.95


def test_the_gate_raises_few_false_alarms() -> None:
    rules = ("one rule, limit 0", "two rules, limit 0")
    for discordance in gate_errors.DISCORDANCES:
        alarms = gate_errors.false_alarms(discordance, 300, 1500, gates=rules)
        # Tests at 4 %: two and a half standard errors of 1,500 simulations above it, five below twice it.
        assert max(alarms.values()) <= 0.04 + 2.5 * np.sqrt(0.04 * 0.96 / 1500)
        assert max(alarms.values()) >= 0.02
    many = gate_errors.false_alarms(0.1, 300, 60)
    assert many["15 patterns, limit 0"] <= 0.15 and many["default rules"] == 0


def test_the_gate_sees_what_it_says_it_sees() -> None:
    assert gate_errors.called_worse(0, 0.04, 0.1, 1000, 20) >= 0.9
    assert gate_errors.called_worse(0, 0.0, 0.1, 1000, 20) == 0.0


def test_discordance_is_what_was_asked_for() -> None:
    rng = np.random.default_rng(0)
    for discordance in gate_errors.DISCORDANCES:
        old, new = gate_errors.differing(rng, 5000, discordance)
        assert (old != new).mean() == pytest.approx(discordance, abs=0.01)
        assert old.mean() == pytest.approx(gate_errors.ERROR, abs=0.02)


def test_the_doctor_seldom_doubts_a_right_declaration() -> None:
    for error, discordance in ((0.05, 0.05), (0.3, 0.3), (0.5, 0.1)):
        assert max(doctor_alarms.alarms(60, error, discordance, 20).values()) <= 0.05
    # Without the correction for the number tried the same data sets would mislead it.
    careless = doctor_alarms.alarms(60, 0.3, 0.3, 20, counted=1)
    assert careless["arithmetic"] > 0.06 and careless["label order"] > 0.15
    # And so would images of one group, were they taken as independent.
    assert doctor_alarms.alarms(60, 0.3, 0.3, 20, size=10, alike=0.5)["label order"] > 0.15


def test_simulated_trials_differ_as_asked() -> None:
    rng = np.random.default_rng(0)
    kinship = doctor_alarms.kinship_for(0.1, 0.3)
    margins = doctor_alarms.margins(rng, 20_000, 0.3, kinship, 2)
    assert (margins > 0).mean() == pytest.approx(0.7, abs=0.01)
    assert ((margins[0] > 0) != (margins[1] > 0)).mean() == pytest.approx(0.1, abs=0.01)
