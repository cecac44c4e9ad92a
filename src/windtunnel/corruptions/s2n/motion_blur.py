"""Motion blur: the mean along a line between two random points."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

SIDES_PX = (11, 13, 15, 17)


@candidate(
    "MotionBlur",
    drawn="The size of the kernel: 11, 13, 15 or 17 pixels; and the two ends of the line in it.",
    imitates="A camera or a subject that moves during the exposure.",
    met_by="Hand-held telephones, cars, drones, sport.",
    family="blur",
    note="MotionBlur also shifts the image, and its line can be much shorter than its kernel.",
    golden="2019f50eea680092403695c6b527dd06",
)
def motion_blur(image: Image, rng: Draws) -> Image:
    """Correlate with a line of equal weights; the line need not pass through the centre."""
    side = SIDES_PX[rng.integer("side", 0, len(SIDES_PX))]
    start_x, end_x = rng.integers("columns", 2, 0, side)
    start_y, end_y = (
        rng.permutation("rows", side)[:2] if start_x == end_x else rng.integers("rows", 2, 0, side)
    )
    line = cv2.line(np.zeros((side, side), np.uint8), (start_x, start_y), (end_x, end_y), 1)
    kernel = line.astype(np.float32) / np.float32(np.count_nonzero(line))
    return np.asarray(cv2.filter2D(image, -1, kernel), np.uint8)
