"""Adversarial training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from windtunnel.core.calls import Value
from windtunnel.core.errors import UserError
from windtunnel.train.attacks import Attack, attacked_inputs
from windtunnel.train.losses import Loss, Parameter, Settings

if TYPE_CHECKING:
    from windtunnel.train.step import Step

EPSILON = 4 / 255


def attack_parameters(epsilon: float, steps: int, step_size: float) -> tuple[Parameter, ...]:
    """The parameters of an attack, with these defaults."""
    return (
        Parameter("norm", "linf", "linf limits the change of each value, l2 that of an image's vector",
                  choices=("linf", "l2")),
        Parameter("epsilon", epsilon, "radius of the ball, in units of the pixel range", 1e-6, 1000.0),
        Parameter("steps", steps, "gradient steps: each costs a forward and a backward pass", 1, 1000),
        Parameter("step_size", step_size, "length of a step; 0 chooses it by epsilon and steps", 0.0, 1000.0),
        Parameter("random_start", 1, "1 starts at a random point of the ball, 0 at the image", 0, 1),
    )  # fmt: skip


def attack_of(settings: Settings) -> Attack:
    """The attack with these settings."""
    return Attack(
        norm="l2" if settings["norm"] == "l2" else "linf",
        epsilon=float(settings["epsilon"]),
        steps=int(settings["steps"]),
        step_size=float(settings["step_size"]),
        random_start=bool(settings["random_start"]),
    )


class AttackingLoss(Loss):
    """A loss with an attack, whose parameters it has."""

    changes_inputs = True
    attacks = True

    def settings(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters, checked; the default radius is for linf only, and that of linf is at most 1."""
        settings = super().settings(given)
        for name in ("epsilon", "step_size"):
            if settings["norm"] == "linf" and (value := float(settings[name])) > 1:
                raise UserError(
                    f"{self.name}: {name} is {value:g}, but pixels are from 0 to 1; give at most 1 with "
                    f"norm=linf. {value:g} of 255 grey levels is {name}={value:g}/255."
                )
        if settings["norm"] != "linf" and "epsilon" not in given:
            raise UserError(
                f"{self.name}: norm is {settings['norm']}, and the default epsilon is for linf; give epsilon "
                "as well, such as epsilon=0.5 for 32 pixels or epsilon=3 for 224."
            )
        return settings


class Adversarial(AttackingLoss):
    """Cross-entropy of attacked images."""

    name = "adversarial"
    help = "Train on attacked images only: one step from a random start (fast), or several (PGD)."
    source = (
        "several steps: Madry et al. 2018; one step from a random start: Wong et al. 2020, whose epsilon for "
        "ImageNet is 2/255 or 4/255, and 8/255 for CIFAR-10. Their code attacks in training mode; "
        "windtunnel attacks in evaluation mode, which can be weaker on the loss that is minimised"
    )
    parameters = attack_parameters(EPSILON, steps=1, step_size=0.0)

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean over attacked images, and their logits."""
        logits = step.module(attacked_inputs(step, attack_of(settings)))
        return step.cross_entropy(logits), logits


adversarial = Adversarial()
