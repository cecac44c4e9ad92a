"""Hue, saturation and value, each shifted."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_colours import shifted_in_hsv

# Hue in units of 2 degrees: any colour becomes any other.
HUE, SATURATION, VALUE = 100, 150, 100


@candidate(
    "HueSaturationValue",
    drawn="Uniform shifts of hue (up to 200 degrees), saturation (up to 150) and value (up to 100 of 255).",
    imitates="A wrong white balance and garish or pale colours.",
    met_by="Photo filters, underwater cameras, badly set displays.",
    family="colour",
    golden="d21f6995e1ea0ccedefc3cf385bfb631",
)
def hue_saturation_value(image: Image, rng: Draws) -> Image:
    """Shift the three channels of 8-bit HSV; saturation and value are clipped and truncated."""
    hue = rng.uniform("hue", -HUE, HUE)
    saturation = rng.uniform("saturation", -SATURATION, SATURATION)
    value = rng.uniform("value", -VALUE, VALUE)
    return shifted_in_hsv(image, hue, saturation, value)
