"""Averaging over the image and its mirror image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windtunnel.models.wrappers import Images, Settings, Wrapper


class Flip(Wrapper):
    """The image and its mirror image."""

    name = "flip"
    help = "Average the probabilities of the image and of its mirror image; 2 forward passes."
    source = "common practice"
    pointless_around = ("flip", "tencrop")
    golden = "a25c0cef87ab13791243a55267e541f6"

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the images, and the images mirrored left to right."""
        del settings
        yield images
        yield np.ascontiguousarray(images[:, :, ::-1])


flip = Flip()
