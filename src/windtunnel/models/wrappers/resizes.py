"""Averaging over resize methods."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windtunnel.imaging.resizers import resize
from windtunnel.models.wrappers import Images, Parameter, Settings, Wrapper

# Smooth filters of two libraries, with and without antialiasing.
RESIZERS = ("pillow-bilinear", "pillow-bicubic", "opencv-bilinear", "opencv-area")


class Resizes(Wrapper):
    """The image, and the image made smaller by several resizers and enlarged again."""

    name = "resizes"
    help = (
        "Average the probabilities of the image and of the image made smaller by "
        f"{', '.join(RESIZERS)} and enlarged again; {1 + len(RESIZERS)} forward passes."
    )
    source = "windtunnel, for the resize noise that ImageNet-S measures"
    parameters = (Parameter("scale", 0.875, "size of the smaller image, as a share", 0.1, 0.99),)
    golden = "de311c12b89a8db805bd4316ba3df603"

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the images, then those of each resizer."""
        yield images
        height, width = images.shape[1:3]
        scale = float(settings["scale"])
        small_width, small_height = max(1, round(scale * width)), max(1, round(scale * height))
        for resizer in RESIZERS:
            # Area averaging is only defined for smaller images; bilinear enlarges for all.
            smaller = [resize(image, small_width, small_height, resizer) for image in images]
            yield np.stack([resize(image, width, height, "opencv-bilinear") for image in smaller])


resizes = Resizes()
