"""Agreement of reviewers against worked examples from the literature and other libraries.

Reference values were computed with statsmodels 0.15.0 and krippendorff 0.9.0.
"""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from windtunnel.stats.agreement import (
    cohen_kappa,
    count_table,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)

# Ten items, 14 people and five categories: the worked example of Fleiss' kappa on Wikipedia.
FOURTEEN = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011): four people, twelve items, some missing.
FOUR = ("123321412***", "1233224125*3", "*3332342251*", "12332441251*")


def ratings(*people: str) -> list[dict[object, str]]:
    """Verdicts by item; `*` is a missing one."""
    columns = zip(*people, strict=True)
    return [{person: value for person, value in enumerate(column) if value != "*"} for column in columns]


def test_fleiss_kappa_of_the_worked_example() -> None:
    kappa = fleiss_kappa(FOURTEEN)
    assert kappa.value == pytest.approx(0.20993070442195522, abs=1e-12)
    assert percent_agreement(FOURTEEN).value == pytest.approx(0.378, abs=5e-4)  # its mean of P_i
    assert kappa.low < kappa.value < kappa.high


def test_krippendorff_alpha_with_missing_verdicts() -> None:
    counts = count_table(ratings(*FOUR))
    alpha = krippendorff_alpha(counts)
    assert alpha.value == pytest.approx(0.743421052631579, abs=1e-12)  # 0.743 in the paper
    assert alpha.items == 11  # the last item has one verdict
    assert krippendorff_alpha(FOURTEEN).value == pytest.approx(0.21557405653322692, abs=1e-12)


def test_cohen_kappa_and_its_interval() -> None:
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    kappa = cohen_kappa(first * 10, second * 10)
    assert kappa.value == pytest.approx(0.4, abs=1e-12)
    # Statsmodels' interval is asymptotic; with 500 items both agree to about one per cent of their width.
    assert (kappa.low, kappa.high) == pytest.approx((0.32128847, 0.47871153), abs=2e-3)


def test_cohen_kappa_equals_scikit_learns_with_any_number_of_categories() -> None:
    rng = np.random.default_rng(3)
    first = rng.choice(list("abcd"), 200)
    second = np.where(rng.random(200) < 0.6, first, rng.choice(list("abcde"), 200))
    kappa = cohen_kappa(first.tolist(), second.tolist())
    assert kappa.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


def test_two_people_by_hand() -> None:
    # Four items, three agreed on: P = 3/4. Shares 5/8 and 3/8: Pe = 34/64, kappa = (3/4 - 17/32)/(15/32).
    # Krippendorff: Do = 2/8; De = 2*5*3/(8*7); alpha = 1 - (1/4)*(56/30) = 8/15.
    counts = count_table(ratings("aaab", "aabb"))
    assert percent_agreement(counts).value == 0.75
    assert fleiss_kappa(counts).value == pytest.approx(7 / 15, abs=1e-12)
    assert krippendorff_alpha(counts).value == pytest.approx(8 / 15, abs=1e-12)


def test_what_cannot_be_computed_is_not_a_number() -> None:
    nothing = count_table(ratings("ab", "**"))
    alike = count_table(ratings("aa", "aa"))
    for measure in (percent_agreement, fleiss_kappa, krippendorff_alpha):
        assert math.isnan(measure(nothing).value)
        assert measure(nothing).items == 0
    assert percent_agreement(alike).value == 1
    assert math.isnan(fleiss_kappa(alike).value)  # chance agreement is 1 as well


def test_intervals_cover_the_true_value() -> None:
    # Three people who say the truth with probability 0.8, else the opposite, of balanced truths: two verdicts
    # agree with probability 0.8^2 + 0.2^2 = 0.68, so kappa is (0.68 - 0.5) / 0.5 = 0.36.
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        truth = rng.random(120) < 0.5
        said = truth[:, None] ^ (rng.random((120, 3)) < 0.2)
        counts = np.stack([said.sum(axis=1), 3 - said.sum(axis=1)], axis=1)
        kappa = fleiss_kappa(counts)
        covered += kappa.low <= 0.36 <= kappa.high
    assert covered >= 180  # 190 expected


def test_intervals_of_items_that_belong_together_are_those_of_their_groups() -> None:
    # Ten equal frames of a set tell as much as one: t*sd is that of the sets alone.
    rng = np.random.default_rng(8)
    first = rng.choice(list("ab"), 30)
    second = np.where(rng.random(30) < 0.8, first, rng.choice(list("ab"), 30))
    sets = cohen_kappa(first.tolist(), second.tolist())
    groups = np.repeat(np.arange(30), 10)
    frames = cohen_kappa(np.repeat(first, 10).tolist(), np.repeat(second, 10).tolist(), groups)
    assert (frames.value, frames.items) == (pytest.approx(sets.value), 300)
    assert (frames.low, frames.high) == pytest.approx((sets.low, sets.high), abs=0.02)
    counts = np.stack([(first == "a") + 1 * (second == "a"), (first == "b") + 1 * (second == "b")], axis=1)
    for measure in (percent_agreement, fleiss_kappa):
        alone, together = measure(counts), measure(np.repeat(counts, 10, axis=0), groups)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.02)


def test_intervals_without_variation_are_not_defined() -> None:
    agreed = count_table(ratings("aabb", "aabb"))
    for measure in (fleiss_kappa, krippendorff_alpha):
        found = measure(agreed)
        assert found.value == 1
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        single = measure(FOURTEEN, np.zeros(len(FOURTEEN)))  # a single group
        assert math.isnan(single.low)
        assert math.isfinite(single.value)
    assert math.isnan(cohen_kappa(list("aabb"), list("aabb")).low)


def test_very_many_categories_are_counted_where_they_occur() -> None:
    # 4000 items: on half of them both name the same class, each of which occurs twice; else all differ.
    # P = 1/2, Pe = (2000 * 2^2 + 4000 * 1^2) / 8000^2; Do = 1/2, De = (8000^2 - 12000) / (8000 * 7999).
    first = [f"class {item}" for item in range(4000)]
    second = [name if item < 2000 else f"other {item}" for item, name in enumerate(first)]
    tracemalloc.start()
    counts = count_table([{1: one, 2: other} for one, other in zip(first, second, strict=True)])
    kappa, alpha, cohen = fleiss_kappa(counts), krippendorff_alpha(counts), cohen_kappa(first, second)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    chance = 12_000 / 8000**2
    assert kappa.value == pytest.approx((0.5 - chance) / (1 - chance), abs=1e-12)
    assert alpha.value == pytest.approx(1 - 0.5 * 8000 * 7999 / (8000**2 - 12_000), abs=1e-12)
    assert cohen.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert percent_agreement(counts).value == 0.5
    assert peak < 4000 * 6000 * 8  # a table of all items and categories alone has as many bytes
