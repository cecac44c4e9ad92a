"""ISO noise: noise of hue and lightness, as of a sensor at high gain."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.whole_noise import add_hls_noise

SHIFTS = (0.2, 0.5)
INTENSITIES = (0.5, 1.0)


@candidate(
    "ISONoise",
    drawn="The colour shift, uniform from 0.2 to 0.5; the intensity, uniform from 0.5 to 1; and the noise.",
    imitates="The colour noise of a sensor at high gain.",
    met_by="Telephones at night, surveillance cameras.",
    family="noise",
    note="ISONoise always lightens the image: its noise of lightness is never negative.",
    golden="ab3e0d00f9bc507184f259a2142f4d27",
)
def iso_noise(image: Image, rng: Draws) -> Image:
    """Add normal noise to the hue of HLS and Poisson noise to its lightness, which only rises."""
    shift, intensity = rng.uniform("colour shift", *SHIFTS), rng.uniform("intensity", *INTENSITIES)
    hls = np.asarray(
        cv2.cvtColor(image.astype(np.float32) * np.float32(1 / 255), cv2.COLOR_RGB2HLS), np.float32
    )
    spread = float(cv2.meanStdDev(hls)[1][1, 0])
    add_hls_noise(
        hls, 360 * shift * intensity, 255 * spread * intensity, rng.key("hue"), rng.key("lightness")
    )
    rgb = cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)
    return np.asarray(rgb * np.float32(255), np.uint8)
