"""Flips and top-5 distances against the paper's examples and a brute-force reading of the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import rankdata

from windtunnel.core.errors import UserError
from windtunnel.metrics.stability import (
    discounted_distance,
    farthest_discounted,
    farthest_top5,
    flips,
    frame_pairs,
    log_weight,
    ranks,
    top5_distance,
    zipf_weight,
)

# The later ranking of classes 1, 2, 3 ... that the earlier frame ranks in this order, and the distance.
PAPER = [
    ((1, 2, 3, 4, 5, 6), 0),
    ((1, 2, 3, 4, 6, 5, 7), 1),
    ((1, 2, 3, 4, 6, 7, 5, 8), 1),
    ((2, 1, 3, 4, 5, 6), 2),
    ((3, 1, 2, 4, 5, 6), 4),
    ((2, 3, 4, 5, 6, 7, 8, 1), 5),
    ((1, 2, 3, 5, 6, 4, 7, 8), 2),
    ((5, 4, 3, 2, 1, 6), 12),
]


def top5_of(order: tuple[int, ...]) -> np.ndarray:
    return np.array(order[:5], np.int32)


def brute_force_distance(earlier: list[int], later: list[int]) -> int:
    """The definition read aloud, on whole rankings of classes."""
    total = 0
    for place, class_ in enumerate(earlier[:5], start=1):
        total += abs(place - min(later.index(class_) + 1, 6))
    return total


@pytest.mark.parametrize(("sigma", "distance"), PAPER)
def test_the_papers_examples(sigma: tuple[int, ...], distance: int) -> None:
    """A permutation lists, rank by rank in the earlier frame, the rank in the later one."""
    later = np.argsort(sigma) + 1
    assert top5_distance(np.arange(1, 6, dtype=np.int32), later[:5].astype(np.int32)) == distance


def test_the_direction_matters() -> None:
    classes = np.arange(1, 11, dtype=np.int32)
    moved = np.roll(classes, 1)  # the last class comes first, all others fall by one
    assert top5_distance(classes[:5], moved[:5]) == 5
    assert top5_distance(moved[:5], classes[:5]) == 9


def test_all_five_leaving_and_the_maximum() -> None:
    first = np.arange(5, dtype=np.int32)
    assert top5_distance(first, np.arange(5, 10, dtype=np.int32)) == 15
    assert top5_distance(first, np.array([3, 4, 9, 8, 7], np.int32)) == 18
    worst = max(
        int(top5_distance(first, np.array(order, np.int32))) for order in itertools.permutations(range(8), 5)
    )
    assert worst == 18


def test_random_rankings_equal_brute_force() -> None:
    rng = np.random.default_rng(0)
    rankings = np.array([rng.permutation(12) for _ in range(400)], np.int32)
    found = top5_distance(rankings[:-1, :5], rankings[1:, :5])
    expected = [brute_force_distance(list(a), list(b)) for a, b in itertools.pairwise(rankings)]
    assert found.tolist() == expected


def test_fewer_than_five_classes() -> None:
    """Classes that are not there neither leave nor move."""
    before = np.array([0, 1, 2, -1, -1], np.int32)
    after = np.array([2, 0, 1, -1, -1], np.int32)
    assert top5_distance(before, before) == 0
    assert top5_distance(before, after) == brute_force_distance([0, 1, 2], [2, 0, 1]) == 4


def test_equal_scores_rank_by_rising_class() -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 4, (200, 9)).astype(np.float32)
    expected = np.stack([rankdata(-row, method="ordinal") - 1 for row in scores])
    np.testing.assert_array_equal(ranks(scores), expected)


@pytest.mark.parametrize("weight", [zipf_weight, log_weight])
def test_discounted_distances_equal_brute_force(weight: object) -> None:
    rng = np.random.default_rng(2)
    earlier, later = rng.normal(size=(2, 50, 7)).astype(np.float32)
    found = discounted_distance(earlier, later, weight)

    def w(rank: int) -> float:
        return 1 / rank if weight is zipf_weight else 1 / math.log2(rank + 1)

    for row in range(50):
        order, new = list(np.argsort(-earlier[row])), list(np.argsort(-later[row]))
        expected = sum(w(i) * abs(w(i) - w(new.index(class_) + 1)) for i, class_ in enumerate(order, start=1))
        assert found[row] == pytest.approx(expected)


def brute_force_pairs(frames: int, stride: int) -> set[tuple[int, int]]:
    """For each phase the frames o, o + stride, ... compared one after the other."""
    found = set()
    for phase in range(stride):
        clip = list(range(phase, frames, stride))
        found |= set(itertools.pairwise(clip))
    return found


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("frames", [16, 21, 31, 41])
def test_strides_pool_all_phases(frames: int, stride: int) -> None:
    earlier, later = frame_pairs(frames, "temporal", stride)
    assert set(zip(earlier.tolist(), later.tolist(), strict=True)) == brute_force_pairs(frames, stride)
    assert len(earlier) == frames - stride


@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_noise_is_compared_with_the_first_frame(difficulty: int) -> None:
    """At any difficulty, which is the noise's strength and no stride."""
    earlier, later = frame_pairs(31, "noise", difficulty)
    assert set(earlier.tolist()) == {0} and later.tolist() == list(range(1, 31))


def test_flips_are_counted_pair_by_pair() -> None:
    best = np.array([[1, 1, 2, 2, 1], [3, 3, 3, 3, 3]], np.int32)
    assert flips(best, frame_pairs(5, "temporal")).tolist() == [[False, True, False, True], [False] * 4]
    assert flips(best, frame_pairs(5, "noise"))[0].tolist() == [False, True, True, False]
    assert flips(best, frame_pairs(5, "temporal", 2))[0].tolist() == [True, True, True]


def test_a_clip_must_be_longer_than_its_stride() -> None:
    with pytest.raises(UserError, match="too short to compare frames"):
        frame_pairs(3, "temporal", 3)
    with pytest.raises(UserError, match="too short to compare frames"):
        frame_pairs(1, "noise")


def test_the_difficulty_of_noise_is_no_stride() -> None:
    earlier, later = frame_pairs(3, "noise", 3)
    assert (earlier.tolist(), later.tolist()) == ([0, 0], [1, 2])


@pytest.mark.parametrize("weight", [zipf_weight, log_weight])
def test_no_ranking_is_farther_than_the_bound(weight: object) -> None:
    """All rankings of six classes; with two classes the bound is reached."""
    every = np.array(list(itertools.permutations(range(6))), np.float32)
    found = discounted_distance(np.broadcast_to(every[0], every.shape), every, weight)
    assert 0.5 * farthest_discounted(6, weight) < found.max() <= farthest_discounted(6, weight)
    two = discounted_distance(np.array([1, 0], np.float32), np.array([0, 1], np.float32), weight)
    assert two == pytest.approx(farthest_discounted(2, weight))


@pytest.mark.parametrize(("classes", "most"), [(1, 0), (2, 2), (3, 4), (5, 12), (10, 18), (1000, 18)])
def test_few_classes_cannot_move_far(classes: int, most: int) -> None:
    """Two can only change places; of three the ends do, and the middle stays."""
    assert farthest_top5(classes) == most
    first = np.full(5, -1)
    first[: min(classes, 5)] = range(min(classes, 5))
    for ranking in itertools.permutations(range(classes)) if classes <= 5 else ():
        later = np.full(5, -1)
        later[: len(ranking)] = ranking
        assert top5_distance(first, later) <= most
