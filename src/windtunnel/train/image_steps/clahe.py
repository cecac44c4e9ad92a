"""CLAHE as preprocessing, in training and at test time."""

from __future__ import annotations

from windtunnel.core.seeding import Draws
from windtunnel.models.wrappers.clahe import clahe as clahe_wrapper
from windtunnel.train.image_steps import Image, ImageStep, Settings


class Clahe(ImageStep):
    """The wrapper's pixels."""

    name = "clahe"
    help = "Equalise local contrast, in training and at test time: the trained model declares the wrapper."
    source = clahe_wrapper.source
    parameters = clahe_wrapper.parameters
    random = False
    wrapper = clahe_wrapper.name

    def apply(self, image: Image, rng: Draws, settings: Settings) -> Image:
        """The equalised image."""
        del rng
        (batch,) = clahe_wrapper.views(image[None], settings)
        equalised: Image = batch[0]
        return equalised


clahe = Clahe()
