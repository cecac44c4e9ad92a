"""Ten crops of an image: the four corners and the centre, each also mirrored."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image, Stage
from windtunnel.imaging.geometry import Geometry, finish, kept_window
from windtunnel.kernels.window import Window

_PLACES = ("top left", "top right", "bottom left", "bottom right", "centre")
# The order of the crops.
CROP_NAMES = (*_PLACES, *(f"{place}, mirrored" for place in _PLACES))
CENTRE = CROP_NAMES.index("centre")


def ten_crops(source: Image, resized: Image, geometry: Geometry) -> tuple[list[Image], tuple[int, ...]]:
    """The distinct crops of an image, and for each of `CROP_NAMES` its place among them.

    The centre crop is that of the geometry, and the corner crops have its size. A geometry that does not
    crop has one crop, the whole image, and its mirror image.

    Args:
        source: the decoded image.
        resized: the same image after the geometry's resize.
        geometry: how a file becomes the input of a model.
    """
    stage: Stage = "source" if geometry.rule == "crop-then-resize" else "resized"
    image = source if stage == "source" else resized
    windows = five_windows(image, kept_window(image, stage, geometry))
    distinct = list(dict.fromkeys(windows))
    crops = [np.ascontiguousarray(finish(window.cut(image), stage, geometry)) for window in distinct]
    mirrored = [np.ascontiguousarray(crop[:, ::-1]) for crop in crops]
    places = [distinct.index(window) for window in windows]
    return [*crops, *mirrored], (*places, *(len(crops) + place for place in places))


def five_windows(image: Image, centre: Window) -> list[Window]:
    """The windows of the centre's size in the four corners, and the centre."""
    height, width = image.shape[:2]
    bottom, right = height - centre.height, width - centre.width
    corners = [(0, 0), (0, right), (bottom, 0), (bottom, right)]
    return [*(Window(top, left, centre.height, centre.width) for top, left in corners), centre]
