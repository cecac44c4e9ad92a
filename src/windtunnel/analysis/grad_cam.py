"""Grad-CAM: a saliency map of a torch module's class score, from its gradient.

a_k    = mean over all places of d score / d A_k
map(x) = max(0, sum over k of a_k A_k(x)),  A_k the feature maps of a layer

resized bilinearly to the image. The score is the module's own output for the class, such as a logit.
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
    """The map of one class, with the size of the image.

    Args:
        predictor: a torch module with its input conversion.
        image: the preprocessed image.
        target: the output whose score is explained.
        layer: the name of a layer whose output are feature maps; by default the last convolution with
            spatial resolution.
    """
    name = layer or last_convolution(predictor, image)
    parts = dict(predictor.module.named_modules())
    if name not in parts:
        raise unknown_name("layer", name, _convolutions(predictor.module))
    maps: list[Any] = []

    def cut(_part: Any, _given: Any, made: Any) -> Any:
        """Start the gradient at this layer; later layers get a copy, since they may change it in place."""
        if not isinstance(made, torch.Tensor) or made.ndim != 4:
            raise UserError(
                f"layer {name} does not output feature maps (batch, channels, height, width); "
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
    saliency = torch.relu((gradient.mean(dim=(1, 2), keepdim=True) * maps[-1][0]).sum(dim=0))
    coarse = saliency.detach().float().cpu().numpy()
    size = image.shape[1], image.shape[0]
    return np.asarray(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), np.float64)


def last_convolution(predictor: TorchPredictor, image: Image) -> str:
    """The name of the last convolution used whose feature maps are larger than 1x1.

    It is found by a forward pass: the order of definition need not be the order of use, and convolutions
    after the pooling have no spatial resolution.
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
            f"{type(predictor.module).__name__} uses no two-dimensional convolution; give a layer that has "
            "feature maps, or use occlusion."
        )
    return used[-1]


def _gradient(score: Any, maps: list[Any], name: str) -> Any:
    if not maps:
        raise UserError(f"layer {name} is not used for this image; give another layer.")
    gradients = torch.autograd.grad(score, maps[-1], allow_unused=True)[0] if score.requires_grad else None
    if gradients is None:
        raise UserError(f"the score has no gradient with respect to layer {name}; give another layer.")
    return gradients[0]


def _convolutions(module: Any) -> list[str]:
    return [name for name, part in module.named_modules() if isinstance(part, torch.nn.Conv2d)]
