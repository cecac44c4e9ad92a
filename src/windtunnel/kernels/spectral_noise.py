"""Noise with a given amplitude at every frequency and random phases."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2

from windtunnel.core.images import Image
from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

_S11 = np.uint64(11)
_TO_PHASE = 2 * math.pi * 2.0**-53

# The amplitude of a frequency by its distance from zero, in cycles per longer side.
Amplitude = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def spectral_noise(height: int, width: int, key: int, amplitude: Amplitude) -> NDArray[np.float64]:
    """Noise, not normalised: the real part of the inverse Fourier transform of random phases.

    As in the published code, the left half of the centred spectrum has independent phases, and the right half
    repeats them in reverse order.
    """
    half = _half_spectrum(np.uint64(key), _amplitudes(height, width, amplitude))
    return np.asarray(irfft2(half, s=(height, width), overwrite_x=True), np.float64)


@lru_cache(maxsize=8)
def _amplitudes(height: int, width: int, amplitude: Amplitude) -> NDArray[np.float64]:
    """The amplitudes of the centred spectrum."""
    side = max(height, width)
    down = (np.arange(height) - height / 2) * (side / height)
    across = (np.arange(width) - width / 2) * (side / width)
    return amplitude(np.sqrt(down[:, None] ** 2 + across[None, :] ** 2))


@jit
def _half_spectrum(key: np.uint64, amplitudes: NDArray[np.float64]) -> NDArray[np.complex128]:
    """The left half of the Hermitian part of the spectrum, whose inverse transform is the real part."""
    height, width = amplitudes.shape
    half = width // 2
    cosines, sines = np.empty((height, width)), np.empty((height, width))
    for y in range(height):
        for x in range(half):
            phase = np.float64(np.int64(word(key, np.uint64(y * half + x)) >> _S11)) * _TO_PHASE
            cosines[y, x] = cosines[height - 1 - y, width - 1 - x] = math.cos(phase)
            sines[y, x] = sines[height - 1 - y, width - 1 - x] = math.sin(phase)
    if width % 2:
        cosines[height // 2, half], sines[height // 2, half] = 1.0, 0.0
        for y in range(height // 2):
            phase = np.float64(np.int64(word(key, np.uint64(height * half + y)) >> _S11)) * _TO_PHASE
            cosines[y, half] = cosines[height - 1 - y, half] = math.cos(phase)
            sines[y, half] = sines[height - 1 - y, half] = math.sin(phase)
    out = np.empty((height, half + 1), np.complex128)
    for down in range(height):
        y, opposite_y = (down - height // 2) % height, (-down - height // 2) % height
        for across in range(half + 1):
            x, opposite_x = (across - half) % width, (-across - half) % width
            here, opposite = amplitudes[y, x], amplitudes[opposite_y, opposite_x]
            out[down, across] = complex(
                0.5 * (here * cosines[y, x] + opposite * cosines[opposite_y, opposite_x]),
                0.5 * (here * sines[y, x] - opposite * sines[opposite_y, opposite_x]),
            )
    return out


@jit
def spread(noise: NDArray[np.float64]) -> float:
    """The standard deviation, summed in the same order on every processor."""
    values = noise.reshape(-1)
    total = 0.0
    for i in range(values.size):
        total += values[i]
    mean, squares = total / values.size, 0.0
    for i in range(values.size):
        squares += (values[i] - mean) ** 2
    return math.sqrt(squares / values.size)


@jit
def keep_above(image: Image, noise: NDArray[np.float64], threshold: float) -> Image:
    """The image, black where the noise is at most a threshold."""
    height, width = noise.shape
    out = np.zeros((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            if noise[y, x] > threshold:
                for c in range(3):
                    out[y, x, c] = image[y, x, c]
    return out


@jit
def add_noise(image: Image, noise: NDArray[np.float64], scales: NDArray[np.float64]) -> Image:
    """The image plus noise (channels, height, width) times a scale for each channel, truncated."""
    height, width = noise.shape[1:]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                value = np.float64(image[y, x, c]) + scales[c] * noise[c, y, x]
                out[y, x, c] = np.uint8(min(max(value, 0.0), 255.0))
    return out
