"""The doctor's log-probabilities of labels, against SciPy's; another scale of scores changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from windtunnel.analysis.doctor_bench import LEAST_PROBABILITY, SHARPNESS, log_probabilities, scale_of
from windtunnel.analysis.doctor_trials import Trial, log_probability_gain
from windtunnel.analysis.preprocess_grid import Order
from windtunnel.models.preprocess import declared


def scores_and_labels(seed: int, classes: int = 7) -> tuple[np.ndarray, list[list[int]]]:
    """Scores that favour the label, with two labels for some images."""
    rng = np.random.default_rng(seed)
    labels = [int(one) for one in rng.integers(0, classes, 120)]
    scores = rng.normal(size=(120, classes)).astype(np.float32)
    scores[np.arange(120), labels] += 1.5
    return scores, [[one] if row % 5 else [one, (one + 1) % classes] for row, one in enumerate(labels)]


def trial(scores: np.ndarray, places: list[list[int]]) -> Trial:
    sure = log_probabilities(scores / scale_of(scores), [places])[:, 0]
    return Trial((), declared("imagenet", None).preprocess, Order("declared", ()), np.ones(120, bool), sure)


def test_log_probabilities_are_scipys() -> None:
    scores, places = scores_and_labels(0)
    reverse = [[6 - one for one in row] for row in places]
    found = log_probabilities(scores, [places, reverse])
    assert found.shape == (120, 2, len(SHARPNESS))
    for column, sharpness in enumerate(SHARPNESS):
        logs = log_softmax(scores.astype(np.float64) * sharpness, axis=1)
        for order, own in enumerate((places, reverse)):
            known = [logsumexp(row[wanted]) for row, wanted in zip(logs, own, strict=True)]
            known = np.maximum(known, np.log(LEAST_PROBABILITY))
            np.testing.assert_allclose(found[:, order, column], known, rtol=1e-5, atol=1e-6)


def test_masked_classes_take_no_part() -> None:
    scores, places = scores_and_labels(2)
    wide = np.hstack([scores, np.full((len(scores), 2), -np.inf, np.float32)])
    assert scale_of(wide) == pytest.approx(scale_of(scores))
    np.testing.assert_allclose(
        log_probabilities(wide, [places]), log_probabilities(scores, [places]), atol=1e-6
    )


@pytest.mark.parametrize("scale", [0.004, 2.0, 255.0])
def test_being_surer_is_no_gain(scale: float) -> None:
    scores, places = scores_and_labels(1)
    gained = log_probability_gain(trial(scores, places), trial(scores * np.float32(scale), places))
    assert gained is not None
    np.testing.assert_allclose(gained, 0, atol=1e-5)


def test_what_helps_the_label_is_a_gain() -> None:
    scores, places = scores_and_labels(1)
    better = scores.copy()
    better[np.arange(120), [row[0] for row in places]] += 0.5
    one, other = trial(scores, places), trial(better, places)
    there, back = log_probability_gain(one, other), log_probability_gain(other, one)
    assert there is not None and back is not None and there.mean() > 0.1
    np.testing.assert_array_equal(there, -back)
