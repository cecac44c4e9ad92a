"""Batch steps, one file each: changes of a batch of training images and of their targets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from windtunnel.core.calls import CalledPlugin, Parameter, Settings
from windtunnel.core.registry import Registry

if TYPE_CHECKING:
    from windtunnel.train.step import Step

__all__ = ["REGISTRY", "BatchStep", "Parameter", "Settings", "mixed_targets", "partners"]


class BatchStep(CalledPlugin):
    """A change of a batch. A subclass declares facts and overrides `changed`, or `applied` to clean up.

    Attributes:
        changes_module: whether it changes features inside the module; losses with attacks are then refused.
        trained_on: what a model has seen that was trained with it, as `trained_on` in a model's TOML names
            it.
    """

    changes_module: bool = False
    trained_on: tuple[str, ...] = ()

    def __init__(self) -> None:
        own = type(self)
        missing = (
            ["changed(step, settings)"]
            if own.changed is BatchStep.changed and own.applied is BatchStep.applied
            else []
        )
        self.refuse_incomplete(("name", "help", "source"), missing)

    def is_active(self, settings: Settings) -> bool:
        """Whether the step changes anything with these settings."""
        return settings.get("probability") != 0

    def changed(self, step: Step, settings: Settings) -> Step:
        """The step with other inputs, views and targets."""
        raise NotImplementedError

    @contextmanager
    def applied(self, step: Step, settings: Settings) -> Iterator[Step]:
        """The changed step, for the time in which its loss is computed."""
        yield self.changed(step, settings)

    def check_module(self, module: Any, settings: Settings, inputs: torch.Tensor) -> None:
        """Refuse a module that the step cannot change; `inputs` are an example of a batch."""


REGISTRY: Registry[BatchStep] = Registry("batch step", __name__, BatchStep)


def mixed_targets(step: Step, partner: torch.Tensor, share: float) -> Step:
    """The step with `share` of each image's own target and the rest of its partner's."""
    targets = share * step.targets + (1 - share) * step.targets[partner]
    return replace(step, targets=targets, labels=None)


def partners(step: Step, rng: np.random.Generator) -> torch.Tensor:
    """The row of another image for each image of the batch, at random; an image can be its own partner."""
    return torch.from_numpy(rng.permutation(len(step.inputs))).to(step.inputs.device)
