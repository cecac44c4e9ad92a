"""Noise as an image step: what the noise steps share."""

from __future__ import annotations

from windtunnel.core.calls import Value
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.train.image_steps import ImageStep, Parameter, Settings

# Strengths are drawn from so many, whose tables are kept in memory.
STRENGTHS = 16


class NoiseStep(ImageStep):
    """Noise of a strength that is drawn for each image. A subclass overrides `noisy`.

    Attributes:
        parameters: the largest strength first, then `least` and `probability`.
    """

    def settings(self, given: object) -> dict[str, Value]:
        """All parameters, checked; the largest strength is above 0 and not below the smallest."""
        settings = super().settings(given)  # type: ignore[arg-type]
        name = self.parameters[0].name
        if not 0 <= float(settings["least"]) <= float(settings[name]) or not settings[name]:
            raise UserError(
                f"{self.name}: {name} is {settings[name]:g} and least is {settings['least']:g}; give {name} "
                "above 0, and least up to that."
            )
        return settings

    def apply(self, image: Image, rng: Draws, settings: Settings) -> Image:
        """The image with noise of one of the strengths, or as it is."""
        if rng.uniform("whether") >= float(settings["probability"]):
            return image
        least, most = float(settings["least"]), float(settings[self.parameters[0].name])
        strength = least + (most - least) * (1 + rng.integer("strength", 0, STRENGTHS)) / STRENGTHS
        return self.noisy(image, rng, strength)

    def noisy(self, image: Image, rng: Draws, strength: float) -> Image:
        """The image with noise of a strength."""
        raise NotImplementedError


def noise_parameters(name: str, default: float, meaning: str) -> tuple[Parameter, ...]:
    """The parameters of a noise step."""
    return (
        Parameter(name, default, f"largest {meaning}, in units of the full range", 0.0, 10.0),
        Parameter("least", 0.0, f"smallest {meaning}; drawn uniformly between both", 0.0, 10.0),
        Parameter("probability", 0.5, "share of images that get noise", 0.0, 1.0),
    )
