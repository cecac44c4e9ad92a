"""Windows: which rectangle of a picture is kept."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.imaging import Image


@dataclass(frozen=True)
class Window:
    """A rectangle of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int

    def cut(self, image: Image) -> Image:
        """The part of a picture inside the window (a view)."""
        return image[self.top : self.top + self.height, self.left : self.left + self.width]


def whole(image: Image) -> Window:
    """The window that keeps everything."""
    return Window(0, 0, image.shape[0], image.shape[1])


def centre_window(image: Image, width: int, height: int) -> Window:
    """The middle width x height; odd margins are split by half-to-even rounding, as the reference does."""
    top = round((image.shape[0] - height) / 2)
    left = round((image.shape[1] - width) / 2)
    return Window(top, left, height, width)
