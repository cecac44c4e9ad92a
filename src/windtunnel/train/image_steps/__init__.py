"""Image steps, one file each: changes of one training image after its crop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windtunnel.core.calls import Call, CalledPlugin, Parameter, Settings
from windtunnel.core.errors import RunFailed
from windtunnel.core.images import Image
from windtunnel.core.registry import Registry
from windtunnel.core.seeding import Draws

__all__ = ["REGISTRY", "Image", "ImageStep", "Parameter", "Settings", "applied"]


class ImageStep(CalledPlugin):
    """A change of one training image. A subclass declares facts and overrides `apply`.

    Attributes:
        random: whether it draws random numbers. The others are preprocessing: they also change the images
            that losses compare views with.
        wrapper: the wrapper that does the same at test time, which the trained model's TOML then declares;
            its parameters are those of the step. "" for none.
        trained_on: what a model has seen that was trained with it, as `trained_on` in a model's TOML names
            it, such as `gaussian_noise`.
    """

    random: bool = True
    wrapper: str = ""
    trained_on: tuple[str, ...] = ()

    def __init__(self) -> None:
        missing = ["apply(image, rng, settings)"] if type(self).apply is ImageStep.apply else []
        self.refuse_incomplete(("name", "help", "source"), missing)

    def is_active(self, settings: Settings) -> bool:
        """Whether the step changes anything with these settings."""
        return settings.get("probability") != 0

    def apply(self, image: Image, rng: Draws, settings: Settings) -> Image:
        """A changed uint8 image of the same shape; the given one is not modified."""
        raise NotImplementedError


REGISTRY: Registry[ImageStep] = Registry("image step", __name__, ImageStep)


def applied(
    image: Image, calls: Sequence[Call[ImageStep]], seed: int, epoch: int, image_id: str, version: str
) -> Image:
    """An image after all steps; draws depend on seed, epoch, image, version and the step's position."""
    for position, call in enumerate(calls):
        draws = Draws(seed, image_id, f"train/step/{version}/{position}/{call.plugin.name}", epoch)
        changed = call.plugin.apply(np.require(image, requirements="C"), draws, call.settings)
        if not isinstance(changed, np.ndarray) or changed.dtype != np.uint8 or changed.shape != image.shape:
            returned = (
                f"{changed.dtype} {changed.shape}"
                if isinstance(changed, np.ndarray)
                else type(changed).__name__
            )
            raise RunFailed(
                f"The image step {call.plugin.name} returns {returned}; return uint8 {image.shape} as given."
            )
        image = changed
    return image
