"""What wrong answers hang on: maps of shown images, while time lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.analysis.explain import Explanation, explain_preprocessed
from windtunnel.analysis.occlusion import patches_of
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.engine.work import fitted
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models import Model
from windtunnel.report.saliency_overlay import overlay, scale_of
from windtunnel.report.source_images import class_names, thumbnail

# So many images of each part of the report, and no longer than this for each part.
IMAGES = 6
SECONDS = 60.0


@dataclass(frozen=True)
class Hanging:
    """An image's map, small, and what it shows in words."""

    map_image: str
    words: str


@dataclass(frozen=True)
class Hangings:
    """Maps of some images, None where there is none, and why there are not more."""

    maps: list[Hanging | None]
    note: str = ""


# Images with the class that was said of each, and the side of their maps on the page.
Explain = Callable[[Sequence[tuple[Image, int]], int], Hangings]


def explain_nothing(images: Sequence[tuple[Image, int]], _side_px: int) -> Hangings:
    """No map of any image: the model is not at hand."""
    return Hangings([None] * len(images))


def explain_with(
    run: ScoredRun,
    model: Model,
    progress: Progress = silent,
    seconds: float = SECONDS,
) -> Explain:
    """How to explain a run's images by its model; another model is refused.

    Args:
        run: a finished run.
        model: the model of that run, loaded again.
        progress: counts occluded patches.
        seconds: how long each part of the report may take.
    """
    recipe, preprocess = run.recipe.model, model.preprocess
    alike = (recipe.geometry, recipe.tensor) == (preprocess.geometry.record(), preprocess.tensor.record())
    # A fingerprint holds predictions, which depend on the preprocessing too.
    if alike and model.fingerprint != recipe.fingerprint:
        raise UserError(f"{model.name} is not the model of {run.path}; give the one that was run.")
    if not alike:
        raise UserError(
            f"{model.name} ({model.preprocess.origin}) is not what {run.path} was run with: "
            f"{run.info.model.name} ({run.info.model.preprocess_from}); give that model and its "
            f"{option('preprocess')}."
        )
    names = class_names(run)
    promised: list[int] = []

    def explain(images: Sequence[tuple[Image, int]], side_px: int) -> Hangings:
        end = time.monotonic() + seconds
        chosen = [(fitted(image, model), said) for image, said in images[:IMAGES]]
        promised.append(sum(len(patches_of(*image.shape[:2])) for image, _ in chosen))

        def watch(done: int, _patches: int, _failed: int = 0) -> None:
            progress(done, sum(promised))
            if time.monotonic() > end:
                raise _OutOfTime

        maps: list[Hanging | None] = []
        for image, said in chosen:
            try:
                found = explain_preprocessed(
                    model,
                    image,
                    said,
                    projection=run.projection,
                    name=lambda index: names.get(index, f"class {index}"),
                    progress=watch,
                )
            except _OutOfTime:
                break
            maps.append(_hanging(found, side_px))
        note = (
            f"{len(maps)} of {len(chosen)} maps could be made in {seconds:g} seconds; windtunnel explain "
            "takes the time it needs."
        )
        rest = [None] * (len(images) - len(maps))
        return Hangings([*maps, *rest], note if len(maps) < len(chosen) else "")

    return explain


class _OutOfTime(Exception):
    pass


def _hanging(found: Explanation, side_px: int) -> Hanging:
    drawn = overlay(found.image, found.map, scale_of(found).full)
    return Hanging(thumbnail(drawn, side_px), f"It hangs on {found.words}.")
