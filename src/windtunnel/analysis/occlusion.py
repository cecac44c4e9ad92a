"""Occlusion: a saliency map computed by covering one patch of the image after another.

fall(P) = score(image) - score(image with patch P covered)
map(x)  = mean of fall(P) over the patches P that cover pixel x

Patches lie on a grid, 32 pixels wide and 16 apart on an image of 224, scaled for other sizes. The last
patches end at the border. Occlusion works for any model, since it needs only predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.core.labels import Projection
from windtunnel.core.progress import Progress, silent
from windtunnel.kernels.window import Window
from windtunnel.models import Model
from windtunnel.models.memory import predict_within_memory
from windtunnel.options.explain import Cover, ScoreKind

# Patch size and stride as shares of the short side.
PATCH = 32 / 224
STRIDE = 16 / 224
# Sigma of the covering blur as a share of the patch: it removes all detail smaller than the patch.
BLUR = 0.5


@dataclass(frozen=True)
class Occlusion:
    """Scores of one class while patches of an image are covered.

    Attributes:
        shape: height and width of the image.
        patches: the covered patches.
        before: the class's score on the original image.
        after: the class's score with each patch covered.
        predicted: the predicted class with each patch covered.
    """

    shape: tuple[int, int]
    patches: tuple[Window, ...]
    before: float
    after: NDArray[np.float64]
    predicted: NDArray[np.int64]

    @property
    def falls(self) -> NDArray[np.float64]:
        """The fall of the score for each patch; negative where it rises."""
        return self.before - self.after

    @property
    def map(self) -> NDArray[np.float64]:
        """The mean fall over the patches that cover a pixel, for every pixel."""
        total, count = np.zeros(self.shape), np.zeros(self.shape)
        for patch, fall in zip(self.patches, self.falls, strict=True):
            inside(total, patch)[...] += fall
            inside(count, patch)[...] += 1
        return total / count


def occlude(
    model: Model,
    image: Image,
    target: int,
    *,
    cover: Cover = "mean",
    kind: ScoreKind = "probability",
    projection: Projection | None = None,
    progress: Progress = silent,
) -> Occlusion:
    """Cover an image patch by patch and measure how far a class's score falls.

    Args:
        model: any model.
        image: the preprocessed image.
        target: the class whose score is measured.
        cover: `mean`, the image's own mean colour, or `blur`, a blur of it as wide as a patch.
        kind: the score: `probability`, or `logit` for models that output logits.
        projection: maps the model's outputs to classes; by default outputs are classes.
        progress: counts occluded patches.
    """
    patches = patches_of(*image.shape[:2])
    covering = covered_image(image, cover)
    before = class_scores(model, image[None], kind, projection)[0, target]
    after, predicted = [], []
    for start in range(0, len(patches), model.batch):
        batch = patches[start : start + model.batch]
        covered = np.stack([cover_patch(image, covering, patch) for patch in batch])
        scores = class_scores(model, covered, kind, projection)
        after.append(scores[:, target])
        predicted.append(scores.argmax(axis=1))
        progress(len(batch), len(patches))
    return Occlusion(
        image.shape[:2], patches, float(before), np.concatenate(after), np.concatenate(predicted)
    )


def patches_of(height: int, width: int) -> tuple[Window, ...]:
    """The patches of an image, row by row; together they cover all of it."""
    side = min(height, width)
    patch = max(1, round(side * PATCH))
    stride = max(1, round(side * STRIDE))
    return tuple(
        Window(top, left, patch, patch)
        for top in _starts(height, patch, stride)
        for left in _starts(width, patch, stride)
    )


def covered_image(image: Image, cover: Cover = "mean") -> Image:
    """The content of covered patches: the whole image in its mean colour, or blurred."""
    if cover not in get_args(Cover):
        raise unknown_name("cover", cover, get_args(Cover))
    if cover == "mean":
        mean = np.rint(image.mean(axis=(0, 1), dtype=np.float64)).astype(np.uint8)
        return np.broadcast_to(mean, image.shape)
    sigma = BLUR * patches_of(*image.shape[:2])[0].width
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101), np.uint8)


def cover_patch(image: Image, covering: Image, patch: Window) -> Image:
    """An image with one patch covered."""
    covered = image.copy()
    inside(covered, patch)[...] = inside(covering, patch)
    return covered


def class_scores(
    model: Model, images: Image, kind: ScoreKind = "probability", projection: Projection | None = None
) -> NDArray[np.float64]:
    """Scores (n, classes) of a batch; masked classes have probability 0 or logit minus infinity."""
    if kind not in get_args(ScoreKind):
        raise unknown_name("score", kind, get_args(ScoreKind))
    if kind == "logit" and model.outputs != "logits":
        raise UserError(f"{model.name} outputs {model.outputs}, not logits; explain the probability.")
    projection = projection or Projection()
    scores = predict_within_memory(model, images)
    if not np.isfinite(scores).all():
        raise UserError(f"{model.name} outputs values that are not finite; this image cannot be explained.")
    counts = projection.mask_for(model.class_count)
    values = projection.apply(scores).astype(np.float64)
    if model.outputs == "logits":
        values[:, ~counts] = -np.inf
        if kind == "logit":
            return values
        values = np.exp(values - values.max(axis=1, keepdims=True))
    else:
        values = np.where(counts, values, 0.0).clip(min=0.0)
    total = values.sum(axis=1, keepdims=True)
    # If all competing classes have probability 0, they share the probability equally.
    return np.asarray(np.where(total > 0, values / np.where(total > 0, total, 1), counts / counts.sum()))


def _starts(length: int, patch: int, stride: int) -> list[int]:
    """Where patches begin along one side."""
    last = length - patch
    starts = list(range(0, last + 1, stride))
    return starts if starts[-1] == last else [*starts, last]


def inside(values: NDArray[Any], patch: Window) -> NDArray[Any]:
    """The part of an array of pixels or other values inside a patch (a view)."""
    return values[patch.top : patch.top + patch.height, patch.left : patch.left + patch.width]
