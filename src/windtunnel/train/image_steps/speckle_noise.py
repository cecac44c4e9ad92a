"""Speckle noise."""

from __future__ import annotations

from windtunnel.core.seeding import Draws
from windtunnel.corruptions.speckle_noise import speckle_noise as corruption
from windtunnel.train.image_steps import Image
from windtunnel.train.noise_steps import NoiseStep, noise_parameters


class SpeckleNoise(NoiseStep):
    """The noise of the corruption speckle_noise."""

    name = "speckle_noise"
    help = "Multiply every pixel and channel of some images by normal noise around 1."
    source = "Rusak et al. 2020, who tune sigma; windtunnel chose its default and the share of clean images"
    parameters = noise_parameters("sigma", 0.2, "standard deviation")
    trained_on = ("speckle_noise",)

    def noisy(self, image: Image, rng: Draws, strength: float) -> Image:
        """The corrupted image."""
        return corruption.function(image, rng, sigma=strength)


speckle_noise = SpeckleNoise()
