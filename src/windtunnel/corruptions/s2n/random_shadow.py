"""Shadow: dark polygons."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_tables import UNCHANGED, through_tables

COUNTS = (2, 5)
CORNERS = 8


@candidate(
    "RandomShadow",
    drawn="The number of polygons, 2 to 4, and their corners.",
    imitates="Shadows of leaves, fences or buildings.",
    met_by="Outdoor cameras in bright sun.",
    family="lighting",
    golden="3a629892998d785c8e2401247eb8a3a4",
)
def random_shadow(image: Image, rng: Draws) -> Image:
    """Halve the lightness of HLS within polygons of eight random corners."""
    height, width = image.shape[:2]
    mask = np.zeros((height, width), np.uint8)
    count = rng.integer("count", *COUNTS)
    columns = rng.integers("columns", CORNERS * count, 0, width + 1)
    rows = rng.integers("rows", CORNERS * count, 0, height + 1)
    corners = np.array([columns, rows], np.int32).T.reshape(count, CORNERS, 2)
    for polygon in corners:
        cv2.fillPoly(mask, [polygon], 255)
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    darker = through_tables(np.asarray(hls, np.uint8), UNCHANGED, UNCHANGED // 2, UNCHANGED)
    return np.asarray(cv2.cvtColor(cv2.copyTo(darker, mask, hls), cv2.COLOR_HLS2RGB), np.uint8)
