"""Torch modules."""

from __future__ import annotations

import sys
from pathlib import Path

from windtunnel.core.records import DEFAULT_TASK
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin
from windtunnel.models.python import live_origin


class Torch(ModelKind):
    """A live torch module."""

    name = "torch"
    help = "a torch module, in evaluation mode and without gradients, on the device of its weights"
    form = "a module in Python, or what a factory returns"
    extra = "torch"
    live = True
    priority = 30

    def recognises(self, source: object) -> bool:
        """Whether the source is a torch module, without importing torch."""
        library = sys.modules.get("torch")
        return library is not None and isinstance(source, library.nn.Module)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The module as a model of this process."""
        return self.wrap(source, live_origin(source, preprocess, data_size))

    def wrap(self, made: object, origin: Origin) -> Model:
        """The module as a model."""
        if origin.declaration.task == DEFAULT_TASK:
            from windtunnel.models.torch import TorchModel

            return TorchModel(made, origin)
        from windtunnel.models.torch_detector import TorchDetector

        return TorchDetector(made, origin)


torch = Torch()
