"""RGB shift: a constant is added to each channel."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_arithmetic import shift_channels

SHIFT = 200.0


@candidate(
    "RGBShift",
    drawn="The shift of each channel, uniform from -200 to 200 (of 255).",
    imitates="Coloured light, or a very wrong white balance.",
    met_by="Stage light, underwater cameras, broken sensors.",
    family="colour",
    golden="45cc6673f2a2419fe2364cc8fcdb8981",
)
def rgb_shift(image: Image, rng: Draws) -> Image:
    """Add three shifts in float32, clip and truncate."""
    return shift_channels(image, rng.uniforms("shifts", 3, -SHIFT, SHIFT).astype(np.float32))
