"""Out-of-distribution scores against SciPy, the definitions in plain loops, and values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr, logsumexp, rel_entr, softmax

from windtunnel.metrics import ood_scores


def drawn(n: int = 60, classes: int = 130, seed: int = 0) -> np.ndarray:
    """Logits, some of them sure, some not."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, classes)) * rng.uniform(0.2, 12, (n, 1))).astype(np.float32)


def test_scores_of_probabilities_are_scipys() -> None:
    logits = drawn()
    share = softmax(logits.astype(np.float64), axis=1)
    logs = ood_scores.log_shares(logits, logits=True)
    assert ood_scores.msp(logs) == pytest.approx(-share.max(axis=1))
    assert ood_scores.entropy(logs) == pytest.approx(entr(share).sum(axis=1))
    falling = -np.sort(-share, axis=1)
    assert ood_scores.margin(logs) == pytest.approx(falling[:, 1] - falling[:, 0])


def test_scores_of_logits_are_scipys() -> None:
    logits = drawn()
    assert ood_scores.energy(logits) == pytest.approx(-logsumexp(logits.astype(np.float64), axis=1))
    assert ood_scores.max_logit(logits) == pytest.approx(-logits.max(axis=1))
    # A shift of all logits changes neither probabilities nor what is made of them, but it changes the energy.
    assert ood_scores.energy(logits + 3) == pytest.approx(ood_scores.energy(logits) - 3, abs=1e-4)


@pytest.mark.parametrize("classes", [3, 100, 130])
def test_generalised_entropy_takes_the_hundred_largest(classes: int) -> None:
    logits = drawn(classes=classes)
    for row, found in zip(logits, ood_scores.gen(ood_scores.log_shares(logits, logits=True)), strict=True):
        share = sorted(softmax(row.astype(np.float64)), reverse=True)[:100]
        assert found == pytest.approx(sum((p * (1 - p)) ** 0.1 for p in share), rel=1e-6)


def test_generalised_entropy_by_hand() -> None:
    even = ood_scores.log_shares(np.zeros((1, 4), np.float32), logits=True)
    assert ood_scores.gen(even) == pytest.approx([4 * (0.25 * 0.75) ** 0.1])
    assert ood_scores.gen(even, gamma=1.0, largest=2) == pytest.approx([2 * 0.25 * 0.75])


def test_kl_matching_is_the_least_divergence_from_a_class() -> None:
    known, asked = drawn(200, 7, 1), drawn(40, 7, 2)
    templates = ood_scores.Templates(7)
    for block in np.array_split(known, 3):
        templates.add(ood_scores.log_shares(block, logits=True))
    share = softmax(known.astype(np.float64), axis=1)
    means = [share[share.argmax(axis=1) == c].mean(axis=0) for c in range(7)]
    p = softmax(asked.astype(np.float64), axis=1)
    wanted = np.min([rel_entr(p, mean).sum(axis=1) for mean in means], axis=0)
    assert templates.count == 200
    assert templates.distance(ood_scores.log_shares(asked, logits=True)) == pytest.approx(wanted, abs=1e-4)


def test_classes_nobody_was_predicted_as_have_no_template() -> None:
    templates = ood_scores.Templates(3)
    known = np.log(np.array([[0.8, 0.1, 0.1]], np.float32))
    templates.add(ood_scores.log_shares(known, logits=True))
    asked = ood_scores.log_shares(np.log(np.array([[0.1, 0.8, 0.1]], np.float32)), logits=True)
    wanted = rel_entr([0.1, 0.8, 0.1], [0.8, 0.1, 0.1]).sum()
    assert templates.distance(asked) == pytest.approx([wanted], rel=1e-5)


def test_probabilities_give_what_their_logits_give() -> None:
    logits = drawn(classes=12)
    share = softmax(logits.astype(np.float64), axis=1).astype(np.float32)
    for of in ood_scores.OF_SHARES.values():
        from_logits = of(ood_scores.log_shares(logits, logits=True))
        assert of(ood_scores.log_shares(share, logits=False)) == pytest.approx(from_logits, abs=1e-4)


def test_a_probability_of_nothing_is_no_trouble() -> None:
    logs = ood_scores.log_shares(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], np.float32), logits=False)
    assert np.isfinite(logs).all()
    assert ood_scores.msp(logs) == pytest.approx([-1, -1 / 3])
    assert ood_scores.entropy(logs) == pytest.approx([0, np.log(3)], abs=1e-6)
