"""Losses, one file each: what a training step minimises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from windtunnel.core.calls import CalledPlugin, Parameter, Settings
from windtunnel.core.registry import Registry

if TYPE_CHECKING:
    from windtunnel.train.remedies import Remedies
    from windtunnel.train.step import Step

__all__ = ["REGISTRY", "Loss", "Parameter", "Settings", "Teacher"]

# No second module; the module as it was before training; the moving average of its weights.
Teacher = Literal["", "start", "average"]


class Loss(CalledPlugin):
    """A loss. A subclass declares facts and overrides `value`.

    Attributes:
        views: further versions of each image that it needs, made by the image steps; the inputs are then the
            images without random steps.
        changes_inputs: whether it computes other inputs from the given ones; modules of bytes are refused.
        attacks: whether it needs the gradient of the module's scores with respect to the inputs.
        mixable: whether it can be combined with a batch step.
        trained_on: what a model has seen that was trained with it, as `trained_on` in a model's TOML names
            it, such as `gaussian_noise`.
    """

    views: int = 0
    changes_inputs: bool = False
    attacks: bool = False
    mixable: bool = True
    trained_on: tuple[str, ...] = ()

    def __init__(self) -> None:
        missing = ["value(step, settings)"] if type(self).value is Loss.value else []
        self.refuse_incomplete(("name", "help", "source"), missing)

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean loss of a step, and logits (n, k) from which the training accuracy is computed."""
        raise NotImplementedError

    def is_active(self, settings: Settings) -> bool:
        """Whether the module sees what `trained_on` names with these settings."""
        del settings
        return True

    def teacher(self, settings: Settings) -> Teacher:
        """The module that `step.teacher` is; "" for none."""
        del settings
        return ""

    def check(self, settings: Settings, remedies: Remedies) -> None:
        """Refuse settings that do not fit together, or do not fit the other remedies."""


REGISTRY: Registry[Loss] = Registry("loss", __name__, Loss)
