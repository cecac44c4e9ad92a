"""Grad-CAM: which part of an image a torch module's score hangs on, by its gradient.

a_k    = mean over all places of d score / d A_k
map(x) = max(0, sum over k of a_k A_k(x)),  A_k the feature maps that a layer gives

enlarged to the image bilinearly. The score is the module's own output of the class: a logit where it gives
logits.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.models.torch import TorchPredictor


def grad_cam(
    predictor: TorchPredictor, image: Image, target: int, layer: str | None = None
) -> NDArray[np.float64]:
    """The map of one class, as large as the image.

    Args:
        predictor: a torch module and how it is fed.
        image: the image as the module takes it.
        target: the output whose score is explained.
        layer: the name of a part of the module whose output are feature maps; by default the convolution
            that is used last and still sees where things are.
    """
    name = layer or last_convolution(predictor, image)
    parts = dict(predictor.module.named_modules())
    if name not in parts:
        raise unknown_name("layer", name, _convolutions(predictor.module))
    maps: list[Any] = []

    def cut(_part: Any, _given: Any, made: Any) -> Any:
        """Begin the gradient here; what follows gets a copy, since it may change it in place."""
        if not isinstance(made, torch.Tensor) or made.ndim != 4:
            raise UserError(
                f"layer {name} gives no feature maps (batch, channels, height, width); "
                f"give one of {', '.join(_convolutions(predictor.module))}."
            )
        leaf = made.detach().requires_grad_(True)
        maps.append(leaf)
        return leaf.clone()

    hook = parts[name].register_forward_hook(cut)
    try:
        with torch.enable_grad():
            score = predictor.scores(image[None])[0].flatten()[target]
            gradient = _gradient(score, maps, name)
    finally:
        hook.remove()
    found = torch.relu((gradient.mean(dim=(1, 2), keepdim=True) * maps[-1][0]).sum(dim=0))
    coarse = found.detach().float().cpu().numpy()
    size = image.shape[1], image.shape[0]
    return np.asarray(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), np.float64)


def last_convolution(predictor: TorchPredictor, image: Image) -> str:
    """The name of the convolution that is used last and whose maps are larger than one place.

    Found by using the module: the order in which it is written down need not be the order of use, and
    convolutions after the pooling see no places.
    """
    used: list[str] = []
    hooks = [
        part.register_forward_hook(
            lambda _part, _given, made, name=name: used.append(name) if made[0, 0].numel() > 1 else None
        )
        for name, part in predictor.module.named_modules()
        if isinstance(part, torch.nn.Conv2d)
    ]
    try:
        predictor(image[None])
    finally:
        for hook in hooks:
            hook.remove()
    if not used:
        raise UserError(
            f"{type(predictor.module).__name__} uses no two-dimensional convolution; name a layer that gives "
            "feature maps, or take occlusion."
        )
    return used[-1]


def _gradient(score: Any, maps: list[Any], name: str) -> Any:
    if not maps:
        raise UserError(f"layer {name} is not used for this image; name another.")
    found = torch.autograd.grad(score, maps[-1], allow_unused=True)[0] if score.requires_grad else None
    if found is None:
        raise UserError(f"the score does not hang on layer {name} by a gradient; name another.")
    return found[0]


def _convolutions(module: Any) -> list[str]:
    return [name for name, part in module.named_modules() if isinstance(part, torch.nn.Conv2d)]
