"""Cutout."""

from __future__ import annotations

from windtunnel.core.seeding import Draws
from windtunnel.train.image_steps import Image, ImageStep, Parameter, Settings


class Cutout(ImageStep):
    """A square of one colour, whose centre lies anywhere in the image."""

    name = "cutout"
    help = "Cover a square by grey; its centre is uniform over the image, and the border cuts it."
    source = (
        "DeVries & Taylor 2017, who cover 16 of 32 pixels on CIFAR-10 with the mean of the data; windtunnel "
        "takes grey, because a step does not know the mean"
    )
    parameters = (
        Parameter("share", 0.5, "side of the square, as a share of the shorter side", 0.0, 1.0),
        Parameter("fill", 128, "value of the square, of 255", 0, 255),
        Parameter("probability", 1.0, "share of images that are covered", 0.0, 1.0),
    )
    trained_on = ("s2n/cutout",)

    def is_active(self, settings: Settings) -> bool:
        """Whether any image is covered."""
        return super().is_active(settings) and bool(settings["share"])

    def apply(self, image: Image, rng: Draws, settings: Settings) -> Image:
        """The image with the square."""
        if rng.uniform("whether") >= float(settings["probability"]):
            return image
        height, width = image.shape[:2]
        side = round(float(settings["share"]) * min(height, width))
        top, left = (rng.integer(axis, 0, length) - side // 2 for axis, length in
                     (("row", height), ("column", width)))  # fmt: skip
        covered = image.copy()
        covered[max(0, top) : max(0, top + side), max(0, left) : max(0, left + side)] = settings["fill"]
        return covered


cutout = Cutout()
