"""The last layer of a torch module, and the features that it receives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.models import Scores, Size, probe_images
from windtunnel.models.preprocess import Preprocess


def last_layer(module: Any, outputs: int) -> str:
    """The name of the last linear layer or convolution with so many outputs; "" if there is none."""
    names = [
        name
        for name, layer in module.named_modules()
        if (isinstance(layer, torch.nn.Linear) and layer.out_features == outputs)
        or (isinstance(layer, torch.nn.Conv2d) and layer.out_channels == outputs)
    ]
    return names[-1] if names else ""


class LayerInput:
    """What one layer of a module receives, averaged over positions.

    Attributes:
        count: features per image.
    """

    def __init__(self, predictor: Any, layer: Any, preprocess: Preprocess, size: Size | None) -> None:
        self._predictor = predictor
        self._layer = layer
        self.count = self.features(probe_images(preprocess, 2, size)).shape[1]

    def features(self, batch: NDArray[np.uint8]) -> Scores:
        """Features (n, count) of a batch of uint8 NHWC images."""
        received: list[torch.Tensor] = []
        hook = self._layer.register_forward_pre_hook(lambda _layer, inputs: received.append(inputs[0]))
        try:
            self._predictor(batch)
        finally:
            hook.remove()
        values = received[-1].float()
        while values.ndim > 2:  # of a convolution: (images, channels, height, width)
            values = values.mean(dim=-1)
        return np.asarray(values.cpu().numpy(), dtype=np.float32)
