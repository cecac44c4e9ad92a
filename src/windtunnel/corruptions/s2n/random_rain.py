"""Rain: grey streaks, a box blur, and less light."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_colours import scaled_lightness
from windtunnel.kernels.squares import means

# One streak for so many pixels.
AREA_PX = 600
WIDTH_PX, LENGTH_PX = 10, 20
SLANT = 10
COLOUR = (200, 200, 200)
BLUR_PX = 7
LIGHTNESS = 0.7


@candidate(
    "RandomRain",
    drawn="The place of every streak.",
    imitates="Rain between the camera and the subject.",
    met_by="Cars, bicycles and outdoor cameras.",
    family="weather",
    note="RandomRain has all streaks at the same angle; the drawn slant only limits their places.",
    golden="fdd576a075f9994510fb407e34851d2f",
)
def random_rain(image: Image, rng: Draws) -> Image:
    """Draw streaks of 10 pixels to the right and 20 down, blur, and reduce the lightness of HLS."""
    height, width = image.shape[:2]
    slant = int(rng.uniform("slant", -SLANT, SLANT))
    first, last = (slant, width) if slant < 0 else (0, width - slant)
    count = height * width // AREA_PX
    x = np.array(rng.integers("columns", count, first, last + 1), np.int32)
    y = np.array(rng.integers("rows", count, 0, height - LENGTH_PX + 1), np.int32)
    ends = np.stack([x, y, x + WIDTH_PX, y + LENGTH_PX], axis=1).reshape(count, 2, 2)
    rainy = cv2.polylines(image.copy(), list(ends), isClosed=False, color=COLOUR)
    return scaled_lightness(means(rainy, BLUR_PX), LIGHTNESS)
