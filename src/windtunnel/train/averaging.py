"""Exponential moving average of a module's weights."""

from __future__ import annotations

import copy
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line


class AveragedWeights:
    """a <- decay * a + (1 - decay) * w after every step, from the weights at the start; buffers are copied.

    Attributes:
        module: a copy of the module with the averaged weights, in evaluation mode.
    """

    def __init__(self, module: Any, decay: float) -> None:
        self._decay = decay
        self.module = frozen_copy(module)

    def update(self, module: Any) -> None:
        """Add the weights of the module after a step."""
        with torch.no_grad():
            for average, weight in zip(self.module.parameters(), module.parameters(), strict=True):
                average.lerp_(weight, 1 - self._decay)
            for own, buffer in zip(self.module.buffers(), module.buffers(), strict=True):
                own.copy_(buffer)


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
