"""Stability training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from windtunnel.train.losses import Loss, Parameter, Settings

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class Stability(Loss):
    """Cross-entropy of clean images, and the divergence of predictions with Gaussian noise."""

    name = "stability"
    help = "Train on clean images, with similar predictions for a copy with Gaussian noise."
    source = "Zheng et al. 2016; windtunnel chose weight and sigma, and limits noisy pixels to their range"
    parameters = (
        Parameter("weight", 1.0, "weight of the divergence", 0.0, 1000.0),
        Parameter("sigma", 0.04, "standard deviation of the noise, in units of the pixel range", 0.0, 1.0),
    )
    changes_inputs = True
    trained_on = ("gaussian_noise",)

    def is_active(self, settings: Settings) -> bool:
        """Whether there is noise."""
        return bool(settings["sigma"])

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """CE + weight * KL(clean || noisy), and the clean logits; both halves are one batch of the module."""
        noise = float(settings["sigma"]) * step.pixels.unit * step.normal()
        noisy = step.pixels.clipped(step.inputs + noise).to(step.inputs.dtype)
        clean_logits, noisy_logits = step.module(torch.cat([step.inputs, noisy])).chunk(2)
        divergence = functional.kl_div(
            functional.log_softmax(noisy_logits, dim=1),
            functional.log_softmax(clean_logits, dim=1),
            reduction="batchmean",
            log_target=True,
        )
        return step.cross_entropy(clean_logits) + float(settings["weight"]) * divergence, clean_logits


stability = Stability()
