"""Perspective tilt about both image axes at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.warp import Homography, PerspectiveWarp
from windtunnel.kernels.window import Window
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("step_degrees", "still"),
    tables={
        224: Table(((1, 15),), stage="resized"),
        299: Table(((1, 15),), stage="source"),
        64: Table(((1, 15),)),
        32: Table(((0.75, 15),)),
    },
    imitates="A viewpoint that moves around the scene.",
    met_by="Robots, drones, telephones held at an angle, cameras above a road.",
    family="geometry",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="7e68a4bcf4c0dfa5081ff9ac11c30317",
    random=False,
)
def tilt(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    step_degrees: float,
    still: float,
) -> Iterator[Image]:
    """Rotate in space by a step more in each frame; frame `still` faces the camera; black outside."""
    height, width = image.shape[:2]
    warp = PerspectiveWarp(image, window)
    for number in range(frames):
        yield warp(facing_back(width, height, math.radians(step_degrees * (number - still))))


def facing_back(width: int, height: int, angle: float) -> Homography:
    """The homography from a tilted image back to one that faces the camera.

    The image is one unit behind the pivot, and the camera a diagonal's length in front of it, so that even
    an angle of 0 shrinks it slightly. Rotation is about y first (with the reference's sign), then about x.
    """
    cosine, sine, focus = math.cos(angle), math.sin(angle), math.hypot(width, height)
    # Turned and moved away: of (x, y, 1) seen from the middle, what is projected.
    turned = (
        (cosine, 0.0, -sine),
        (-sine * sine, cosine, -sine * cosine),
        (cosine * sine, sine, cosine * cosine + focus),
    )
    back = _adjugate(turned)
    middle_x, middle_y = width / 2, height / 2
    # Output places from the middle, in units of the focus; then source places from the corner.
    rows = [(u, v, focus * w - middle_x * u - middle_y * v) for u, v, w in back]
    (a, b, c), (d, e, f), (g, h, i) = rows
    return (
        a + middle_x * g,
        b + middle_x * h,
        c + middle_x * i,
        d + middle_y * g,
        e + middle_y * h,
        f + middle_y * i,
        g,
        h,
        i,
    )


Row = tuple[float, float, float]


def _adjugate(matrix: tuple[Row, Row, Row]) -> tuple[Row, Row, Row]:
    """The inverse up to a factor, which does not matter to a projection."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return (
        (e * i - f * h, c * h - b * i, b * f - c * e),
        (f * g - d * i, a * i - c * g, c * d - a * f),
        (d * h - e * g, b * g - a * h, a * e - b * d),
    )
