"""One training step: what a batch step changes and a loss receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from windtunnel.core.seeding import digest64
from windtunnel.models.preprocess import Tensor


@dataclass(frozen=True)
class PixelRange:
    """The inputs of a module in units of pixels, where 0 is black and 1 is the largest value.

    All have one value per channel and broadcast with a batch of inputs.

    Attributes:
        unit: the change of an input when its pixel changes by 1, the full range.
        low, high: the smallest and largest input of a valid pixel.
        channel_axis: the axis of the channels in a batch: 1, or 3 if they are last.
    """

    unit: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor
    channel_axis: int = 1

    @classmethod
    def of(cls, tensor: Tensor, place: torch.device | str = "cpu") -> PixelRange:
        """The range of a preprocessing's tensor."""
        shape = (1, -1, 1, 1) if tensor.layout == "nchw" else (1, 1, 1, -1)
        mean, std = np.asarray(tensor.mean, float), np.asarray(tensor.std, float)
        black, white = (0 - mean) / std, (255 / tensor.divisor - mean) / std
        values = (np.abs(white - black), np.minimum(black, white), np.maximum(black, white))
        unit, low, high = (
            torch.tensor(value.reshape(shape), dtype=torch.float32).to(place) for value in values
        )
        return cls(unit, low, high, shape.index(-1))

    def clipped(self, inputs: torch.Tensor) -> torch.Tensor:
        """Inputs limited to those of valid pixels."""
        return torch.minimum(torch.maximum(inputs, self.low), self.high)


@dataclass(frozen=True)
class Step:
    """A batch on its way through a training step. Batch steps and losses make changed copies of it.

    Attributes:
        module: the module, in training mode.
        inputs: the normalised images (n, ...).
        targets: the probability of each class (n, k); sums are 1.
        pixels: the scale of the inputs; sigmas and epsilons are in its units.
        key: 64 random bits of this step, from seed, epoch and number of the step.
        generator: a generator of torch on the CPU, seeded by the key; draw with `normal` and `uniform`.
        labels: the class of each image (n,); None if targets are mixed.
        views: further versions of the same images, each like `inputs`, for losses that need them.
        teacher: a second module in evaluation mode without gradients, for losses that declare one.
    """

    module: Any
    inputs: torch.Tensor
    targets: torch.Tensor
    pixels: PixelRange
    key: int
    generator: torch.Generator
    labels: torch.Tensor | None = None
    views: tuple[torch.Tensor, ...] = ()
    teacher: Any = None

    def normal(self) -> torch.Tensor:
        """Standard normal numbers in the shape of the inputs, the same on every device."""
        return self._placed(torch.randn(self.inputs.shape, generator=self.generator))

    def uniform(self) -> torch.Tensor:
        """Uniform numbers in [0, 1) in the shape of the inputs, the same on every device."""
        return self._placed(torch.rand(self.inputs.shape, generator=self.generator))

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of NumPy for one purpose, independent of others."""
        return np.random.default_rng(digest64(self.key, purpose))

    def cross_entropy(self, logits: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """Mean cross-entropy of logits and the targets, which are smoothed first."""
        targets = self.targets if self.labels is None else self.labels
        return torch.nn.functional.cross_entropy(logits, targets, label_smoothing=smoothing)

    def correct(self, logits: torch.Tensor) -> int:
        """The number of images whose largest logit is that of the most probable class."""
        return int((logits.argmax(dim=1) == self.targets.argmax(dim=1)).sum())

    def _placed(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.to(self.inputs.device, self.inputs.dtype)


def training_step(
    module: Any,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    classes: int,
    pixels: PixelRange,
    key: int,
    *,
    views: tuple[torch.Tensor, ...] = (),
    teacher: Any = None,
) -> Step:
    """The step of a batch with one class for each image."""
    return Step(
        module=module,
        inputs=inputs,
        targets=torch.nn.functional.one_hot(labels, classes).to(torch.float32),
        pixels=pixels,
        key=key,
        generator=torch.Generator().manual_seed(key >> 1),
        labels=labels,
        views=views,
        teacher=teacher,
    )
