"""Warnings about a run whose numbers cannot be right: errors near chance, undeclared preprocessing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.parts import part_of_role
from windtunnel.stats.shuffling import shuffled_labels
from windtunnel.store.run import Run

ALPHA = 0.05
# An accuracy that covers less of the way from chance to 100 % is near chance: outputs one place off still hit
# neighbouring classes of ImageNet now and then, surely more often than shuffled labels and yet wrong.
LEAST_SKILL = 0.1
DOCTOR = "windtunnel doctor MODEL DATA"


def implausible(run: Run) -> list[str]:
    """What makes a run's numbers doubtful and what to run next; nothing where all looks well."""
    warnings = [_near_chance(run)]
    if run.info["model"]["preprocess_assumed"]:
        warnings.append(
            "The model's preprocessing was not declared: the default was used, and wrong preprocessing is "
            f"the commonest cause of a wrong number. Check it with {DOCTOR}, and declare it."
        )
    return [one for one in warnings if one]


def _near_chance(run: Run) -> str:
    """Why the error on clean images cannot be right, or "" where it can."""
    seen, part = run.observed, part_of_role(run, "clean")
    condition = next((name for name in ("native", "clean") if name in seen.conditions), "")
    if run.natural:
        # Shifted images may be hard enough for any error.
        if part is None:
            return ""
        seen = seen.over(part.rows)
    if not condition or not len(seen.ids):
        return ""
    outputs = run.recipe["projection"]["labels"]
    # A class without an output is never predicted.
    accepted = [
        tuple(sorted(int(outputs[label]) for label in labels if outputs[label] >= 0))
        for labels in seen.labels
    ]
    right = int((seen.rank[:, seen.column(condition)] == 0).sum())
    count = len(accepted)
    if len(set(accepted)) == 1:
        # Labels that are all alike cannot be shuffled.
        classes = len(run.recipe["projection"]["kept"]) or int(run.recipe["model"]["classes"])
        chance = count * len(accepted[0]) / classes
        told = f"guessing gives {chance:,.1f}" if _skill(right, chance, count) < LEAST_SKILL else ""
    else:
        told = _against_shuffled(seen.chosen[:, seen.column(condition)], accepted)
    if not told:
        return ""
    name = "clean" if run.natural else condition
    cause = "Preprocessing, channel order or label order is probably wrong"
    return (
        f"The {name} error, {100 * (1 - right / count):.1f} %, is implausible: {right:,} of {count:,} "
        f"predictions are right, and {told}. {cause}: run {DOCTOR} before reading anything else."
    )


def _against_shuffled(predicted: NDArray[np.int32], accepted: list[tuple[int, ...]]) -> str:
    """How predictions compare with shuffled labels, or "" where they are better or too few to tell."""
    found = shuffled_labels(predicted, accepted)
    if found.p_perfect > ALPHA:
        return ""  # so few images, or of so few classes, that a perfect model would be like this too
    expected = f"{found.expected:,.1f}"
    if found.p_fewer <= ALPHA:
        return f"shuffled labels give more, {expected} on average (p = {found.p_fewer:.3f})"
    if found.p_more > ALPHA:
        return f"shuffled labels give as many, {expected} on average (p = {found.p_more:.2f})"
    if _skill(found.right, found.expected, len(accepted)) < LEAST_SKILL:
        return f"shuffled labels give hardly fewer, {expected} on average"
    return ""


def _skill(right: int, by_chance: float, count: int) -> float:
    """How much of the way from chance to every image right a model goes."""
    return (right - by_chance) / (count - by_chance) if count > by_chance else 1.0
