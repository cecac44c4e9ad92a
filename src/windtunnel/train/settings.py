"""Settings of a training: optimiser, schedule of the learning rate, and training images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.imaging.crops import AREA, Area

# The numeric settings, with the smallest allowed value of each.
LEAST: tuple[tuple[str, int, Any], ...] = (
    ("epochs", 1, int),
    ("batch", 1, int),
    ("learning_rate", 0, int | float),
    ("momentum", 0, int | float),
    ("weight_decay", 0, int | float),
    ("seed", 0, int),
)


@dataclass(frozen=True)
class Settings:
    """How a module is trained: SGD with momentum and a schedule of the learning rate.

    Attributes:
        epochs: passes over the images; each leaves out a last batch that is too small.
        batch: images per step.
        learning_rate: the learning rate at the start.
        momentum, weight_decay: settings of the optimiser.
        area: the smallest and largest share of an image's area for random crops.
        mirror: whether half of the images are mirrored; not for text and digits.
        seed: seed of crops, order, mixing and corruptions; the caller initialises the module's weights.
        drop_after: the epochs after which the learning rate is divided by ten; without any, it follows a
            cosine to 0.
        reset_momentum: whether momentum starts again at 0 after each division.
    """

    epochs: int = 10
    batch: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    area: Area = AREA
    mirror: bool = True
    seed: int = 0
    drop_after: tuple[int, ...] = ()
    reset_momentum: bool = False

    def __post_init__(self) -> None:
        for name, least, type_ in LEAST:
            value = getattr(self, name)
            if not isinstance(value, type_) or isinstance(value, bool) or not least <= value < math.inf:
                what = "a whole number" if type_ is int else "a number"
                raise UserError(f"{name} is {value!r}; give {what} of at least {least}.")
        if not self.learning_rate:
            raise UserError("learning_rate is 0, which learns nothing; give a number above 0, such as 0.1.")
        if not isinstance(self.area, list | tuple) or len(self.area) != 2:
            raise UserError(f"area is {self.area!r}; give two shares, such as {AREA}.")
        if not 0 < self.area[0] <= self.area[1] <= 1:
            raise UserError(f"area is {self.area}; give two shares between 0 and 1, the smaller first.")
        given = self.drop_after
        if not isinstance(given, list | tuple) or any(type(epoch) is not int or epoch < 1 for epoch in given):
            raise UserError(f"drop_after is {given!r}; give a tuple of epochs, such as (20, 30).")

    def learning_rate_at(self, epoch: int, step: int, steps: int) -> float:
        """The learning rate in a step of an epoch of that many steps, all counted from 0."""
        if self.drop_after:
            return self.learning_rate * 0.1 ** sum(epoch >= drop for drop in self.drop_after)
        share = (epoch * steps + step) / (self.epochs * steps)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * share))

    def resets_momentum_before(self, epoch: int) -> bool:
        """Whether momentum starts again at 0 in an epoch."""
        return self.reset_momentum and epoch in self.drop_after
