"""Batch dependence: whether a model's scores of an image depend on the other images or on earlier calls.

Normalisation by batch statistics, test-time adaptation and quantisation by the range of a batch have this
effect. Such predictions are not independent of each other, as intervals and paired comparisons assume.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.option_names import option
from windtunnel.core.placement import DEFAULT_PRECISION
from windtunnel.models import Model, Scores, finite_rows, probe_images

# Differences of scores, as a fraction of the largest score, that other kernels for other batch sizes explain.
NOISE = 2e-4
HALF_PRECISION_NOISE = 5e-2
# Factor and offset of each image: batch statistics and ranges must differ between the calls below.
CONTRASTS = ((1.0, 0.0), (0.25, 16.0), (-0.5, 250.0))
# The images of each call: two together, one of them with a third in another order, the other one alone.
CALLS = ((0, 1), (2, 0), (1,))


def checked_for_batches(model: Model, *, allowed: bool) -> Model:
    """The model, marked if its scores depend on the batch; refuses such a model unless it is allowed."""
    difference = batch_difference(model)
    noise = noise_of(model)
    if difference <= noise:
        return model
    if not allowed:
        raise UserError(
            f"{model.name} gives an image other scores in other batches or calls: they differ by "
            f"{100 * difference:.1f} % of the largest score, and {100 * noise:g} % is allowed. It normalises "
            "by batch statistics, quantises by batch, adapts itself at test time or draws at random. Put it "
            f"into evaluation mode, give {option('batch', 1)} if it is meant for single images, or give "
            f"{option('allow_batch_dependence', True)}."
        )
    marked = copy.copy(model)
    marked.batch_dependent = True
    return marked


def batch_difference(model: Model) -> float:
    """The largest difference between scores of the same image in several calls, divided by the largest score.

    0 for a model that fails on the images: what it fails on is found and reported by the run.
    """
    images = _images(model)
    by_image: dict[int, list[NDArray[np.float32]]] = {}
    for call in CALLS:
        try:
            scores = _predicted(model, images[list(call)])
        except (UserError, RunFailed):
            raise
        except Exception:  # the model's own code
            return 0.0
        for image, row in zip(call, scores, strict=True):
            by_image.setdefault(image, []).append(row)
    groups = [np.stack(rows) for rows in by_image.values()]
    finite = [rows for rows in groups if finite_rows(rows).all()]
    scale = max((float(np.abs(rows).max()) for rows in finite), default=0.0) or 1.0
    return max((float(np.ptp(rows, axis=0).max()) for rows in finite), default=0.0) / scale


def _predicted(model: Model, images: NDArray[np.uint8]) -> Scores:
    """The scores of images, in batches that are not larger than those of a run."""
    starts = range(0, len(images), model.batch)
    return np.concatenate([model.predict(images[start : start + model.batch]) for start in starts])


def _images(model: Model) -> NDArray[np.uint8]:
    """Fixed images that differ in brightness and contrast."""
    ramps = probe_images(model.preprocess, len(CONTRASTS), model.probe_size)
    changed = [factor * ramp + offset for ramp, (factor, offset) in zip(ramps, CONTRASTS, strict=True)]
    return np.stack(changed).astype(np.uint8)


def noise_of(model: Model) -> float:
    """The largest difference, as a fraction of the largest score, that the model's arithmetic explains."""
    half = model.placement.precision not in (None, DEFAULT_PRECISION) or model.half_precision
    return HALF_PRECISION_NOISE if half or model.preprocess.tensor.dtype == "float16" else NOISE
