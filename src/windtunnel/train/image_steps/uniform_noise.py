"""Uniform noise."""

from __future__ import annotations

from windtunnel.core.seeding import Draws
from windtunnel.kernels.noise_table import apply_noise, uniform_table
from windtunnel.train.image_steps import Image
from windtunnel.train.noise_steps import NoiseStep, noise_parameters


class UniformNoise(NoiseStep):
    """x + U(-width, width), independent for every pixel and channel."""

    name = "uniform_noise"
    help = "Add uniform noise to every pixel and channel of some images."
    source = "Geirhos et al. 2018, for grey images; windtunnel chose the width"
    parameters = noise_parameters("width", 0.2, "half of the range")
    trained_on = ("noise",)  # no corruption is the same

    def noisy(self, image: Image, rng: Draws, strength: float) -> Image:
        """The image with noise."""
        return apply_noise(image, uniform_table(strength), rng.key("noise"))


uniform_noise = UniformNoise()
