"""Masks of objects: polygons and run-length codes as COCO writes them, as arrays of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError

Mask = NDArray[np.bool_]
# Polygons are drawn at this multiple of the size; a pixel belongs to one that covers at least half of it.
FINER = 4
# Bits after the binary point of coordinates in OpenCV.
FRACTION_BITS = 4


def polygon_mask(polygons: Sequence[Sequence[float]], width: int, height: int) -> Mask:
    """The pixels of polygons, each a list of x and y; pixel i covers i to i + 1."""
    canvas = np.zeros((height * FINER, width * FINER), np.uint8)
    for polygon in polygons:
        points = np.asarray(polygon, np.float64).reshape(-1, 2)
        fixed = np.round((points * FINER - 0.5) * 2**FRACTION_BITS).astype(np.int32)
        cv2.fillPoly(canvas, [fixed], 255, shift=FRACTION_BITS)
    return np.asarray(cv2.resize(canvas, (width, height), interpolation=cv2.INTER_AREA) >= 128)


def box_mask(box: Sequence[float], width: int, height: int) -> Mask:
    """The pixels of a box of left, top, width and height."""
    left, top, right, bottom = box[0], box[1], box[0] + box[2], box[1] + box[3]
    mask = np.zeros((height, width), bool)
    rows = slice(max(0, round(top)), max(0, round(bottom)))
    mask[rows, max(0, round(left)) : max(0, round(right))] = True
    return mask


def segmentation_mask(segmentation: Any, width: int, height: int) -> Mask:
    """The pixels of a COCO segmentation: polygons, or a run-length code; refuses anything else."""
    try:
        if isinstance(segmentation, dict):
            counts = segmentation["counts"]
            rows, columns = segmentation["size"]
            if (columns, rows) != (width, height):
                raise UserError(
                    f"A mask has {columns}x{rows} pixels and its image {width}x{height}; correct it."
                )
            runs = _runs(counts) if isinstance(counts, str) else counts
            flat = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
            return np.ascontiguousarray(flat.reshape(width, height).T)
        return polygon_mask(segmentation, width, height)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"A segmentation is not a list of polygons or a run-length code with size and counts ({error}); "
            "correct the annotations."
        ) from error


def run_length_code(mask: Mask) -> dict[str, Any]:
    """The compressed run-length code of a mask, as COCO's tools write it."""
    flat = np.concatenate([[False], mask.T.reshape(-1)])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    runs = np.diff(np.concatenate([[0], changes, [mask.size]])).tolist()
    return {"size": [mask.shape[0], mask.shape[1]], "counts": _written(runs)}


def mask_box(mask: Mask) -> tuple[float, float, float, float] | None:
    """Left, top, width and height of a mask; None for an empty one."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    left, top = int(columns[0]), int(rows[0])
    return float(left), float(top), float(columns[-1] + 1 - left), float(rows[-1] + 1 - top)


def _runs(text: str) -> list[int]:
    """The runs of a compressed code: five bits per character, and from the fourth run on differences."""
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    return runs


def _written(runs: Sequence[int]) -> str:
    """The compressed code of runs."""
    characters = []
    for place, run in enumerate(runs):
        value = run - runs[place - 2] if place > 2 else run
        more = True
        while more:
            bits = value & 31
            value >>= 5
            more = value != (-1 if bits & 16 else 0)
            characters.append(chr((bits | 32 if more else bits) + 48))
    return "".join(characters)
