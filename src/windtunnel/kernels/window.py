"""Windows: rectangles of an image that are kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from windtunnel.core.images import Image

Rounding = Literal["floor", "round", "ceil"]


# Halves go to the even number, as Python rounds.
ROUNDINGS: dict[str, Callable[[float], int]] = {"floor": math.floor, "round": round, "ceil": math.ceil}


@dataclass(frozen=True)
class Window:
    """A rectangle of an image, in pixels."""

    top: int
    left: int
    height: int
    width: int

    def cut(self, image: Image) -> Image:
        """The part of an image inside the window (a view)."""
        return image[self.top : self.top + self.height, self.left : self.left + self.width]


def whole(image: Image) -> Window:
    """The window of the whole image."""
    return Window(0, 0, image.shape[0], image.shape[1])


def centre_window(image: Image, width: int, height: int, rounding: Rounding = "round") -> Window:
    """The central width x height window; by default odd margins round half to even, as in the reference."""
    top = ROUNDINGS[rounding]((image.shape[0] - height) / 2)
    left = ROUNDINGS[rounding]((image.shape[1] - width) / 2)
    return Window(top, left, height, width)
