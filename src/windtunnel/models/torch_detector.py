"""Torch modules as detectors, such as those of torchvision."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.models.python_detector import ReturnsDetections
from windtunnel.models.torch import TorchModel, TorchPredictor


class DetectionPredictor(TorchPredictor):
    """A torch module as a callable from uint8 NHWC images to what the module returns for each of them."""

    def __call__(self, batch: NDArray[np.uint8]) -> Any:
        """What the module returns for a batch."""
        with torch.inference_mode():
            return self.outputs(batch)


class TorchDetector(ReturnsDetections, TorchModel):
    """A detector that is a torch module."""

    predictor = DetectionPredictor

    @property
    def gradient_source(self) -> None:
        """Nothing: a detector has no scores of classes."""
        return None

    def penultimate_features(self) -> None:
        """Nothing: a detector has no layer with one output for each class."""
        return None
