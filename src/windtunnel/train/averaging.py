"""Exponential moving average of a module's weights, and the batch-norm statistics that belong to it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.swa_utils import update_bn

from windtunnel.core.errors import UserError, first_line


class AveragedWeights:
    """a <- d * a + (1 - d) * w after every step, from the weights at the start; buffers are copied.

    d is min(decay, (1 + n) / (10 + n)) in step n, counted from 0, so that a short training does not keep the
    weights at its start.

    Attributes:
        module: a copy of the module with the averaged weights, in evaluation mode.
    """

    def __init__(self, module: Any, decay: float) -> None:
        self._decay = decay
        self.module = frozen_copy(module)

    def update(self, module: Any, step: int) -> None:
        """Add the weights of the module after a step of the training, counted from 0."""
        decay = min(self._decay, (1 + step) / (10 + step))
        with torch.no_grad():
            for average, weight in zip(self.module.parameters(), module.parameters(), strict=True):
                average.lerp_(weight, 1 - decay)
            for own, buffer in zip(self.module.buffers(), module.buffers(), strict=True):
                own.copy_(buffer)

    def recompute_statistics(self, inputs: Iterable[torch.Tensor], seed: int) -> None:
        """Replace batch-norm statistics by those of the averaged weights, over batches of inputs.

        The copied ones belong to the weights of the last step.
        """
        torch.manual_seed(seed)  # for dropout and similar layers
        update_bn(inputs, self.module)


def frozen_copy(module: Any) -> Any:
    """A copy of a module in evaluation mode without gradients; refuses a module that cannot be copied."""
    try:
        copied = copy.deepcopy(module)
    except Exception as error:  # of the user's module
        raise UserError(
            f"The module cannot be copied ({first_line(error)}), which averaged weights and a teacher need; "
            "change that part of the module, or leave ema and distillation out."
        ) from error
    return copied.eval().requires_grad_(False)
