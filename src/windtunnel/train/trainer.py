"""One epoch of a training: steps of the optimiser on batches, with the remedies."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from windtunnel.core.calls import Call
from windtunnel.core.errors import UserError
from windtunnel.core.seeding import digest64
from windtunnel.models.preprocess import Preprocess
from windtunnel.store.training_folder import EpochRow
from windtunnel.train.averaging import AveragedWeights, frozen_copy
from windtunnel.train.batch_steps import BatchStep
from windtunnel.train.losses import Loss
from windtunnel.train.remedies import Remedies
from windtunnel.train.settings import Settings
from windtunnel.train.step import PixelRange, Step, training_step
from windtunnel.train.trained_layers import set_training_mode
from windtunnel.train.views import Batch


@dataclass(frozen=True)
class Trainer:
    """A module with its optimiser and remedies.

    Attributes:
        average: the moving average of the weights; None for none.
        start: the module as it was at the start, if the loss has it as its teacher; else None.
    """

    module: Any
    optimiser: Any
    place: torch.device
    preprocess: Preprocess
    settings: Settings
    classes: int
    layers: str
    pixels: PixelRange
    loss: Call[Loss]
    batch: Call[BatchStep] | None
    average: AveragedWeights | None
    start: Any

    @classmethod
    def of(
        cls,
        module: Any,
        optimiser: Any,
        place: torch.device,
        preprocess: Preprocess,
        settings: Settings,
        remedies: Remedies,
        classes: int,
    ) -> Trainer:
        """A trainer of a module that was not trained yet."""
        loss = remedies.loss_call()
        return cls(
            module=module,
            optimiser=optimiser,
            place=place,
            preprocess=preprocess,
            settings=settings,
            classes=classes,
            layers=remedies.layers,
            pixels=PixelRange.of(preprocess.tensor, place),
            loss=loss,
            batch=remedies.batch_call(),
            average=AveragedWeights(module, remedies.ema) if remedies.ema else None,
            start=frozen_copy(module) if loss.plugin.teacher(loss.settings) == "start" else None,
        )

    def modules(self) -> dict[str, Any]:
        """The modules whose weights a checkpoint contains, by their names in it."""
        modules = {"module": self.module}
        if self.average is not None:
            modules["average"] = self.average.module
        if self.start is not None:
            modules["start"] = self.start
        return modules

    def epoch(self, views: Iterable[Batch], epoch: int, steps: int) -> EpochRow:
        """One pass over the images."""
        began = time.monotonic()
        set_training_mode(self.module, self.layers, self.classes)
        torch.manual_seed((self.settings.seed * 1_000_003 + epoch) % 2**64)  # for dropout and similar layers
        if self.settings.resets_momentum_before(epoch):
            self.optimiser.state.clear()
        total, correct, seen = 0.0, 0, 0
        for number, (images, labels) in enumerate(views):
            for group in self.optimiser.param_groups:
                group["lr"] = self.settings.learning_rate_at(epoch, number, steps)
            loss, right = self._step(self._prepared(images, labels, epoch, number), epoch, number)
            total, correct, seen = total + loss * len(labels), correct + right, seen + len(labels)
        # The last step of the epoch can spoil the weights although its loss was finite.
        if not all(bool(torch.isfinite(value).all()) for value in self.module.parameters()):
            raise _not_finite("weights are", epoch)
        return EpochRow(
            loss=total / seen,
            learning_rate=self.settings.learning_rate_at(epoch, 0, steps),
            seconds=time.monotonic() - began,
            accuracy=correct / seen,
        )

    def _prepared(
        self, images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], epoch: int, number: int
    ) -> Step:
        array = np.ascontiguousarray(self.preprocess.tensor.apply(images))
        inputs, *views = torch.from_numpy(array).to(self.place).split(len(labels))
        return training_step(
            self.module,
            inputs,
            torch.from_numpy(labels).to(self.place),
            self.classes,
            self.pixels,
            digest64("train/step", self.settings.seed, epoch, number),
            views=tuple(views),
            teacher=self._teacher(),
        )

    def _teacher(self) -> Any:
        kind = self.loss.plugin.teacher(self.loss.settings)
        return self.average.module if kind == "average" and self.average is not None else self.start

    def _step(self, step: Step, epoch: int, number: int) -> tuple[float, int]:
        """Change the weights; returns the loss, and the number of images that were classified correctly."""
        batch = self.batch
        with batch.plugin.applied(step, batch.settings) if batch else nullcontext(step) as changed:
            loss, logits = self.loss.plugin.value(changed, self.loss.settings)
            value = loss.item()
            if not np.isfinite(value):
                raise _not_finite("loss is", epoch, f", step {number + 1}")
            self.optimiser.zero_grad()
            loss.backward()
        self.optimiser.step()
        if self.average is not None:
            self.average.update(self.module)
        return value, changed.correct(logits)


class NotFinite(UserError):
    """A loss or weights are no longer finite; the last checkpoint is good."""


def _not_finite(what: str, epoch: int, where: str = "") -> NotFinite:
    kept = f"; the checkpoint of epoch {epoch} is kept" if epoch else ""
    return NotFinite(f"The {what} no longer finite in epoch {epoch + 1}{where}; lower learning_rate{kept}.")
