"""Gaussian noise."""

from __future__ import annotations

from windtunnel.core.seeding import Draws
from windtunnel.corruptions.gaussian_noise import gaussian_noise as corruption
from windtunnel.train.image_steps import Image
from windtunnel.train.noise_steps import NoiseStep, noise_parameters


class GaussianNoise(NoiseStep):
    """The noise of the corruption gaussian_noise."""

    name = "gaussian_noise"
    help = "Add normal noise to every pixel and channel of some images."
    source = "Rusak et al. 2020, who tune sigma; windtunnel chose its default and the share of clean images"
    parameters = noise_parameters("sigma", 0.1, "standard deviation")
    trained_on = ("gaussian_noise",)

    def noisy(self, image: Image, rng: Draws, strength: float) -> Image:
        """The corrupted image."""
        return corruption.function(image, rng, sigma=strength)


gaussian_noise = GaussianNoise()
