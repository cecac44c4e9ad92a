"""Slow, plain oracles of the reference corruptions, written from its published facts.

Random ones draw from the legacy NumPy generator in the reference's order, so that they can be checked
against its own outputs.
"""

from __future__ import annotations

import io

import cv2
import numpy as np
from PIL import Image


def truncated(values: np.ndarray) -> np.ndarray:
    """Clip to 0..1, scale to 0..255, truncate."""
    return (np.clip(values, 0, 1) * 255).astype(np.uint8)


def gaussian_noise(image: np.ndarray, rng: np.random.RandomState, sigma: float) -> np.ndarray:
    x = image / 255.0
    return truncated(x + rng.normal(size=x.shape, scale=sigma))


def defocus_blur(image: np.ndarray, rng: np.random.RandomState, radius: float, softness: float) -> np.ndarray:
    grid = np.arange(-8, 9) if radius <= 8 else np.arange(-radius, radius + 1)
    side = 3 if radius <= 8 else 5
    across, down = np.meshgrid(grid, grid)
    disc = np.array(across**2 + down**2 <= radius**2, dtype=np.float32)
    disc /= disc.sum()
    kernel = cv2.GaussianBlur(disc, ksize=(side, side), sigmaX=softness)
    x = image / 255.0
    return truncated(np.stack([cv2.filter2D(x[:, :, c], -1, kernel) for c in range(3)], axis=2))


def jpeg_compression(image: np.ndarray, rng: np.random.RandomState, quality: float) -> np.ndarray:
    stored = io.BytesIO()
    Image.fromarray(image).save(stored, "JPEG", quality=int(quality))
    return np.asarray(Image.open(stored).convert("RGB"))
