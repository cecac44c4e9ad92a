"""Remedies in training: image steps, a batch step, a loss, averaged weights and frozen layers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import torch

from windtunnel.core.calls import Call, CalledPlugin, call_text, parse_call
from windtunnel.core.errors import RunFailed, UserError, first_line
from windtunnel.core.registry import Registry
from windtunnel.core.training_records import RemediesRecord, RemedyRecord
from windtunnel.core.wording import article
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.models.preprocess import Tensor
from windtunnel.train.averaging import frozen_copy
from windtunnel.train.batch_steps import REGISTRY as BATCH_STEPS
from windtunnel.train.batch_steps import BatchStep
from windtunnel.train.image_steps import REGISTRY as IMAGE_STEPS
from windtunnel.train.image_steps import ImageStep, applied
from windtunnel.train.losses import REGISTRY as LOSSES
from windtunnel.train.losses import Loss
from windtunnel.train.module_checks import check_input_gradient

P = TypeVar("P", bound=CalledPlugin)

FIELDS: dict[str, Registry[Any]] = {"images": IMAGE_STEPS, "batch": BATCH_STEPS, "loss": LOSSES}


@dataclass(frozen=True)
class Remedies:
    """Methods that make a model more robust, as texts such as `augmix` or `mixup(alpha=1)`.

    Attributes:
        images: changes of each training image after its crop and its corruption, in this order.
        batch: a change of every batch; "" for none.
        loss: what is minimised.
        ema: the decay of an exponential moving average of the weights, which the trained model gets; 0 for
            none.
        layers: `all`, or `last` to train only the last layer.
    """

    images: tuple[str, ...] = ()
    batch: str = ""
    loss: str = "cross_entropy"
    ema: float = 0.0
    layers: Literal["all", "last"] = "all"

    def __post_init__(self) -> None:
        if not isinstance(self.images, list | tuple) or not all(
            isinstance(text, str) for text in self.images
        ):
            raise UserError(f"images is {self.images!r}; give a tuple of image steps, such as ('augmix',).")
        for name in ("batch", "loss"):
            if not isinstance(getattr(self, name), str):
                raise UserError(f"{name} is {getattr(self, name)!r}; give a text.")
        if isinstance(self.ema, bool) or not isinstance(self.ema, int | float) or not 0 <= self.ema < 1:
            raise UserError(f"ema is {self.ema!r}; give a number from 0 (none) to below 1, such as 0.999.")
        if self.layers not in ("all", "last"):
            raise UserError(f"layers is {self.layers!r}; give 'all' or 'last'.")
        self._refuse_misplaced()
        self._check_combination()

    def _refuse_misplaced(self) -> None:
        """Refuse a step or a loss in the field of another kind, and a corruption in any."""
        for field, registry in FIELDS.items():
            given = getattr(self, field)
            for text in (given,) if isinstance(given, str) else given:
                name = text.partition("(")[0].strip()
                if not name or name in registry:
                    continue
                for other, place in FIELDS.items():
                    if name in place:
                        raise UserError(
                            f"{field} has {name}, which is {article(place.kind)}; give it as {other}."
                        )
                if name.partition(":")[0] in CORRUPTIONS:
                    raise UserError(
                        f"{field} has {name}, which is a corruption; give it as a corruption of "
                        "Augmentation, with corrupted_copies."
                    )

    def _check_combination(self) -> None:
        steps, batch, loss = self.image_calls(), self.batch_call(), self.loss_call()
        name = loss.plugin.name
        if loss.plugin.views and not any(
            call.plugin.random and call.plugin.is_active(call.settings) for call in steps
        ):
            raise UserError(
                f"{name} compares {1 + loss.plugin.views} versions of each image, and images has no random "
                "step that makes them different; add one, such as augmix."
            )
        for call, following in itertools.pairwise(steps):
            if call.plugin.wrapper and not following.plugin.wrapper:
                raise UserError(
                    f"{call.plugin.name} is followed by {following.plugin.name}, but at test time it is the "
                    f"last change of an image; put {call.plugin.name} last."
                )
        if batch and (not loss.plugin.mixable or (loss.plugin.attacks and batch.plugin.changes_module)):
            raise UserError(
                f"{name} cannot be combined with {batch.plugin.name}; leave one of batch and loss out."
            )
        if loss.plugin.teacher(loss.settings) == "average" and not self.ema:
            raise UserError(f"{name} takes the averaged weights as its teacher; give ema, such as 0.999.")
        loss.plugin.check(loss.settings, self)

    def image_calls(self) -> list[Call[ImageStep]]:
        """The image steps, in the order of application."""
        return [parse_call(text, IMAGE_STEPS) for text in self.images]

    def batch_call(self) -> Call[BatchStep] | None:
        """The batch step; None for none."""
        return parse_call(self.batch, BATCH_STEPS) if self.batch else None

    def loss_call(self) -> Call[Loss]:
        """The loss."""
        return parse_call(self.loss, LOSSES)

    def check_images(self, side_px: int) -> None:
        """Refuse image steps that fail on an image of the module's size, or draw other numbers each time."""
        image = np.random.default_rng(0).integers(0, 256, (side_px, side_px, 3), np.uint8)
        for call in self.image_calls():
            name = call.plugin.name
            try:
                first, second = (applied(image, [call], 0, 0, "trial", "0") for _ in range(2))
            except (UserError, RunFailed):
                raise
            except Exception as error:  # of a third-party step
                raise UserError(
                    f"The image step {name} fails on an image of {side_px} pixels: {type(error).__name__}: "
                    f"{first_line(error)}. Change its parameters or correct its code."
                ) from error
            if not np.array_equal(first, second):
                raise UserError(f"The image step {name} gives other pixels each time; draw only from rng.")

    def check_tensor(self, tensor: Tensor) -> None:
        """Refuse inputs of bytes if a remedy computes with inputs."""
        changing = self.batch_call() or (self.loss_call() if self.loss_call().plugin.changes_inputs else None)
        if changing and tensor.dtype == "uint8":
            raise UserError(
                f"{changing.plugin.name} changes the inputs of the module, which are bytes; give a "
                "preprocessing with dtype = 'float32'."
            )

    def check_module(self, module: Any, inputs: torch.Tensor) -> None:
        """Refuse a module that cannot be attacked, changed by the batch step, or copied, if that is needed.

        Attack and batch step see it in evaluation mode.
        """
        loss = self.loss_call()
        if self.ema or loss.plugin.teacher(loss.settings):
            frozen_copy(module)
        if loss.plugin.attacks:
            check_input_gradient(module, inputs, loss.plugin.name)
        if batch := self.batch_call():
            training = module.training
            try:
                batch.plugin.check_module(module.eval(), batch.settings, inputs)
            finally:
                module.train(training)

    def trained_on(self) -> tuple[str, ...]:
        """Corruptions that the model has seen, as `trained_on` of its TOML names them."""
        batch = self.batch_call()
        calls: list[Call[Any]] = [*self.image_calls(), *([batch] if batch else []), self.loss_call()]
        named = [
            name for call in calls if call.plugin.is_active(call.settings) for name in call.plugin.trained_on
        ]
        return tuple(dict.fromkeys(named))

    def trained_with(self) -> tuple[str, ...]:
        """Steps and loss with all their parameters, ema and layers, as the model's TOML lists them."""
        batch, loss = self.batch_call(), self.loss_call()
        calls: list[Call[Any]] = [*self.image_calls(), *([batch] if batch else [])]
        if loss != Remedies().loss_call():
            calls.append(loss)
        others = [f"ema={self.ema:g}"] if self.ema else []
        others += [f"layers={self.layers}"] if self.layers != "all" else []
        return (*(call.text for call in calls), *others)

    def wrappers(self) -> tuple[str, ...]:
        """The wrappers that do at test time what image steps do in training."""
        return tuple(
            call_text(call.plugin.wrapper, call.settings)
            for call in self.image_calls()
            if call.plugin.wrapper
        )

    def record(self) -> RemediesRecord | None:
        """The remedies as recipes store them; None for none."""
        record, none = (_record(remedies) for remedies in (self, Remedies()))
        return None if record == none else record


def _record(remedies: Remedies) -> RemediesRecord:
    batch = remedies.batch_call()
    return RemediesRecord(
        images=tuple(map(_call_record, remedies.image_calls())),
        batch=_call_record(batch) if batch else None,
        loss=_call_record(remedies.loss_call()),
        ema=float(remedies.ema),
        layers=remedies.layers,
    )


def _call_record(call: Call[P]) -> RemedyRecord:
    return RemedyRecord(call.plugin.name, dict(call.settings), call.plugin.assets())
