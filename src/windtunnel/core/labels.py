"""Label spaces (which classes, in which order) and projections (which of a model's outputs compete)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IMAGENET_1K = "imagenet-1k"
INDICES = "indices"
# The label spaces that a user may declare for class indices.
DECLARABLE = (IMAGENET_1K, INDICES)


@dataclass(frozen=True)
class LabelSpace:
    """Classes in the order of their indices; `order` describes where that order comes from."""

    name: str
    classes: tuple[str, ...]
    order: str

    def __len__(self) -> int:
        return len(self.classes)


def index_space(count: int) -> LabelSpace:
    """A label space whose classes are known by their index only."""
    return LabelSpace(INDICES, tuple(map(str, range(count))), "labels are class indices")


@dataclass(frozen=True)
class Projection:
    """How a model's outputs become classes: unchanged, some masked, or several collapsed into one.

    Both happen before softmax: a masked class has no probability and no rank; a class of the data with
    several outputs has the highest of their scores.

    Attributes:
        kept: the classes that count; () for all.
        outputs: for every class of the data its outputs; () if every output is a class.
    """

    kept: tuple[int, ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()

    @property
    def kind(self) -> str:
        """`identity`, `mask` or `collapse`."""
        if self.is_collapsed:
            return "collapse"
        return "mask" if self.is_masked else "identity"

    @property
    def counts_all(self) -> bool:
        """Whether all outputs compete, each as a separate class."""
        return not (self.kept or self.outputs)

    @property
    def is_masked(self) -> bool:
        """Whether some outputs do not compete, and each of the others is a separate class."""
        return bool(self.kept) and not self.outputs

    @property
    def is_collapsed(self) -> bool:
        """Whether several outputs may belong to the same class."""
        return bool(self.outputs)

    def mask_for(self, classes: int) -> NDArray[np.bool_]:
        """True for every competing class, for `classes` outputs or for the data's classes."""
        count = len(self.outputs) or classes
        if not self.kept:
            return np.ones(count, bool)
        mask = np.zeros(count, bool)
        mask[list(self.kept)] = True
        return mask

    def apply(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores (n, outputs) as scores of classes; a class without output gets the lowest float32."""
        if not self.outputs:
            return scores
        class_scores = np.full((len(scores), len(self.outputs)), np.finfo(np.float32).min, np.float32)
        for place, outputs in enumerate(self.outputs):
            if outputs:
                class_scores[:, place] = scores[:, list(outputs)].max(axis=1)
        return class_scores


def mask_to(labels: Iterable[Sequence[int]]) -> Projection:
    """The projection that keeps exactly the classes that occur as labels."""
    return Projection(tuple(sorted({label for row in labels for label in row})))
