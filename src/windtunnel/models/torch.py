"""Torch modules: called with the declared tensor in evaluation mode, without gradients."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.models import Model
from windtunnel.models.kinds import Origin
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.models.python import CallableModel


class TorchPredictor:
    """A torch module as a callable from uint8 NHWC images to scores, on the device of its weights."""

    def __init__(self, module: Any, tensor: Tensor) -> None:
        self._module = module
        self._tensor = tensor
        first = next(iter(module.parameters()), None)
        self._device = first.device if first is not None else torch.device("cpu")

    def fed_by(self, tensor: Tensor) -> TorchPredictor:
        """The same module with another input tensor."""
        return TorchPredictor(self._module, tensor)

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
        values = torch.from_numpy(np.ascontiguousarray(self._tensor.apply(batch))).to(self._device)
        with evaluating(self._module):
            scores = self._module(values)
        if isinstance(scores, torch.Tensor):
            return scores
        # Some modules wrap their scores in a named field, or return them as the first of several outputs.
        return scores.logits if hasattr(scores, "logits") else scores[0]


class TorchModel(CallableModel):
    """A classifier that is a torch module."""

    own_arithmetic = False

    def __init__(self, module: Any, origin: Origin) -> None:
        declaration = origin.declaration
        self._torch = TorchPredictor(module, declaration.preprocess.tensor)
        fingerprint = state_fingerprint(module)
        super().__init__(
            self._torch,
            "torch",
            declaration,
            origin.name,
            fingerprint,
            origin.data_size,
            portable=origin.portable,
        )

    @property
    def gradient_source(self) -> TorchPredictor:
        """The module with its input tensor."""
        return self._torch

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same module with other preprocessing."""
        other = copy.copy(self)
        other.preprocess = preprocess
        other._predictor = other._torch = self._torch.fed_by(preprocess.tensor)
        return other


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode inside the context; afterwards every submodule has its own mode again."""
    modes = [(part, part.training) for part in module.modules()]
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


def state_fingerprint(module: Any) -> str:
    """Hash of a module's class and of every tensor of its state, in order of their names."""
    digest = hashlib.blake2b(type(module).__qualname__.encode(), digest_size=16)
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode())
        if isinstance(value, torch.Tensor):
            digest.update(str(tuple(value.shape)).encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
