"""ResNet-18 (He et al. 2016), initialised as Laugros et al. (2021) do.

Convolutions and the linear layer are Xavier-uniform, the linear bias is 0.01, the weights of batch
normalisation are drawn from N(1, 0.02).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from windtunnel.core.networks import network

WIDTHS = (64, 128, 256, 512)


class BasicBlock(nn.Module):  # type: ignore[misc]  # torch is not checked
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = _normalised(inputs, outputs, 3, stride)
        self.second = _normalised(outputs, outputs, 3, 1)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else _normalised(inputs, outputs, 1, stride)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The sum of both paths."""
        changed = self.second(torch.relu(self.first(images)))
        return torch.relu(changed + self.shortcut(images))


def _normalised(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


@network(help="ResNet-18: 11 million parameters, for images of 224 pixels; the paper's network.")
def resnet18(classes: int, side_px: int) -> Any:
    """Stem of stride 4, eight blocks in four widths, average pooling."""
    del side_px
    layers: list[nn.Module] = [_normalised(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = WIDTHS[0]
    for number, outputs in enumerate(WIDTHS):
        layers += [BasicBlock(width, outputs, 2 if number else 1), BasicBlock(outputs, outputs, 1)]
        width = outputs
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
        if isinstance(layer, nn.Linear):
            nn.init.constant_(layer.bias, 0.01)
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight, 1.0, 0.02)
    return module.to(memory_format=torch.channels_last)
