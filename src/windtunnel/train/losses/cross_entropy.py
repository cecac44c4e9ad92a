"""Cross-entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from windtunnel.train.losses import Loss, Parameter, Settings

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class CrossEntropy(Loss):
    """Cross-entropy of predicted and target probabilities."""

    name = "cross_entropy"
    help = "Cross-entropy, with smoothed labels if wanted."
    source = "label smoothing: Szegedy et al. 2016, who use 0.1"
    parameters = (
        Parameter("smoothing", 0.0, "the share of the target that all classes get in equal parts", 0.0, 0.99),
    )

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean over images."""
        logits = step.module(step.inputs)
        return step.cross_entropy(logits, float(settings["smoothing"])), logits


cross_entropy = CrossEntropy()
