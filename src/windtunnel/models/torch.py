"""Torch modules: called with the declared tensor in evaluation mode, without gradients."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.option_names import option
from windtunnel.core.placement import AUTO, CPU, DEFAULT_PRECISION, Placement
from windtunnel.models import FeatureSource, Model, probe_images
from windtunnel.models.devices import hardware_name, torch_device, torch_devices
from windtunnel.models.kinds import Origin
from windtunnel.models.preprocess import Declaration, Preprocess, Tensor
from windtunnel.models.python import BATCH, CallableModel
from windtunnel.models.torch_layers import LayerInput, last_layer


class TorchPredictor:
    """A torch module as a callable from uint8 NHWC images to scores, on the device of its weights.

    In half precision it runs under `torch.autocast`: weights stay as they are.
    """

    def __init__(self, module: Any, tensor: Tensor, precision: str = DEFAULT_PRECISION) -> None:
        self._module = module
        self._tensor = tensor
        self._precision = precision
        first = next(iter(module.parameters()), None)
        self.device = first.device if first is not None else torch.device(CPU)

    def fed_by(self, tensor: Tensor) -> TorchPredictor:
        """The same module with another input tensor."""
        return type(self)(self._module, tensor, self._precision)

    def on(self, device: torch.device, precision: str, *, copies: bool) -> TorchPredictor:
        """The module on a device, moved there or as a copy, in a precision."""
        there = self.device.type == device.type and device.index in (None, self.device.index)
        module = self._module
        if not there:
            module = (copy.deepcopy(module) if copies else module).to(device)
        return type(self)(module, self._tensor, precision)

    @property
    def module(self) -> Any:
        """The module itself."""
        return self._module

    def __call__(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Scores of one batch."""
        with torch.inference_mode():
            scores = self.scores(batch)
        return np.asarray(scores.float().cpu().numpy(), dtype=np.float32)

    def scores(self, batch: NDArray[np.uint8]) -> Any:
        """The same as a tensor, with gradients if the caller enabled them."""
        scores = self.outputs(batch)
        if isinstance(scores, torch.Tensor):
            return scores
        # Some modules wrap their scores in a named field, or return them as the first of several outputs.
        return scores.logits if hasattr(scores, "logits") else scores[0]

    def outputs(self, batch: NDArray[np.uint8]) -> Any:
        """What the module returns for a batch."""
        values = torch.from_numpy(np.ascontiguousarray(self._tensor.apply(batch))).to(self.device)
        with evaluating(self._module), _arithmetic(self.device, self._precision):
            return self._module(values)


class TorchModel(CallableModel):
    """A classifier that is a torch module.

    Attributes:
        predictor: how the module is called.

    Args:
        module: the module.
        origin: its origin.
        kind: the name of its kind.
        fingerprint: hash of its weights and graph; by default that of its state.
        declaration: its declaration; by default that of its origin.
    """

    own_arithmetic = False
    predictor = TorchPredictor

    def __init__(
        self,
        module: Any,
        origin: Origin,
        kind: str = "torch",
        fingerprint: str = "",
        declaration: Declaration | None = None,
    ) -> None:
        declaration = declaration or origin.declaration
        self._torch = self.predictor(module, declaration.preprocess.tensor)
        super().__init__(
            self._torch,
            kind,
            declaration,
            origin.name,
            fingerprint or state_fingerprint(module),
            origin.data_size,
            portable=origin.portable,
        )

    @property
    def gradient_source(self) -> TorchPredictor | None:
        """The module with its input tensor."""
        return self._torch

    def penultimate_features(self) -> FeatureSource | None:
        """What the last layer receives; None if no layer has one output for each class."""
        name = last_layer(self._torch.module, self.class_count)
        if not name:
            return None
        layer = self._torch.module.get_submodule(name)
        return LayerInput(self._torch, layer, self.preprocess, self.probe_size)

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same module with other preprocessing."""
        other = copy.copy(self)
        other.preprocess = preprocess
        other._predictor = other._torch = self._torch.fed_by(preprocess.tensor)
        return other

    def placed(self, placement: Placement) -> Model:
        """The same module on a device and in a precision.

        A live module is copied to another device, since it belongs to the caller; the module of a factory is
        moved.
        """
        wanted = placement.completed_by(self.placement)
        device = self._device_for(wanted)
        precision = str(wanted.precision)
        try:
            predictor = self._torch.on(device, precision, copies=not self.portable)
        except Exception as error:  # of the module's own code, or a device that is full
            raise UserError(
                f"{self.name} cannot be moved to {device}: {first_line(error)}. Give {option('device', CPU)}."
            ) from error
        unchanged = predictor.module is self._torch.module and precision == DEFAULT_PRECISION
        hardware = hardware_name(device)
        other = self._at(Placement(str(device), precision, wanted.batch), BATCH, hardware)
        other._predictor = other._torch = predictor
        if not unchanged:
            other._check_placement()
        return other

    def _device_for(self, wanted: Placement) -> torch.device:
        """The device that was asked for; by default a factory's module on the CPU moves to a GPU."""
        current = self._torch.device
        if wanted.device not in (AUTO, str(current)):
            return torch_device(wanted, self.name)
        moves = wanted.device == AUTO and self.portable and current.type == CPU
        return torch.device("cuda") if moves and "cuda:0" in torch_devices() else current

    def _check_placement(self) -> None:
        """Refuse a device or precision in which two plain images cannot be predicted."""
        place = f"{self.name} on {self.placement.device} in {self.placement.precision}"
        try:
            scores = self.predict(probe_images(self.preprocess, 2, self.probe_size))
        except UserError:
            raise
        except Exception as error:  # of the module's own code
            raise UserError(
                f"{place} fails on two images: {first_line(error)}. Give another {option('device')} or "
                f"{option('precision')}."
            ) from error
        if not self._all_finite(scores):
            raise UserError(
                f"{place} returns non-finite numbers for a plain image; give "
                f"{option('precision', 'bfloat16')} or {option('precision', DEFAULT_PRECISION)}."
            )


@contextmanager
def _arithmetic(device: torch.device, precision: str) -> Iterator[None]:
    """The precision of a forward pass; on CUDA without TensorFloat-32 and by deterministic algorithms."""
    with ExitStack() as contexts:
        if device.type == "cuda":
            enabled = torch.backends.cudnn.enabled
            flags = torch.backends.cudnn.flags(enabled=enabled, deterministic=True, allow_tf32=False)
            contexts.enter_context(flags)
        if precision != DEFAULT_PRECISION:
            contexts.enter_context(torch.autocast(device.type, dtype=getattr(torch, precision)))
        yield


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode inside the context; afterwards every submodule has its own mode again."""
    # The parts of a frozen TorchScript program have no mode.
    modes = [(part, part.training) for part in module.modules() if hasattr(part, "training")]
    if not any(training for _, training in modes):
        yield
        return
    module.eval()
    try:
        yield
    finally:
        # Some modules do more in train() than change the flag, such as undo a merge of weights.
        module.train(modes[0][1])
        for part, training in modes:
            part.training = training


def state_fingerprint(module: Any, without: str = "") -> str:
    """Hash of a module's class and of every tensor of its state, in order of their names.

    The state of the layer `without` is left out.
    """
    digest = hashlib.blake2b(type(module).__qualname__.encode(), digest_size=16)
    for name, value in sorted(module.state_dict().items()):
        if without and name.startswith(f"{without}."):
            continue
        digest.update(name.encode())
        if isinstance(value, torch.Tensor):
            digest.update(str(tuple(value.shape)).encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
