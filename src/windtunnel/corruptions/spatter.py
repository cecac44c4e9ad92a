"""Spatter: drops of water (severities 1 to 3) or splashes of mud (4 and 5) on the lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.fields import fill_normal
from windtunnel.kernels.gaussian import smooth_replicated
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.scratch import scratch
from windtunnel.kernels.unit import unit32
from windtunnel.kernels.water import wet

MUD = np.array([63, 42, 20], np.float32) / np.float32(255)
MUD_CUT = 0.8


@corruption(
    # glow_or_blur: of water, how brightly it glows; of mud, the sigma by which its edges are blurred.
    params=("mean", "spread", "sigma", "threshold", "glow_or_blur", "mud"),
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
    met_by="Car, bicycle, drone and farm cameras in rain and on dirt roads.",
    family="weather",
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
    glow_or_blur: float,
    mud: float,
) -> Image:
    """Smooth normal noise, keep what exceeds a threshold, and lay it over the image as water or mud."""
    height, width = image.shape[:2]
    field, smooth = scratch("spatter", (2, height, width), np.float64)
    layer = smooth_replicated(fill_normal(field, rng.key("field"), mean, spread), sigma, smooth)
    if mud:
        np.greater(layer, threshold, out=smooth)
        return _lay_mud(image, smooth_replicated(smooth, glow_or_blur, field))
    return wet(image, layer, threshold, glow_or_blur)


@jit
def _lay_mud(image: Image, cover: NDArray[np.float64]) -> Image:
    """x * (1 - cover) + mud * cover, where the cover is thick enough."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    keep, add = np.empty(width * 3, np.float32), np.empty(width * 3, np.float32)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        source, target = sources[y], targets[y]
        for x in range(width):
            thick = np.float32(cover[y, x])
            thick = thick if thick >= np.float32(MUD_CUT) else np.float32(0)
            for channel in range(3):
                at = np.uint64(3 * x + channel)  # unsigned: no negative index to look for
                keep[at] = np.float32(1) - thick
                add[at] = MUD[channel] * thick
        for x in range(width * 3):
            mixed = unit32(source[x]) * keep[x] + add[x]
            target[x] = np.uint8(np.int32(min(mixed, np.float32(1)) * np.float32(255)))
    return out
