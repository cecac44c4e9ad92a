"""Consistency of augmented views: the Jensen-Shannon divergence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from windtunnel.train.losses import Loss, Parameter, Settings

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class JensenShannon(Loss):
    """Cross-entropy of clean images, and the divergence of the predictions for them and for two views."""

    name = "jensen_shannon"
    help = "Train on clean images, with similar predictions for two augmented views (AugMix)."
    source = "Hendrycks et al. 2020 (AugMix), whose weight is 12"
    parameters = (Parameter("weight", 12.0, "weight of the divergence", 0.0, 1000.0),)
    views = 2

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """CE + weight * JS(clean, view, view), and the clean logits; all are one batch of the module."""
        versions = (step.inputs, *step.views)
        logits = step.module(torch.cat(versions)).chunk(len(versions))
        # Logarithms stay finite, and so do gradients, where a probability is 0.
        logs = [functional.log_softmax(each, dim=1) for each in logits]
        mixture = torch.logsumexp(torch.stack(logs), dim=0) - math.log(len(logs))
        divergences = [
            functional.kl_div(mixture, each, reduction="batchmean", log_target=True) for each in logs
        ]
        divergence = torch.stack(divergences).mean()
        return step.cross_entropy(logits[0]) + float(settings["weight"]) * divergence, logits[0]


jensen_shannon = JensenShannon()
