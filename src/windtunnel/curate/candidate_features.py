"""Features of candidates: what the last layer of a filter model receives of the centre crop.

The mean of random candidates is subtracted: what all images have in common would make them seem similar.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.candidates import Candidate
from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.core.seeding import digest64
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.project import Project
from windtunnel.engine.images import Source
from windtunnel.engine.pixels import fitted
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import FeatureSource, Model

# Random candidates whose mean is subtracted: at most, and at least.
MOST_MEAN, LEAST_MEAN = 256, 20


def candidate_features(
    project: Project, rows: Sequence[Candidate], candidates: Sequence[Candidate], model: Model
) -> tuple[NDArray[np.float32] | None, str]:
    """Unit vectors (n, features) of images and what they are, in words; None and why there are none.

    An image that cannot be prepared for the model has NaN.

    Args:
        project: the project.
        rows: the images.
        candidates: all filtered candidates, of which some at random give the mean.
        model: the network.
    """
    if len(candidates) < LEAST_MEAN:
        return None, f"none: features need {LEAST_MEAN} candidates or more, not {len(candidates)}"
    if model.wrappers:
        return None, f"none: {model.name} has wrappers, and features are those of a model without wrappers"
    network = model.penultimate_features()
    if network is None:
        return None, f"none: the last layer of {model.name} is not known"
    chosen = sorted(candidates, key=lambda row: digest64("feature mean", row.id))[:MOST_MEAN]
    vectors = _features(project, {row.id: row for row in (*rows, *chosen)}, model, network)
    blank = np.full(network.count, np.nan, np.float32)
    features = np.array([vectors.get(row.id, blank) for row in rows], np.float32).reshape(-1, network.count)
    features -= np.mean([vectors[row.id] for row in chosen if row.id in vectors], axis=0)
    with np.errstate(invalid="ignore"):  # an image that is the mean has no direction
        features /= np.linalg.norm(features, axis=1, keepdims=True)
    mean = f"the mean of {len(chosen):,} candidates"
    return features, f"{network.count:,} before the last layer of {model.name}, minus {mean}"


def _features(
    project: Project, rows: dict[str, Candidate], model: Model, network: FeatureSource
) -> dict[str, NDArray[np.float32]]:
    """The features of every image that can be prepared for the model, by id."""
    images = CandidateImages(project.folder, list(rows.values()))
    geometry = model.preprocess.geometry
    vectors: dict[str, NDArray[np.float32]] = {}
    waiting: list[tuple[str, Image]] = []

    def compute() -> None:
        if waiting:
            features = network.features(np.stack([view for _, view in waiting]))
            vectors.update(zip([id_ for id_, _ in waiting], features, strict=True))
            waiting.clear()

    with pillow_quiet():
        for image in images.surveyed(images.samples()):
            try:
                view = fitted(Source(images, image).stages(geometry)[2], geometry)
            except ImageError:
                continue
            if len(waiting) == model.batch or (waiting and waiting[0][1].shape != view.shape):
                compute()
            waiting.append((image.sample.id, view))
        compute()
    return vectors
