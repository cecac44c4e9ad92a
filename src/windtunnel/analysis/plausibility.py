"""Warnings about a run whose numbers cannot be right: errors near chance, wrong or no declarations."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.run_info import RunInfo
from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models import CONTRADICTED
from windtunnel.options.command_line import as_option
from windtunnel.stats.multiple_tests import SIGNIFICANT
from windtunnel.stats.shuffling import probability_of_so_few, right_by_chance

# Skill below this is near chance (0 is the level of shuffled labels, 1 is every image correct). It is above 0
# because outputs shifted by one still match neighbouring ImageNet classes more often than shuffled labels do.
LEAST_SKILL = 0.15


def implausible(run: ScoredRun) -> list[str]:
    """Warnings on implausible numbers of a run with the command to run next; empty if there are none."""
    # Chance is defined for classes of images, not for boxes.
    warnings = [_near_chance(run)] if run.recipe.task == DEFAULT_TASK else []
    if run.info.model.preprocess_assumed:
        warnings.append(
            "The model's preprocessing is not declared, and the default was used. Wrong preprocessing is the "
            f"most common cause of wrong scores. Check it with {doctor_command(run.info)}, and declare it."
        )
    if len(run.recipe.projection.kept) == 1:
        warnings.append(
            "Only one class competes, so every prediction on its images is correct: the scores say nothing. "
            "Give data or a map with two classes or more."
        )
    if run.recipe.model.batch_dependent:
        warnings.append(
            f"The model's scores of an image depend on the other images of its batch (of {run.recipe.batch}) "
            "or on earlier calls. Images are not independent, so confidence intervals and p-values are not "
            "valid, and another batch size, order or number of workers can change every score."
        )
    if run.info.model.outputs_from == CONTRADICTED:
        warnings.append(contradicted_outputs("The model"))
    return [warning for warning in warnings if warning]


def contradicted_outputs(model: str) -> str:
    """The warning on a model whose outputs are declared as logits and look like probabilities."""
    return (
        f"{model} is declared to return logits, but its outputs in a trial are probabilities (none is "
        "negative, they sum to 1): confidences are too low. Declare outputs = 'probabilities'."
    )


def implausible_runs(runs: Iterable[ScoredRun]) -> list[str]:
    """The warnings on implausible numbers of several runs, each with the model and the run folder."""
    return [f"{run.info.model.name} ({run.path}): {warning}" for run in runs for warning in implausible(run)]


def doctor_command(info: RunInfo) -> str:
    """The command that checks a run's model on its data, with the options of the run."""
    typed = []
    for name, value in info.options.items():
        values = value if isinstance(value, tuple) else (value,)
        typed += [as_option(name, text if isinstance(text, bool) else shlex.quote(text)) for text in values]
    return " ".join(["windtunnel doctor MODEL DATA", *typed])


def chance_of(
    predicted: NDArray[np.integer], accepted: Sequence[tuple[int, ...]], classes: int
) -> tuple[str, NDArray[np.float64]]:
    """How chance is judged, as the start of a clause, and each image's probability of being right by chance.

    Args:
        predicted: the class predicted for each image.
        accepted: the classes that are right for each image.
        classes: the number of classes that may be predicted.
    """
    if len(set(accepted)) == 1:
        # Labels that are all the same cannot be shuffled.
        return "guessing gives", np.full(len(accepted), len(accepted[0]) / classes)
    return "shuffled labels give", right_by_chance(predicted.astype(np.int32), accepted)


def is_near_chance(right: int, by_chance: NDArray[np.float64]) -> bool:
    """Whether the skill of predictions is surely below LEAST_SKILL."""
    return probability_of_so_few(right, by_chance, LEAST_SKILL) <= SIGNIFICANT


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
    right, count = int(seen.correct[has_output, column].sum()), len(accepted)
    source, by_chance = chance_of(seen.chosen[has_output, column], accepted, run.recipe.counted_classes)
    if not is_near_chance(right, by_chance):
        return ""
    name = "clean" if run.natural else condition
    judged = "predictions" if has_output.all() else "predictions on images whose class has an output"
    cause = "Preprocessing, channel order or label order is probably wrong"
    if names := ", ".join(record.name for record in run.recipe.model.wrappers):
        cause = f"Try it without {names}. If it is still so, preprocessing or label order is probably wrong"
    return (
        f"The {name} error, {100 * (1 - right / len(seen.ids)):.1f} %, is implausible: {right:,} of "
        f"{count:,} {judged} are correct, {source} {by_chance.sum():,.1f} on average, and the model's "
        f"skill is below {LEAST_SKILL} with {100 * (1 - SIGNIFICANT):.0f} % confidence (0 is chance, 1 is "
        f"all correct). {cause}: run {doctor_command(run.info)} before using any score."
    )
