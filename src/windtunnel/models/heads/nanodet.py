"""NanoDet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.models.heads import Candidates, DetectionHead, HeadSettings, best_classes, only_output

SIDES = 4


class NanoDet(DetectionHead):
    """Class scores and distributions over the distances from a cell to the four sides of its box."""

    name = "nanodet"
    help = "NanoDet-Plus: (n, cells, classes + 4 * bins), probabilities and distributions over distances"

    def candidates(
        self, outputs: Mapping[str, NDArray[Any]], size: tuple[int, int], settings: HeadSettings
    ) -> list[Candidates]:
        """One box for each cell of every stride.

        The distance to a side is the mean of its distribution (softmax over bins), in strides, from the
        point (x, y) * stride of the cell.
        """
        values = only_output(outputs, self.name).astype(np.float64)
        points, strides = _points(size, settings.strides)
        if values.ndim != 3 or values.shape[1] != len(points):
            raise UserError(
                f"The head {self.name} reads (n, {len(points)}, classes + 4 * bins) for strides "
                f"{', '.join(map(str, settings.strides))}, not {values.shape}; declare [detector] strides."
            )
        classes = self._classes(values, settings)
        bins = (values.shape[2] - classes) // SIDES
        images = []
        for cells in values:
            logits = cells[:, classes:].reshape(-1, SIDES, bins)
            weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            distances = (weights @ np.arange(bins)) * strides[:, None]
            boxes = np.concatenate([points - distances[:, :2], points + distances[:, 2:]], axis=1)
            scores, best = best_classes(cells[:, :classes])
            images.append((boxes.astype(np.float32), scores, best))
        return images

    def class_count(self, outputs: Mapping[str, NDArray[Any]], settings: HeadSettings) -> int | None:
        """The channels before the distributions of 8 bins."""
        return self._classes(only_output(outputs, self.name), settings)

    @staticmethod
    def _classes(values: NDArray[Any], settings: HeadSettings) -> int:
        return int(values.shape[2]) - SIDES * settings.bins


def _points(
    size: tuple[int, int], strides: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The point and the stride of every cell, stride after stride and row after row."""
    points, each = [], []
    for stride in strides:
        rows, columns = -(-size[0] // stride), -(-size[1] // stride)
        y, x = np.mgrid[:rows, :columns].reshape(2, -1)
        points.append(np.stack([x, y], axis=1) * float(stride))
        each.append(np.full(len(x), float(stride)))
    return np.concatenate(points), np.concatenate(each)


nanodet = NanoDet()
