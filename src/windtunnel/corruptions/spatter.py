"""Spatter: drops of water (severities 1 to 3) or splashes of mud (4 and 5) on the lens."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.corruptions import corruption
from windtunnel.imaging import Image
from windtunnel.kernels.fields import normal_field
from windtunnel.kernels.gaussian import smooth_replicated
from windtunnel.kernels.jit import jit
from windtunnel.seeding import Draws

WATER = np.array([175, 238, 238], np.float32) / np.float32(255)
MUD = np.array([63, 42, 20], np.float32) / np.float32(255)
# The reference's numbers: edges of drops, how far their rim reaches, and the slope of the light in them.
CANNY = (50, 150)
RIM_PX = 20
SLOPE = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
MUD_CUT = 0.8


@corruption(
    params=("mean", "spread", "sigma", "threshold", "strength", "mud"),
    severities={
        224: (
            (0.65, 0.3, 4, 0.69, 0.6, 0),
            (0.65, 0.3, 3, 0.68, 0.6, 0),
            (0.65, 0.3, 2, 0.68, 0.5, 0),
            (0.65, 0.3, 1, 0.65, 1.5, 1),
            (0.67, 0.4, 1, 0.65, 1.5, 1),
        ),
        299: (
            (0.65, 0.3, 4, 0.69, 0.9, 0),
            (0.65, 0.3, 3.5, 0.68, 0.9, 0),
            (0.65, 0.3, 3, 0.68, 0.8, 0),
            (0.65, 0.3, 1.2, 0.65, 1.8, 1),
            (0.67, 0.4, 1.2, 0.65, 1.8, 1),
        ),
        64: (
            (0.62, 0.1, 0.7, 0.7, 0.6, 0),
            (0.65, 0.1, 0.8, 0.7, 0.6, 0),
            (0.65, 0.3, 1, 0.69, 0.6, 0),
            (0.65, 0.1, 0.7, 0.68, 0.6, 1),
            (0.65, 0.1, 0.5, 0.67, 0.6, 1),
        ),
        32: (
            (0.62, 0.1, 0.7, 0.7, 0.5, 0),
            (0.65, 0.1, 0.8, 0.7, 0.5, 0),
            (0.65, 0.3, 1, 0.69, 0.5, 0),
            (0.65, 0.1, 0.7, 0.69, 0.6, 1),
            (0.65, 0.1, 0.5, 0.68, 0.6, 1),
        ),
    },
    imitates="Rain drops or mud on the lens of a car or an action camera.",
    source="Hendrycks & Dietterich 2019, ImageNet-C (extra)",
    revision=1,
    golden="6dbdb49cc0880d97dfc4d47d8fc98b07",
)
def spatter(
    image: Image,
    rng: Draws,
    *,
    mean: float,
    spread: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: float,
) -> Image:
    """Smooth normal noise, keep what exceeds a threshold, and lay it over the picture as water or mud."""
    height, width = image.shape[:2]
    layer = smooth_replicated(normal_field(rng.key("field"), height, width, mean, spread), sigma)
    if mud:
        cover = smooth_replicated((layer > threshold).astype(np.float64), strength).astype(np.float32)
        return _lay_mud(image, cover)
    return _lay_water(image, _drops(layer, threshold, strength))


@jit
def _lay_mud(image: Image, cover: NDArray[np.float32]) -> Image:
    """x * (1 - cover) + mud * cover, where the cover is thick enough."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    keep, add = np.empty(width * 3, np.float32), np.empty(width * 3, np.float32)
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for x in range(width):
            thick = cover[y, x] if cover[y, x] >= np.float32(MUD_CUT) else np.float32(0)
            for channel in range(3):
                keep[3 * x + channel] = np.float32(1) - thick
                add[3 * x + channel] = MUD[channel] * thick
        for x in range(width * 3):
            mixed = np.float32(source[x]) / np.float32(255) * keep[x] + add[x]
            target[x] = np.uint8(np.int32(min(mixed, np.float32(1)) * np.float32(255)))
    return out


@jit
def _lay_water(image: Image, glow: NDArray[np.float32]) -> Image:
    """x + water * glow, clipped at white."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    add = np.empty(width * 3, np.float32)
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for x in range(width):
            for channel in range(3):
                add[3 * x + channel] = glow[y, x] * WATER[channel]
        for x in range(width * 3):
            mixed = np.float32(source[x]) / np.float32(255) + add[x]
            target[x] = np.uint8(np.int32(min(mixed, np.float32(1)) * np.float32(255)))
    return out


def _drops(layer: NDArray[np.float64], threshold: float, strength: float) -> NDArray[np.float32]:
    """How strongly water shows at every pixel: bright along the rims of drops, at most `strength`."""
    # Above full scale the reference's cast begins again at black.
    liquid = np.where(layer < threshold, 0, layer * 255).astype(np.int64).astype(np.uint8)
    edges = 255 - cv2.Canny(liquid, *CANNY)
    rim = cv2.threshold(cv2.distanceTransform(edges, cv2.DIST_L2, 5), RIM_PX, RIM_PX, cv2.THRESH_TRUNC)[1]
    lit = cv2.equalizeHist(cv2.blur(rim, (3, 3)).astype(np.uint8))
    sloped = cv2.blur(cv2.filter2D(lit, cv2.CV_8U, SLOPE), (3, 3)).astype(np.float32)
    glow = np.asarray(liquid * sloped, np.float32)
    brightest = glow.max()
    # A layer without a drop divides nothing by nothing in the reference; it leaves the picture as it is.
    return glow / brightest * np.float32(strength) if brightest > 0 else glow
