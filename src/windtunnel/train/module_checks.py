"""Checks of a module before its training: its type, its device, and whether it takes the images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.torch import evaluating
from windtunnel.train.views import training_side

MOST_SHOWN = 60


def check_types(module: object, **given: tuple[object, type]) -> None:
    """Refuse a module or an argument of a wrong type; `given` has the value and the type of each."""
    if not isinstance(module, torch.nn.Module):
        shown = f"the class {module.__name__}" if isinstance(module, type) else repr(module)[:MOST_SHOWN]
        raise UserError(f"module is {shown}; give a torch module, such as torch.nn.Sequential(...).")
    for name, (value, type_) in given.items():
        if not isinstance(value, type_):
            raise UserError(
                f"{name} is {repr(value)[:MOST_SHOWN]}; give windtunnel.train.{type_.__name__}(...), or "
                "leave it out."
            )


def torch_device(name: str) -> torch.device:
    """The device; refuses one that is not available."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch's errors for devices
        raise UserError(f"device is '{name}', which torch does not have here; give cpu or auto.") from error
    return device


def blank_inputs(preprocess: Preprocess, place: torch.device) -> torch.Tensor:
    """The module's input for two blank images."""
    side_px = training_side(preprocess.geometry)
    blank = preprocess.tensor.apply(np.zeros((2, side_px, side_px, 3), np.uint8))
    return torch.from_numpy(blank).to(place)


def check_fits(module: Any, preprocess: Preprocess, classes: int, place: torch.device) -> None:
    """Apply a module to two blank images; refuses one that fails or does not return class scores."""
    blank = blank_inputs(preprocess, place)
    training = module.training
    try:
        with torch.no_grad():
            scores = module.eval()(blank)
    except Exception as error:  # of the user's module
        reason = " ".join(str(error).split())
        kind = str(blank.dtype).removeprefix("torch.")
        raise UserError(
            f"The module cannot take what the preprocessing gives, {kind} of shape {tuple(blank.shape)}: "
            f"{reason}"
        ) from error
    finally:
        module.train(training)
    shape = tuple(getattr(scores, "shape", ()))
    if shape != (2, classes):
        raise UserError(
            f"The module returns {f'a {type(scores).__name__}' if not shape else f'shape {shape}'} for 2 "
            f"images, but the data has {classes} classes; give a module with an output of (2, {classes})."
        )


def check_input_gradient(module: Any, inputs: torch.Tensor, loss: str) -> None:
    """Refuse a module whose scores have no gradient with respect to its inputs, which attacks need."""
    inputs = inputs.clone().requires_grad_()
    try:
        with evaluating(module), torch.enable_grad():
            torch.autograd.grad(module(inputs).sum(), inputs)
    except RuntimeError as error:  # of torch, or of the user's module
        raise UserError(
            f"{loss} attacks images by the gradient of the module's scores, and the module has none "
            f"({first_line(error)}); change that part of the module, or give another loss."
        ) from error
