"""Colour paths: the effect of a device's colour handling, or of a mistake in it, on decoded pixels.

Devices pass images on as luma and chroma in bytes, so every path except the swap uses them:
Y = kr*R + kg*G + kb*B, Cb = (B - Y) / (2*(1 - kb)), Cr = (R - Y) / (2*(1 - kr)). Full range stores Y in
0..255 and chroma around 128 in -127.5..127.5; limited range stores Y in 16..235 and chroma in 16..240.
Every number is rounded to a byte half to even, once in encoding and once in decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image

Plane = NDArray[np.float64]


@dataclass(frozen=True)
class Coding:
    """How colours are stored as luma and chroma: the weights of red and blue, and the range.

    Attributes:
        red, blue: their shares in luma.
        black: the byte for luma 0.
        luma, chroma: the number of steps in their range.
    """

    red: float
    blue: float
    black: float
    luma: float
    chroma: float

    @property
    def green(self) -> float:
        """The share of green."""
        return 1 - self.red - self.blue


# ITU-R BT.601 and BT.709: the shares of red and blue in luma.
BT601, BT709 = (0.299, 0.114), (0.2126, 0.0722)
FULL, LIMITED = (0.0, 255.0, 255.0), (16.0, 219.0, 224.0)


def encode_colour(image: Image, coding: Coding) -> tuple[Plane, Plane, Plane]:
    """Luma, blue and red chroma of an image, rounded to bytes."""
    red, green, blue = (image[..., channel] / 255.0 for channel in range(3))
    luma = coding.red * red + coding.green * green + coding.blue * blue
    return (
        _to_byte(coding.black + coding.luma * luma),
        _to_byte(128 + coding.chroma * (blue - luma) / (2 * (1 - coding.blue))),
        _to_byte(128 + coding.chroma * (red - luma) / (2 * (1 - coding.red))),
    )


def decode_colour(planes: tuple[Plane, Plane, Plane], coding: Coding) -> Image:
    """The image for luma and chroma, rounded to bytes."""
    luma = (planes[0] - coding.black) / coding.luma
    blue = luma + 2 * (1 - coding.blue) * (planes[1] - 128) / coding.chroma
    red = luma + 2 * (1 - coding.red) * (planes[2] - 128) / coding.chroma
    green = (luma - coding.red * red - coding.blue * blue) / coding.green
    return np.stack([_to_byte(255 * value) for value in (red, green, blue)], axis=-1).astype(np.uint8)


def swap_red_and_blue(image: Image) -> Image:
    """The image with BGR read as RGB."""
    return np.ascontiguousarray(image[..., ::-1])


def nv12_round_trip(image: Image) -> Image:
    """An image after NV12: BT.601 in limited range, chroma the mean of 2x2 pixels, repeated when read."""
    coding = Coding(*BT601, *LIMITED)
    luma, blue, red = encode_colour(image, coding)
    return decode_colour((luma, _halved_and_repeated(blue), _halved_and_repeated(red)), coding)


def misread(image: Image, written: Coding, read: Coding) -> Image:
    """An image written with one coding and read with another."""
    return decode_colour(encode_colour(image, written), read)


def _halved_and_repeated(plane: Plane) -> Plane:
    """The mean of every 2x2 pixels in all four; odd edges count twice."""
    height, width = plane.shape
    even = np.pad(plane, ((0, height % 2), (0, width % 2)), mode="edge")
    mean = _to_byte((even[::2, ::2] + even[::2, 1::2] + even[1::2, ::2] + even[1::2, 1::2]) / 4)
    return mean.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]


def _to_byte(values: Plane) -> Plane:
    return np.clip(np.rint(values), 0, 255)


_FULL, _LIMITED = Coding(*BT601, *FULL), Coding(*BT601, *LIMITED)
_FULL709 = Coding(*BT709, *FULL)

# The number of rows that are converted at a time; even, because chroma is shared by pairs of rows. Planes of
# float64 of a whole image would take 72 bytes per pixel.
BAND_ROWS = 64


def in_bands(image: Image, path: Callable[[Image], Image]) -> Image:
    """A colour path applied to a whole image, a band of rows at a time."""
    out = np.empty_like(image)
    for top in range(0, len(image), BAND_ROWS):
        out[top : top + BAND_ROWS] = path(image[top : top + BAND_ROWS])
    return out


COLOURS: dict[str, Callable[[Image], Image]] = {
    "rgb": lambda image: image,
    "bgr": swap_red_and_blue,
    "nv12": partial(in_bands, path=nv12_round_trip),
    "limited-as-full": partial(in_bands, path=partial(misread, written=_LIMITED, read=_FULL)),
    "full-as-limited": partial(in_bands, path=partial(misread, written=_FULL, read=_LIMITED)),
    "bt601-as-bt709": partial(in_bands, path=partial(misread, written=_FULL, read=_FULL709)),
    "bt709-as-bt601": partial(in_bands, path=partial(misread, written=_FULL709, read=_FULL)),
}
