"""Warnings about filter models whose predictions are probably wrong: then every candidate seems hard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.plausibility import chance_of, contradicted_outputs, is_near_chance
from windtunnel.curate.filter_models import FilterModel
from windtunnel.models import CONTRADICTED

DOCTOR = "windtunnel doctor MODEL DATA"


def doubtful_declarations(models: Sequence[FilterModel]) -> list[str]:
    """A warning for each model whose preprocessing is only assumed or whose outputs are declared wrongly."""
    assumed = [
        f"The preprocessing of {model.model.name} is not declared, and the default was used; with a wrong "
        f"one candidates only seem hard. Check it with {DOCTOR}, and declare it."
        for model in models
        if model.model.preprocess.assumed
    ]
    wrong = [model.model.name for model in models if model.model.outputs_from == CONTRADICTED]
    return [*assumed, *map(contradicted_outputs, wrong)]


def near_chance(model: FilterModel, predicted: NDArray[np.int64], outputs: NDArray[np.int64]) -> list[str]:
    """A warning if a model classifies candidates hardly better than chance.

    Args:
        model: the model.
        predicted: the output that it predicts for each candidate.
        outputs: the output of each candidate's weak label.
    """
    if not len(outputs):
        return []
    right = int((predicted == outputs).sum())
    source, by_chance = chance_of(predicted, [(int(output),) for output in outputs], int(model.mask.sum()))
    if not is_near_chance(right, by_chance):
        return []
    return [
        f"{model.model.name} classifies {right:,} of {len(outputs):,} candidates correctly, {source} "
        f"{by_chance.sum():,.1f} on average: preprocessing, label order or the weak labels are probably "
        f"wrong. Run {DOCTOR} before using the result."
    ]
