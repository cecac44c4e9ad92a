"""Zoom out: the image is shrunk, and its surroundings are its own mirror image."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_warps import warp_affine

SCALES = (0.6, 0.8)


@candidate(
    "Affines",
    drawn="The scale, uniform from 0.6 to 0.8, the same on both axes.",
    imitates="A subject that is smaller and farther away than usual.",
    met_by="Wide-angle lenses, surveillance cameras, drones.",
    family="geometry",
    note="Affines only zooms out: nothing is rotated, shifted or sheared.",
    motion="moves",
    golden="c90ca56f55d1788a3e4d57b6cd2d617f",
)
def affines(image: Image, rng: Draws) -> Image:
    """Scale about the centre of the pixels."""
    height, width = image.shape[:2]
    scale = float(np.float32(rng.uniform("scale", *SCALES)))
    right, down = (1 - scale) * (width / 2 - 0.5), (1 - scale) * (height / 2 - 0.5)
    return warp_affine(image, np.array([[scale, 0.0, right], [0.0, scale, down]]))
