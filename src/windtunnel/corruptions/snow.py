"""Snow: whitened ground and falling flakes, drawn as thresholded noise blurred along their fall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.corruptions import corruption
from windtunnel.imaging import Image
from windtunnel.kernels.fields import normal_field
from windtunnel.kernels.jit import jit
from windtunnel.kernels.motion import blur_along
from windtunnel.kernels.zoom import zoom_axis, zoom_layer
from windtunnel.seeding import Draws

ANGLES = (-135.0, -45.0)

LARGE = (
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)


@corruption(
    params=("mean", "spread", "zoom", "threshold", "radius", "sigma", "keep"),
    severities={
        224: LARGE,
        299: LARGE,
        64: (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
        ),
        32: (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
    },
    imitates="Snowfall, with the bright grey light that comes with it.",
    met_by="Cars, trains, ski slopes and outdoor cameras in winter.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="08d5b50160738d26b7faa4cbf506afc7",
)
def snow(
    image: Image,
    rng: Draws,
    *,
    mean: float,
    spread: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Image:
    """Whiten the picture and add noise that is magnified, cut at a threshold and blurred along its fall."""
    height, width = image.shape[:2]
    rows, columns = zoom_axis(height, zoom), zoom_axis(width, zoom)
    # Only the middle of the field survives the magnification, so only that is drawn.
    field = normal_field(rng.key("field"), rows.length, columns.length, mean, spread)
    layer = zoom_layer(field, rows.index, rows.fraction, columns.index, columns.fraction)
    flakes = _cut(layer, threshold)
    angle = rng.uniform("angle", *ANGLES)
    fallen = blur_along(flakes, radius, sigma, angle, exact=True).reshape(height, width)
    return _compose(image, fallen, np.float32(keep), np.float32(1 - keep))


@jit
def _cut(layer: NDArray[np.float64], threshold: float) -> NDArray[np.uint8]:
    height, width = layer.shape
    out = np.zeros((height, width, 1), np.uint8)
    for y in range(height):
        for x in range(width):
            value = layer[y, x]
            if value >= threshold:
                out[y, x, 0] = np.uint8(min(max(value, 0.0), 1.0) * 255.0)
    return out


@jit
def _compose(image: Image, flakes: NDArray[np.uint8], keep: np.float32, rest: np.float32) -> Image:
    """min(keep*x + rest*max(x, 1.5*grey + .5) + flakes + flakes turned by 180 degrees, 1)."""
    height, width = image.shape[:2]
    flake = np.arange(256) / 255.0
    out = np.empty((height, width, 3), np.uint8)
    values = np.empty(width * 3, np.float32)
    bright = np.empty(width * 3, np.float32)
    fall = np.empty(width * 3, np.float64)
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        falling, turned = flakes[y], flakes[height - 1 - y]
        for x in range(width * 3):
            values[x] = np.float32(source[x]) / np.float32(255)
        for x in range(width):
            grey = values[3 * x] * np.float32(0.299) + values[3 * x + 1] * np.float32(0.587)
            grey += values[3 * x + 2] * np.float32(0.114)
            white = grey * np.float32(1.5) + np.float32(0.5)
            both = flake[falling[x]] + flake[turned[np.uint64(width - 1 - x)]]
            for channel in range(3):
                bright[3 * x + channel] = white
                fall[3 * x + channel] = both
        for x in range(width * 3):
            whitened = keep * values[x] + rest * max(values[x], bright[x])
            target[x] = np.uint8(np.int32(min(np.float64(whitened) + fall[x], 1.0) * 255.0))
    return out
