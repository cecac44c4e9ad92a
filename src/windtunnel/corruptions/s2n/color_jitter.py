"""Colour jitter: brightness, contrast, saturation and hue, one after the other."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_arithmetic import HUES, scale_and_shift
from windtunnel.kernels.opencv_colours import shifted_in_hsv

FACTORS = (0.3, 1.7)
# In turns of the colour circle; beyond half a turn the colours repeat.
TURNS = (-0.7, 0.7)


@candidate(
    "ColorJitter",
    drawn="Factors of brightness, contrast and saturation, uniform from 0.3 to 1.7; the turn of the hue, "
    "uniform from -0.7 to 0.7 of the circle; and their order.",
    imitates="Photo filters and wrong camera settings.",
    met_by="Social media, cheap cameras, displays that are badly set.",
    family="colour",
    golden="d105471d816f4d8894606617c9223719",
)
def color_jitter(image: Image, rng: Draws) -> Image:
    """Apply the four changes to bytes, in the drawn order."""
    brightness, contrast, saturation = (float(value) for value in rng.uniforms("factors", 3, *FACTORS))
    turn = HUES * rng.uniform("hue", *TURNS)
    for step in rng.permutation("order", 4):
        if step == 0:
            image = scale_and_shift(image, np.float64(brightness), np.float64(0))
        elif step == 1:
            grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
            mean = cv2.sumElems(grey)[0] / grey.size
            image = scale_and_shift(image, np.float64(contrast), np.float64(mean * (1 - contrast)))
        elif step == 2:
            grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
            image = np.asarray(cv2.addWeighted(image, saturation, grey, 1 - saturation, 0), np.uint8)
        else:
            image = shifted_in_hsv(image, turn)
    return image
