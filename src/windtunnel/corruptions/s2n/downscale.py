"""Downscale: shrunk and enlarged again, nearest neighbour."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

SCALE = 0.45


@candidate(
    "Downscale",
    imitates="An enlarged thumbnail.",
    met_by="Web pages, digital zoom, small sensors.",
    family="digital",
    golden="37912b67999eb381a27ba7e9dc1f7a66",
)
def downscale(image: Image, _rng: Draws) -> Image:
    """Resize to 45 % and back without interpolation."""
    height, width = image.shape[:2]
    small = cv2.resize(image, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_NEAREST)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)
