"""FastestDet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.models.heads import (
    Candidates,
    DetectionHead,
    HeadSettings,
    best_classes,
    only_output,
    sigmoid,
)

# The powers of objectness and class score in the score of a box.
OBJECTNESS_POWER, CLASS_POWER = 0.6, 0.4
BOX_CHANNELS = 5


class FastestDet(DetectionHead):
    """One map: objectness, box and class scores in every cell."""

    name = "fastestdet"
    help = "FastestDet: one map (n, 5 + classes, rows, columns) of objectness, box and class scores"

    def candidates(
        self, outputs: Mapping[str, NDArray[Any]], size: tuple[int, int], settings: HeadSettings
    ) -> list[Candidates]:
        """One box for each cell.

        Of cell (x, y): centre (x + tanh(v1), y + tanh(v2)) in cells, size sigmoid(v3), sigmoid(v4) of the
        input, score objectness^0.6 * class^0.4.
        """
        del settings
        maps = only_output(outputs, self.name)
        if maps.ndim != 4 or maps.shape[1] <= BOX_CHANNELS:
            raise UserError(f"The head {self.name} reads (n, 5 + classes, rows, columns), not {maps.shape}.")
        height, width = size
        rows, columns = maps.shape[2:]
        y, x = np.mgrid[:rows, :columns].reshape(2, -1)
        images = []
        for cells in maps.reshape(*maps.shape[:2], -1).astype(np.float64):
            centre_x = (x + np.tanh(cells[1])) * width / columns
            centre_y = (y + np.tanh(cells[2])) * height / rows
            half_width, half_height = sigmoid(cells[3]) * width / 2, sigmoid(cells[4]) * height / 2
            boxes = np.stack(
                [
                    centre_x - half_width,
                    centre_y - half_height,
                    centre_x + half_width,
                    centre_y + half_height,
                ],
                1,
            )
            scores, classes = best_classes(cells[BOX_CHANNELS:].T)
            scores = np.abs(cells[0]) ** OBJECTNESS_POWER * np.abs(scores) ** CLASS_POWER
            images.append((boxes.astype(np.float32), scores.astype(np.float32), classes))
        return images

    def class_count(self, outputs: Mapping[str, NDArray[Any]], settings: HeadSettings) -> int | None:
        """The channels after objectness and box."""
        del settings
        return int(only_output(outputs, self.name).shape[1]) - BOX_CHANNELS


fastestdet = FastestDet()
