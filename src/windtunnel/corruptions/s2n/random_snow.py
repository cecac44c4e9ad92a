"""Snow: dark and middle tones become lighter."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_colours import scaled_lightness

SNOW = (0.1, 0.3)
FACTOR = 2.5


@candidate(
    "RandomSnow",
    drawn="The threshold of lightness, uniform from 97.75 to 123.25.",
    imitates="Bleached ground, as of snow in bright light.",
    met_by="Outdoor cameras in winter.",
    family="weather",
    note="RandomSnow lightens dark and middle tones, so that tones are inverted around its threshold.",
    golden="8febb3469d62b67268be8a1ba4412fcd",
)
def random_snow(image: Image, rng: Draws) -> Image:
    """Multiply lightness of HLS below the threshold by 2.5."""
    threshold = 127.5 * rng.uniform("snow", *SNOW) + 85
    return scaled_lightness(image, FACTOR, below=threshold)
