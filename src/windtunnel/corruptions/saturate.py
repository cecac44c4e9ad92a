"""Saturate: the saturation of HSV scaled and shifted; weaker at severities 1 and 2, stronger from 3 on."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.colour import shift_saturation_and_value

USUAL = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))


@corruption(
    params=("factor", "offset"),
    severities={
        224: USUAL,
        299: USUAL,
        64: ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
        32: ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    },
    imitates="A photo filter or a badly set display: pale or garish colours.",
    met_by="Social networks with their filters, cheap webcams, images of screens and prints.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C (extra)",
    revision=1,
    golden="1530f7f104a73f2396070ea8452671ed",
    random=False,
)
def saturate(image: Image, rng: Draws, *, factor: float, offset: float) -> Image:  # noqa: ARG001
    """Multiply the saturation by a factor and add an offset, clipped to 0..1."""
    return shift_saturation_and_value(image, factor, offset, 0.0)
