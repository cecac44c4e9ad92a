"""Elastic transform: a random affine warp, then a smooth random displacement of every pixel."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.fields import fill_uniform
from windtunnel.kernels.scratch import scratch
from windtunnel.kernels.smooth import smooth_mirrored
from windtunnel.kernels.warp import affine_mirrored, displace_mirrored


@corruption(
    params=("alpha", "sigma", "affine_px"),
    severities={
        # Multiples of 244 instead of 224, as in the published images.
        224: (
            (244 * 2, 244 * 0.7, 244 * 0.1),
            (244 * 2, 244 * 0.08, 244 * 0.2),
            (244 * 0.05, 244 * 0.01, 244 * 0.02),
            (244 * 0.07, 244 * 0.01, 244 * 0.02),
            (244 * 0.12, 244 * 0.01, 244 * 0.02),
        ),
        299: (
            (360 * 2, 360 * 0.7, 360 * 0.1),
            (360 * 2, 360 * 0.08, 360 * 0.2),
            (360 * 0.05, 360 * 0.01, 360 * 0.02),
            (360 * 0.07, 360 * 0.01, 360 * 0.02),
            (360 * 0.12, 360 * 0.01, 360 * 0.02),
        ),
        64: (
            (64 * 0, 64 * 0, 64 * 0.08),
            (64 * 0.05, 64 * 0.3, 64 * 0.06),
            (64 * 0.1, 64 * 0.08, 64 * 0.06),
            (64 * 0.1, 64 * 0.03, 64 * 0.03),
            (64 * 0.16, 64 * 0.03, 64 * 0.02),
        ),
        32: (
            (32 * 0, 32 * 0, 32 * 0.08),
            (32 * 0.05, 32 * 0.2, 32 * 0.07),
            (32 * 0.08, 32 * 0.06, 32 * 0.06),
            (32 * 0.1, 32 * 0.04, 32 * 0.05),
            (32 * 0.1, 32 * 0.03, 32 * 0.03),
        ),
    },
    imitates="A view through moving water or hot air, or a print on cloth.",
    met_by="Underwater and long-range cameras, readers of handwriting, cloth and tissue slides.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    motion="moves",
    golden="c139c209efc2d91a69113ca9733e383b",
)
def elastic_transform(image: Image, rng: Draws, *, alpha: float, sigma: float, affine_px: float) -> Image:
    """Move three anchor points by up to affine_px, then displace by alpha times noise smoothed by sigma."""
    height, width = image.shape[:2]
    jolts = rng.uniforms("affine", 6, -affine_px, affine_px).reshape(3, 2)
    packed = scratch("packed", (height * width,), np.uint64)
    warped = scratch("warped", (height, width), np.uint64)
    affine_mirrored(image, _inverse_affine(height, width, jolts), packed, warped)
    across, down = (
        smooth_mirrored(
            fill_uniform(scratch(name, (height, width), np.float32), rng.key(name), alpha),
            sigma,
            scratch(f"smooth {name}", (height, width), np.float32),
        )
        for name in ("across", "down")
    )
    return displace_mirrored(warped, across, down)


def _inverse_affine(height: int, width: int, jolts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse affine map, from three anchors at a third of the side from the centre."""
    middle = np.array([width // 2, height // 2], np.float32)
    arm = min(height, width) // 3
    anchors = np.array([middle + arm, [middle[0] + arm, middle[1] - arm], middle - arm], np.float32)
    forward = cv2.getAffineTransform(anchors, anchors + jolts.astype(np.float32))
    return np.asarray(cv2.invertAffineTransform(forward), np.float64)
