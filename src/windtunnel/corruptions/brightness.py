"""Brightness: the V channel of HSV is raised."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.colour import shift_saturation_and_value

USUAL = ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,))


@corruption(
    params=("amount",),
    severities={224: USUAL, 299: USUAL, 64: USUAL, 32: ((0.05,), (0.1,), (0.15,), (0.2,), (0.3,))},
    imitates="Overexposure: the exposure time is too long.",
    met_by="Car cameras at the end of a tunnel, cameras facing a window, telephones in sun or snow.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="7059e3cc9801f5e8d4151020063e3b6b",
    random=False,
)
def brightness(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
    """Raise the value by an amount (of the full range), clipped at white."""
    return shift_saturation_and_value(image, 1.0, 0.0, amount)
