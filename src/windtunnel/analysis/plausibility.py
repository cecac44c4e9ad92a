"""Warnings about a run whose numbers cannot be right: errors near chance, undeclared preprocessing."""

from __future__ import annotations

import numpy as np

from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.shuffling import probability_of_so_few, right_by_chance

ALPHA = 0.05
# Skill below this is near chance (0 is the level of shuffled labels, 1 is every image correct). It is above 0
# because outputs shifted by one still match neighbouring ImageNet classes more often than shuffled labels do.
LEAST_SKILL = 0.15
DOCTOR = "windtunnel doctor MODEL DATA"


def implausible(run: ScoredRun) -> list[str]:
    """Warnings on implausible numbers of a run with the command to run next; empty if there are none."""
    warnings = [_near_chance(run)]
    if run.info.model.preprocess_assumed:
        warnings.append(
            "The model's preprocessing is not declared, and the default was used. Wrong preprocessing is the "
            f"most common cause of wrong scores. Check it with {DOCTOR}, and declare it."
        )
    return [warning for warning in warnings if warning]


def _near_chance(run: ScoredRun) -> str:
    """Why the error on clean images is implausible; "" if it is not or there are too few images to tell."""
    seen, part = run.observed, part_of_role(run, "clean")
    condition = next((name for name in ("native", "clean") if name in seen.conditions), "")
    if run.natural:
        # On shifted images any error is plausible.
        if part is None:
            return ""
        seen = seen.over(part.rows)
    if not condition or not len(seen.ids):
        return ""
    outputs = run.recipe.projection.labels
    # A class without an output is never predicted.
    accepted = [
        tuple(sorted(int(outputs[label]) for label in labels if outputs[label] >= 0))
        for labels in seen.labels
    ]
    has_output = np.array([bool(outputs_of_image) for outputs_of_image in accepted])
    accepted = [outputs_of_image for outputs_of_image in accepted if outputs_of_image]
    if not accepted:
        return ""
    column = seen.column(condition)
    # An image whose class has no output is never correct.
    right, count = int((seen.rank[has_output, column] == 0).sum()), len(accepted)
    if len(set(accepted)) == 1:
        # Labels that are all the same cannot be shuffled.
        classes = run.recipe.counted_classes
        source, by_chance = "guessing gives", np.full(count, len(accepted[0]) / classes)
    else:
        source, by_chance = "shuffled labels give", right_by_chance(seen.chosen[has_output, column], accepted)
    if probability_of_so_few(right, by_chance, LEAST_SKILL) > ALPHA:
        return ""
    name = "clean" if run.natural else condition
    judged = "predictions" if has_output.all() else "predictions on images whose class has an output"
    cause = "Preprocessing, channel order or label order is probably wrong"
    return (
        f"The {name} error, {100 * (1 - right / len(seen.ids)):.1f} %, is implausible: {right:,} of "
        f"{count:,} {judged} are correct, {source} {by_chance.sum():,.1f} on average, and the model's "
        f"skill is below {LEAST_SKILL} with {100 * (1 - ALPHA):.0f} % confidence (0 is chance, 1 is all "
        f"correct). {cause}: run {DOCTOR} before using any score."
    )
