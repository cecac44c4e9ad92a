"""Saliency maps of misclassified images in a report, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.analysis.explain import explain_preprocessed
from windtunnel.analysis.occlusion import patches_of
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.engine.pixels import fitted
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models import Model
from windtunnel.report.saliency_overlay import overlay, scale_of
from windtunnel.report.source_images import class_names, thumbnail

# Limits for each section of the report: number of images and seconds.
IMAGES = 6
SECONDS = 60.0


@dataclass(frozen=True)
class SaliencyMap:
    """A saliency map as a data URI, and a sentence on the region that the prediction depends on."""

    map_image: str
    text: str


@dataclass(frozen=True)
class SaliencyMaps:
    """The maps of several images, None for those without a map, and a note on missing maps."""

    maps: list[SaliencyMap | None]
    note: str = ""


# From pairs of image and predicted output, and the side of the maps in pixels, to saliency maps.
Explain = Callable[[Sequence[tuple[Image, int]], int], SaliencyMaps]


def explain_nothing(images: Sequence[tuple[Image, int]], _side_px: int) -> SaliencyMaps:
    """No saliency maps, for reports without the model."""
    return SaliencyMaps([None] * len(images))


def explain_with(
    run: ScoredRun,
    model: Model,
    progress: Progress = silent,
    seconds: float = SECONDS,
) -> Explain:
    """A function that makes saliency maps of a run's images with its model.

    Args:
        run: a finished run.
        model: the model of that run, loaded again; another model is an error.
        progress: counts occluded patches.
        seconds: time limit for each section of the report.
    """
    _check_model(run, model)
    patches: list[int] = []

    def explain(images: Sequence[tuple[Image, int]], side_px: int) -> SaliencyMaps:
        end = time.monotonic() + seconds
        chosen = [(fitted(image, model.preprocess.geometry), output) for image, output in images[:IMAGES]]
        patches.append(sum(len(patches_of(*image.shape[:2])) for image, _ in chosen))

        def count_patches(done: int, _total: int, _failed: int = 0) -> None:
            progress(done, sum(patches))
            if time.monotonic() > end:
                raise _OutOfTime

        maps: list[SaliencyMap | None] = []
        for image, output in chosen:
            try:
                maps.append(_saliency_map(run, model, image, output, side_px, count_patches))
            except _OutOfTime:
                break
        note = (
            f"{len(maps)} of {len(chosen)} saliency maps were made within the limit of {seconds:g} seconds. "
            "windtunnel explain has no time limit."
        )
        missing = [None] * (len(images) - len(maps))
        return SaliencyMaps([*maps, *missing], note if len(maps) < len(chosen) else "")

    return explain


class _OutOfTime(Exception):
    pass


def _check_model(run: ScoredRun, model: Model) -> None:
    """Raise a UserError if a model or its preprocessing is not that of the run."""
    recipe, preprocess = run.recipe.model, model.preprocess
    same_preprocessing = (recipe.geometry, recipe.tensor) == (
        preprocess.geometry.record(),
        preprocess.tensor.record(),
    )
    if not same_preprocessing:
        raise UserError(
            f"{model.name} ({preprocess.origin}) differs from the model of {run.path}: "
            f"{run.info.model.name} ({run.info.model.preprocess_from}). Give that model and its "
            f"{option('preprocess')}."
        )
    # The fingerprint depends on the preprocessing too, so it is compared only if that is the same.
    if model.fingerprint != recipe.fingerprint:
        raise UserError(f"{model.name} is not the model of {run.path}. Give the model of that run.")


def _saliency_map(
    run: ScoredRun, model: Model, image: Image, output: int, side_px: int, progress: Progress
) -> SaliencyMap:
    names = class_names(run)
    explanation = explain_preprocessed(
        model,
        image,
        output,
        projection=run.projection,
        name=lambda index: names.get(index, f"class {index}"),
        progress=progress,
    )
    drawn = overlay(explanation.image, explanation.map, scale_of(explanation).full)
    return SaliencyMap(thumbnail(drawn, side_px), f"The prediction depends on {explanation.words}.")
