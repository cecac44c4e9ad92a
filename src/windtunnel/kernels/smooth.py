"""Smoothing of displacement fields, mirrored at their edges."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from windtunnel.kernels.gaussian import weights

# Truncation of the Gaussian in the reference's elastic transform.
TRUNCATE = 3.0
# From this many taps on a cosine transform is faster.
LONG = 16


def smooth_mirrored(
    field: NDArray[np.float32], sigma: float, out: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Smooth a field, mirrored at its edges; returns the result, in `out` or elsewhere.

    Mirrored smoothing multiplies the cosine transform (DCT-II) by the kernel's own: exact, taps or not.
    """
    if sigma == 0:
        return field
    side = weights(sigma, TRUNCATE)
    if len(side) < LONG:
        kernel = np.concatenate([side[:0:-1], side]).astype(np.float32)
        cv2.sepFilter2D(field, cv2.CV_32F, kernel, kernel, out, borderType=cv2.BORDER_REFLECT)
        return out
    waves = dctn(field, norm="ortho", overwrite_x=True)
    waves *= _gains(field.shape[0], sigma)[:, None]
    waves *= _gains(field.shape[1], sigma)[None, :]
    return np.asarray(idctn(waves, norm="ortho", overwrite_x=True), np.float32)


@lru_cache(maxsize=32)
def _gains(size: int, sigma: float) -> NDArray[np.float32]:
    """The factor by which smoothing attenuates each cosine."""
    side = weights(sigma, TRUNCATE)
    steps = np.outer(np.arange(size), np.arange(1, len(side))) / size
    return np.asarray(side[0] + 2 * (np.cos(np.pi * steps) * side[1:]).sum(axis=1), np.float32)
