"""The layers that a training changes: all, or only the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.models.torch_layers import last_layer


def check_layers(module: Any, layers: str, classes: int) -> None:
    """Refuse to train the last layer of a module that has none with an output for each class."""
    if layers == "last" and not last_layer(module, classes):
        raise UserError(
            f"layers is 'last', and the module has no linear layer or convolution of {classes} outputs; give "
            "'all'."
        )


@contextmanager
def trained_parameters(module: Any, layers: str, classes: int) -> Iterator[list[Any]]:
    """The parameters that are trained; the others need no gradient in the meantime."""
    if layers == "all":
        yield list(module.parameters())
        return
    before = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
    trained = list(module.get_submodule(last_layer(module, classes)).parameters())
    for parameter, _ in before:
        parameter.requires_grad_(any(parameter is own for own in trained))
    try:
        yield trained
    finally:
        for parameter, needed in before:
            parameter.requires_grad_(needed)


def set_training_mode(module: Any, layers: str, classes: int) -> None:
    """Put a module into training mode; frozen layers with running statistics stay in evaluation mode."""
    module.train()
    if layers == "last":
        last = module.get_submodule(last_layer(module, classes))
        for layer in module.modules():
            if layer is not last and next(layer.buffers(recurse=False), None) is not None:
                layer.train(False)
