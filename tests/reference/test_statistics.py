"""Intervals and summaries against SciPy and hand-worked values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import binomtest, entropy, norm

from windtunnel.stats.intervals import clustered_share, wilson
from windtunnel.tasks.classification.summary import summarise


@pytest.mark.parametrize(
    ("successes", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (56, 200), (749, 1109), (0, 1)]
)
def test_wilson_is_scipys(successes: int, n: int) -> None:
    wanted = binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_clustered_share_between_its_limits() -> None:
    # Conditions of an image all alike: as many images as there are, Student's quantile for Wilson's.
    alike = np.repeat([0.0, 1.0], [150, 50])
    low, high = clustered_share(alike, 15)
    wanted = binomtest(50, 200).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=2e-3)
    # Independent conditions: the interval of all of them together.
    independent = np.random.default_rng(0).binomial(15, 0.25, 20000) / 15
    low, high = clustered_share(independent, 15)
    assert high - low == pytest.approx(2 * norm.ppf(0.975) * np.sqrt(0.25 * 0.75 / 300000), rel=0.05)
    # Nothing wrong is not the same as never wrong.
    low, high = clustered_share(np.zeros(20), 9)
    assert low == pytest.approx(0.0, abs=1e-12)
    assert high > 0.15


def test_clustered_share_covers_correlated_conditions() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        difficulty = rng.beta(0.3, 0.7, 200)  # mean .3, correlation within an image .5
        shares = (rng.random((200, 15)) < difficulty[:, None]).mean(axis=1)
        low, high = clustered_share(shares, 15)
        hits += low <= 0.3 <= high
    assert 930 <= hits <= 970


def everything(classes: int) -> np.ndarray:
    return np.ones(classes, bool)


def test_summary_of_logits_is_scipys() -> None:
    scores = np.random.default_rng(0).normal(0, 5, (50, 30)).astype(np.float32)
    labels = [[row % 30] for row in range(50)]
    out = summarise(scores, labels, "logits", everything(30))
    share = softmax(scores.astype(float), axis=1)
    assert out.logsumexp == pytest.approx(logsumexp(scores.astype(float), axis=1), rel=1e-6)
    assert out.entropy == pytest.approx(entropy(share, axis=1), rel=1e-5, abs=1e-6)
    assert out.sum_p2 == pytest.approx((share**2).sum(axis=1), rel=1e-5)
    for row in range(50):
        ranked = sorted(range(30), key=lambda k: (-scores[row, k], k))
        assert out.top[row].tolist() == ranked[:5]
        assert out.label_rank[row] == ranked.index(row % 30)
        assert out.label_score[row] == scores[row, row % 30]


def test_summary_of_probabilities_keeps_no_logsumexp() -> None:
    share = np.array([[0.5, 0.25, 0.25, 0.0]], np.float32)
    out = summarise(share, [[3]], "probabilities", everything(4))
    assert np.isnan(out.logsumexp[0])
    assert out.entropy[0] == pytest.approx(1.5 * np.log(2))
    assert out.sum_p2[0] == pytest.approx(0.375)
    assert out.top[0].tolist() == [0, 1, 2, 3, -1]


def test_ties_go_to_the_lower_class() -> None:
    scores = np.array([[1, 3, 3, 3, 2, 3]], np.float32)
    out = summarise(scores, [[3]], "logits", everything(6))
    assert out.top[0].tolist() == [1, 2, 3, 5, 4]
    assert out.label_rank[0] == 2


def test_with_several_labels_the_best_placed_counts_and_without_any_none() -> None:
    scores = np.array([[1, 5, 3, 4], [1, 5, 3, 4]], np.float32)
    out = summarise(scores, [[0, 3], []], "logits", everything(4))
    assert out.label_rank.tolist() == [1, -1]
    assert out.label_score[0] == 4
    assert np.isnan(out.label_score[1])


def test_masked_classes_have_neither_rank_nor_probability() -> None:
    scores = np.array([[9, 1, 2, 8]], np.float32)
    mask = np.array([False, True, True, False])
    out = summarise(scores, [[1]], "logits", mask)
    assert out.top[0].tolist() == [2, 1, -1, -1, -1]
    assert out.label_rank[0] == 1
    assert out.logsumexp[0] == pytest.approx(logsumexp([1, 2]))
    assert out.sum_p2[0] == pytest.approx((softmax([1.0, 2.0]) ** 2).sum())
