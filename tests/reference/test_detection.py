"""Detection scores against scikit-learn, values worked by hand, and influences by brute force."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from windtunnel.metrics.binary_ranking import (
    Curve,
    Gradient,
    auroc,
    average_precision,
    curve,
    detection_values,
    fpr_at_recall,
    fpr_near_recall,
    trapezoid_precision,
)
from windtunnel.metrics.ood_detection import AUPR, AUPR_TRAPEZOID, AUROC, FPR95, FPR95_COMPAT
from windtunnel.stats.intervals import clopper_pearson

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import detection_coverage

Judge = Callable[[Curve], Gradient]


def drawn(n_out: int, n_in: int, seed: int = 0, grid: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores, out ones a little higher, and which are out; on a grid many are equal."""
    rng = np.random.default_rng(seed)
    out = rng.permutation(np.arange(n_out + n_in) < n_out)
    scores = rng.normal(size=len(out)) + out
    return (np.round(scores / grid) * grid if grid else scores), out


def first_rate(out: np.ndarray, scores: np.ndarray) -> float:
    """scikit-learn's curve, at the first score whose recall is at least 95 %."""
    fpr, tpr, _ = roc_curve(out, scores, drop_intermediate=False)
    return float(fpr[np.flatnonzero(tpr >= 0.95 - 1e-12)[0]])


def by_trapezoids(out: np.ndarray, scores: np.ndarray) -> float:
    precision, recall, _ = precision_recall_curve(out, scores)
    return float(auc(recall, precision))


REFERENCES = [
    (auroc, roc_auc_score),
    (average_precision, average_precision_score),
    (trapezoid_precision, by_trapezoids),
    (fpr_at_recall, first_rate),
]
SIZES = [(200, 1000, 0.0), (37, 11, 0.0), (200, 1000, 0.5), (1, 30, 0.5), (30, 1, 1.0), (40, 60, 100.0)]


@pytest.mark.parametrize(("judge", "reference"), REFERENCES, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("n_out", "n_in", "grid"), SIZES)
def test_scores_are_scikit_learns_ties_included(
    judge: Judge, reference: Callable[..., float], n_out: int, n_in: int, grid: float
) -> None:
    for seed in range(5):
        scores, out = drawn(n_out, n_in, seed, grid)
        wanted = reference(out, scores)
        assert judge(curve(scores, out))[0] == pytest.approx(wanted, abs=1e-12)
        assert detection_values(scores, out, judge).mean() == pytest.approx(wanted, abs=1e-12)


def test_scores_by_hand() -> None:
    # From the top: out, in, out, in, in.
    scores, out = np.array([5.0, 4, 3, 2, 1]), np.array([True, False, True, False, False])
    found = curve(scores, out)
    assert auroc(found)[0] == pytest.approx((3 + 2) / 6)
    assert average_precision(found)[0] == pytest.approx((1 + 2 / 3) / 2)
    assert trapezoid_precision(found)[0] == pytest.approx(0.5 * (1 + 1) / 2 + 0.5 * (1 / 2 + 2 / 3) / 2)
    assert fpr_at_recall(found)[0] == pytest.approx(1 / 3)


def test_a_score_that_says_nothing_has_the_share_of_out_images() -> None:
    scores, out = np.zeros(12_000), np.arange(12_000) < 2_000
    assert average_precision(curve(scores, out))[0] == pytest.approx(2_000 / 12_000)
    assert auroc(curve(scores, out))[0] == pytest.approx(0.5)


def published_rate(out: np.ndarray, scores: np.ndarray, level: float = 0.95) -> float:
    """The published code's convention in plain loops: recalls from 1 down, the first of the nearest."""
    best: tuple[float, float] | None = None
    full_from = max(level_ for level_ in set(scores[out]) if (scores[out] >= level_).all())
    for threshold in sorted(set(scores)):
        if threshold < full_from:
            continue
        away = abs((scores[out] >= threshold).sum() / out.sum() - level)
        if best is None or away < best[0]:
            best = away, float((scores[~out] >= threshold).mean())
    assert best is not None
    return best[1]


@pytest.mark.parametrize(("n_out", "n_in", "grid"), SIZES)
def test_the_nearest_recall_is_the_published_codes(n_out: int, n_in: int, grid: float) -> None:
    for seed in range(10):
        scores, out = drawn(n_out, n_in, seed, grid)
        assert fpr_near_recall(curve(scores, out))[0] == pytest.approx(published_rate(out, scores))


def test_the_two_recalls_by_hand() -> None:
    # 13 of 14 out images are 92.9 %, nearer to 95 % than all 14; an in image stands between.
    scores = np.concatenate([np.full(13, 5.0), [1.0], [3.0, 0.0]])
    out = np.arange(16) < 14
    assert fpr_near_recall(curve(scores, out))[0] == 0.5  # the lower of the two scores at 13 of 14
    assert fpr_at_recall(curve(scores, out))[0] == 0.5
    scores[14] = 6.0
    assert fpr_near_recall(curve(scores, out))[0] == 0.5
    scores[14] = 0.5
    assert fpr_near_recall(curve(scores, out))[0] == 0.0


@pytest.mark.parametrize("judge", [auroc, average_precision, trapezoid_precision])
@pytest.mark.parametrize("grid", [0.0, 0.5])
def test_influences_are_derivatives_by_an_images_weight(judge: Judge, grid: float) -> None:
    """An image counted a thousand and one times where all others count a thousand times."""
    scores, out = drawn(30, 40, 3, grid)
    found = detection_values(scores, out, judge)
    times = 1000
    for row in range(0, 70, 7):
        counts = np.full(70, times)
        counts[row] += 1
        more = np.repeat(np.arange(70), counts)
        drawn_again = curve(scores[more], out[more])
        # The numbers of out and in images are fixed: the rest of its part counts a little less.
        same = Curve(drawn_again.recall, drawn_again.fpr, np.empty(0, np.int64), out)
        change = (judge(same)[0] - judge(curve(scores, out))[0]) * times * (30 if out[row] else 40)
        part = 30 if out[row] else 40
        assert found[row] - found.mean() == pytest.approx(change * 70 / part, rel=0.01, abs=0.01)


@pytest.mark.parametrize(("n_out", "n_in"), [(20, 20), (400, 20), (20, 400)])
def test_perfect_separation_is_not_certainty(n_out: int, n_in: int) -> None:
    """A share of in images is as sure as they are many, an area as the fewer of both."""
    out = np.arange(n_out + n_in) < n_out
    for judge in (AUROC, AUPR, AUPR_TRAPEZOID):
        assert judge.measure(out * 1.0, out).interval() == pytest.approx(clopper_pearson(20, 20))
    for judge in (FPR95, FPR95_COMPAT):
        assert judge.measure(out * 1.0, out).interval() == pytest.approx(clopper_pearson(0, n_in))


def test_perfect_separation_of_some_images_or_of_groups() -> None:
    out = np.arange(420) < 400
    some = np.r_[0:8, 400:420]
    assert AUROC.measure(out * 1.0, out).over(some).interval() == pytest.approx(clopper_pearson(8, 8))
    # Ten videos hold all in images, two each.
    videos = np.where(out, np.arange(420), np.arange(420) // 2)
    grouped = FPR95.measure(out * 1.0, out).in_groups(videos)
    assert grouped.interval() == pytest.approx(clopper_pearson(0, 10))


@pytest.mark.parametrize("case", detection_coverage.CASES[:3], ids=lambda case: case.name)
def test_intervals_hold_the_truth(case: detection_coverage.Case) -> None:
    found = detection_coverage.coverage(case, 200)
    # 95 % of 200 simulations, give or take three standard errors; FPR95's hang on few images.
    for name, least in (("AUROC", 0.90), ("AUPR", 0.90), ("FPR95", 0.88)):
        assert all(least <= share <= 0.99 for share in found[name]), name


def test_perfect_rates_of_few_in_images_hold_the_truth() -> None:
    """Mostly none of 20 is called out where one of 100 would be."""
    (few,) = (
        one for one in detection_coverage.CASES if one.name == "400 out, 20 in, almost perfectly separated"
    )
    assert detection_coverage.coverage(few, 200)["FPR95"][0] >= 0.93
