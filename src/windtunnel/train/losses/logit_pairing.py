"""Adversarial logit pairing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from windtunnel.train.attacks import attacked_inputs
from windtunnel.train.losses import Parameter, Settings
from windtunnel.train.losses.adversarial import AttackingLoss, attack_of, attack_parameters

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class LogitPairing(AttackingLoss):
    """Cross-entropy of clean and attacked images, and the distance of their logits."""

    name = "logit_pairing"
    help = "Train on clean and attacked images, with similar logits for both."
    source = (
        "Kannan et al. 2018; weight, share, attack and the mean over classes are those of the authors' code "
        "for ImageNet at 64 pixels. Its attack aims at the least likely class; here it increases the loss. "
        "Both attack in evaluation mode"
    )
    parameters = (
        Parameter("weight", 0.5, "weight of the mean squared difference of logits", 0.0, 1000.0),
        Parameter("clean", 0.5, "share of the cross-entropy that is of clean images", 0.0, 1.0),
        *attack_parameters(16 / 255, steps=10, step_size=2 / 255),
    )

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean over images, and the logits of clean images; both halves are one batch of the module."""
        attacked = attacked_inputs(step, attack_of(settings))
        clean_logits, attacked_logits = step.module(torch.cat([step.inputs, attacked])).chunk(2)
        share = float(settings["clean"])
        entropy = share * step.cross_entropy(clean_logits)
        entropy = entropy + (1 - share) * step.cross_entropy(attacked_logits)
        distance = torch.nn.functional.mse_loss(clean_logits, attacked_logits)
        return entropy + float(settings["weight"]) * distance, clean_logits


logit_pairing = LogitPairing()
