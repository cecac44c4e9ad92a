"""Mixup."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from windtunnel.train.batch_steps import BatchStep, Parameter, Settings, mixed_targets, partners

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class Mixup(BatchStep):
    """share * image + (1 - share) * partner, share ~ Beta(alpha, alpha), one for the batch."""

    name = "mixup"
    help = "Average each image and its target with those of another image of the batch."
    source = "Zhang et al. 2018: alpha 0.2 for ImageNet, 1 for CIFAR-10"
    parameters = (
        Parameter("alpha", 0.2, "parameter of the Beta distribution of the share", 0.001, 100.0),
        Parameter("probability", 1.0, "share of batches that are mixed", 0.0, 1.0),
    )

    def changed(self, step: Step, settings: Settings) -> Step:
        """The averaged batch."""
        rng = step.rng(self.name)
        if rng.random() >= float(settings["probability"]):
            return step
        share = float(rng.beta(float(settings["alpha"]), float(settings["alpha"])))
        partner = partners(step, rng)

        def mixed(inputs: torch.Tensor) -> torch.Tensor:
            return share * inputs + (1 - share) * inputs[partner]

        averaged = replace(step, inputs=mixed(step.inputs), views=tuple(map(mixed, step.views)))
        return mixed_targets(averaged, partner, share)


mixup = Mixup()
