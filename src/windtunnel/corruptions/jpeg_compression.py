"""JPEG compression: encoding at a low quality and decoding."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.imaging.codecs.jpeg import jpeg_round_trip


@corruption(
    params=("quality",),
    severities={
        224: ((25,), (18,), (15,), (10,), (7,)),
        299: ((23,), (16,), (13,), (8,), (5,)),
        64: ((65,), (58,), (50,), (40,), (25,)),
        32: ((80,), (65,), (58,), (50,), (40,)),
    },
    imitates="An image compressed by a messenger or a web shop.",
    met_by="Messengers, web shops, social networks, cameras on slow links or small memories.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="f9742b2ad2a8261f64d3263dd1569439",
    random=False,
)
def jpeg_compression(image: Image, rng: Draws, *, quality: float) -> Image:  # noqa: ARG001
    """Encode as JPEG (4:2:0) at a quality and decode."""
    return jpeg_round_trip(image, int(quality))
