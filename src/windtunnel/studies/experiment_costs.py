"""What the variants of an experiment cost: time of training, latency, forward passes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from windtunnel.store.training_folder import read_history
from windtunnel.studies.condition_images import stored_images
from windtunnel.studies.experiment_records import Costs, VariantCosts
from windtunnel.studies.experiment_variants import Variant
from windtunnel.studies.model_names import MODELS, TEST_IMAGES, model_name
from windtunnel.studies.model_training import torch_on_one_thread, wrapped_model
from windtunnel.studies.study_models import StudyModels

# Rounds in which every model predicts these images in turn, one after the other.
ROUNDS = 15
IMAGES = 8


def missing_latency(costs: Costs, baseline: str, variants: Sequence[Variant]) -> bool:
    """Whether the latency of a variant is not known as a ratio to the baseline."""
    known = {name for name, each in costs.variants.items() if each.latency_ms is not None}
    return costs.baseline != baseline or any(variant.name not in known for variant in variants)


def with_latency(
    costs: Costs, models: StudyModels, baseline: str, variants: Sequence[Variant], clean: str
) -> Costs:
    """The costs with the latency of every variant's first model on clean test images.

    In each round every model predicts the same images, one at a time, so that other work on the machine
    slows down all of them. The ratio is the median over rounds of the ratios within a round.
    """
    (condition,) = (item.condition for item in models.tested if item.name == clean)
    stored = stored_images(models.folder / TEST_IMAGES, condition)
    images = [] if stored is None else [np.ascontiguousarray(stored[row : row + 1]) for row in range(IMAGES)]
    images = [image for image in images if len(image)]
    loaded = {
        variant.name: wrapped_model(
            models.folder / MODELS / model_name(variant.of or variant.name, 0), variant.wrappers
        )
        for variant in variants
    }
    seconds: dict[str, list[float]] = {name: [] for name in loaded}
    with torch_on_one_thread():
        for _ in range(1 + ROUNDS):  # the first round warms up
            for name, model in loaded.items():
                seconds[name].append(_timed(model, images))
    times = {name: np.array(values[1:]) for name, values in seconds.items()}
    measured = {
        name: VariantCosts(
            latency_ms=1000 * float(np.median(times[name])),
            latency_ratio=float(np.median(times[name] / times[baseline])),
            passes=int(model.passes),
        )
        for name, model in loaded.items()
    }
    return Costs(baseline, {**costs.variants, **measured})


def train_seconds(costs: Costs, folders: Mapping[str, Sequence[Path]]) -> Costs:
    """The costs with the mean duration of the trainings in folders, by variant."""
    variants = {}
    for name, trainings in folders.items():
        totals = [sum(row.seconds for row in read_history(folder)) for folder in trainings]
        mean = float(np.mean(totals)) if totals else None
        known = costs.variants.get(name, VariantCosts())
        variants[name] = msgspec.structs.replace(known, train_seconds=mean if mean == mean else None)
    return Costs(costs.baseline, variants)


def _timed(model: Any, images: Sequence[np.ndarray[Any, Any]]) -> float:
    """The mean duration of the prediction of one image, in seconds."""
    start = time.perf_counter()
    for image in images:
        model.predict(image)
    return (time.perf_counter() - start) / max(1, len(images))
