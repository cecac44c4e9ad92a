"""The layers that a training changes: all, or only the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from windtunnel.core.errors import UserError
from windtunnel.models.torch import evaluating
from windtunnel.models.torch_layers import last_layer


def check_layers(module: Any, layers: str, classes: int, inputs: torch.Tensor) -> None:
    """Refuse to train the last layer of a module whose last layer has no output for each class.

    The module is applied to the inputs, because layers may be registered in another order than they are used.
    """
    if layers != "last":
        return
    last = last_layer(module, classes)
    if not last:
        raise UserError(
            f"layers is 'last', and the module has no linear layer or convolution of {classes} outputs; give "
            "'all'."
        )
    used = _last_used(module, inputs)
    if used != last:
        raise UserError(
            f"layers is 'last', and the last layer with weights that the module uses is {used or 'none'}, "
            f"not {last}, the last one of {classes} outputs that it registers; give 'all', or register the "
            "layers in the order of their use."
        )


def _last_used(module: Any, inputs: torch.Tensor) -> str:
    """The name of the layer with weights that a forward pass in evaluation mode enters last; "" for none."""
    entered: list[str] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _layer, _inputs, name=name: entered.append(name))
        for name, layer in module.named_modules()
        if name and next(layer.parameters(recurse=False), None) is not None
    ]
    try:
        with evaluating(module), torch.no_grad():
            module(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return entered[-1] if entered else ""


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
    """Put a module into training mode; everything that is frozen is in evaluation mode."""
    if layers == "all":
        module.train()
        return
    module.eval()
    last = module.get_submodule(last_layer(module, classes))
    for layer in last.modules():
        layer.training = True
