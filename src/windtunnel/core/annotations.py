"""Annotations: the objects of an image, each with its class, box and mask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ObjectAnnotation:
    """One object of an image.

    Attributes:
        category: its class, an index into the dataset's label space.
        box: left, top, width and height, in pixels of the decoded image.
        area: its area in pixels, which the evaluation by size uses; the mask's, if there is one.
        crowd: whether the box contains a group of objects; detections in it count neither way.
        id: its id in the annotation file.
        segmentation: polygons or run-length code as COCO writes them; None for no mask.
    """

    category: int
    box: tuple[float, float, float, float]
    area: float
    crowd: bool = False
    id: str = ""
    segmentation: Any = field(default=None, compare=False)


# The objects of an image.
Objects = tuple[ObjectAnnotation, ...]
