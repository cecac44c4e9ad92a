"""Multiplicative noise: one factor for every pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

LEAST, MOST = 0.7, 1.3
_S11, _TO_UNIT = np.uint64(11), 2.0**-53


@candidate(
    "MultiplicativeNoise",
    drawn="A factor for every pixel, uniform from 0.7 to 1.3.",
    imitates="Speckle: the brighter, the noisier.",
    met_by="Radar, sonar, ultrasound and laser light.",
    family="noise",
    note="MultiplicativeNoise darkens by half a grey level: products are truncated, not rounded.",
    golden="91f0a602cbcc561d695fbb4ef173503c",
)
def multiplicative_noise(image: Image, rng: Draws) -> Image:
    """Multiply the three channels of a pixel by its factor, clip and truncate."""
    out = np.empty_like(image)
    multiply(image.reshape(-1), np.uint64(rng.key("factors")), out.reshape(-1))
    return out


@jit
def multiply(values: NDArray[np.uint8], key: np.uint64, out: NDArray[np.uint8]) -> None:
    """The factors are `Draws.uniforms` of the same key."""
    for pixel in range(values.size // 3):
        share = np.float64(np.int64(word(key, np.uint64(pixel)) >> _S11)) * _TO_UNIT
        factor = LEAST + (MOST - LEAST) * share
        for place in range(3 * pixel, 3 * pixel + 3):
            out[place] = np.uint8(min(np.int32(np.float64(np.int32(values[place])) * factor), np.int32(255)))
