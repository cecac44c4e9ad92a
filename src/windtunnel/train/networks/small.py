"""A small residual network for studies on a few CPU cores."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from windtunnel.core.networks import network


class Residual(nn.Module):
    """Two 3x3 convolutions that are added to their input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*_convolution(width, width, 1), *_convolution(width, width, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The input plus the convolutions' result."""
        changed: torch.Tensor = self.layers(images)
        return images + changed


def _convolution(inputs: int, outputs: int, stride: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)


@network(help="A small residual network for 32 pixels: about 2,000 training images per second and CPU core.")
def small(classes: int, side_px: int) -> Any:
    """Three convolutions of stride 2 with two residual blocks."""
    del side_px
    module = nn.Sequential(
        *_convolution(3, 32, 2),
        *_convolution(32, 64, 2),
        Residual(64),
        *_convolution(64, 128, 2),
        Residual(128),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, classes),
    )
    # Convolutions over pixels whose channels are next to each other in memory are faster on CPUs.
    return module.to(memory_format=torch.channels_last)
