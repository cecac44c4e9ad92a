"""The choice and the verdicts of an experiment, from predictions that are written out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis import experiments
from windtunnel.analysis.experiment_results import SuiteConditions, VariantFacts
from windtunnel.analysis.experiments import experiment_results
from windtunnel.report.experiment_tables import choice_text, verdict_lines

REPORTED = SuiteConditions(
    "reported", "clean", {"gaussian_noise:3": "gaussian_noise"}, {"gaussian_noise:3": "noise"}
)
EXTRA = SuiteConditions(
    "own-extra", "clean", {"speckle_noise:3": "speckle_noise", "spatter:3": "spatter"}, {}
)
IMAGES, CHOSEN_ON = 400, 200


def correct(share: float, images: int, seeds: int) -> NDArray[np.bool_]:
    """Predictions of which a share is correct, almost the same in every training."""
    rows = np.zeros((seeds, images), np.bool_)
    for seed in range(seeds):
        rows[seed, : round(share * images) + seed % 2] = True
    return rows


def variant(
    name: str, noise: float, speckle: float, spatter: float, seeds: int, *seen: str
) -> experiments.Tested:
    shares = {"clean": 0.9, "gaussian_noise:3": noise, "speckle_noise:3": speckle, "spatter:3": spatter}
    predicted = {
        condition: correct(share, CHOSEN_ON if condition in EXTRA.units else IMAGES, seeds)
        for condition, share in shares.items()
    }
    return experiments.Tested(VariantFacts(name, name, trained_on=seen), predicted)


def variants(seeds: int) -> list[experiments.Tested]:
    return [
        variant("standard", 0.5, 0.5, 0.6, seeds),
        variant("noisy", 0.9, 0.95, 0.55, seeds, "speckle_noise", "gaussian_noise"),
        variant("mixed", 0.5, 0.5, 0.8, seeds),
    ]


def test_a_variant_is_not_chosen_for_a_corruption_that_it_was_trained_on() -> None:
    results = experiment_results("", "standard", variants(3), [REPORTED], EXTRA)
    choice = results.choice
    assert choice is not None
    # The mean over both corruptions would be highest for `noisy`.
    assert choice.best == "mixed" and choice.left_out == ("speckle_noise",)
    assert choice.near == () and choice.images == CHOSEN_ON and results.images == IMAGES
    assert "clearly better than all others" in choice_text(results)
    assert "Without speckle_noise" in choice_text(results)


def test_one_training_is_not_clearly_better_than_another() -> None:
    results = experiment_results("", "standard", variants(1), [REPORTED], EXTRA)
    assert results.choice is not None and results.choice.near == ("standard", "noisy")
    assert "not clearly better than any other variant" in choice_text(results)


def test_nothing_is_chosen_on_corruptions_that_were_all_seen() -> None:
    seen = [*variants(3), variant("all", 0.5, 0.9, 0.9, 3, "speckle_noise", "spatter")]
    results = experiment_results("", "standard", seen, [REPORTED], EXTRA)
    assert results.choice is None and choice_text(results) == ""
    assert any(note.startswith("No variant is chosen") for note in results.notes)


def test_a_verdict_on_a_corruption_of_the_training_is_marked() -> None:
    lines = dict(verdict_lines(experiment_results("", "standard", variants(3), [REPORTED])))
    assert lines["noisy"] == "helps mean†, noise†"
    assert lines["mixed"] == "no clear difference (mean -1.0 to +1.0 points)"
