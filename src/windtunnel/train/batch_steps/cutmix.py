"""CutMix."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from windtunnel.train.batch_steps import BatchStep, Parameter, Settings, mixed_targets, partners

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class CutMix(BatchStep):
    """A box of the partner's pixels; 1 - area ~ Beta(alpha, alpha), then the border cuts the box."""

    name = "cutmix"
    help = "Replace a box of each image by that of another image; targets are mixed by area."
    source = "Yun et al. 2019: alpha 1; probability 1 for ImageNet, 0.5 for CIFAR"
    parameters = (
        Parameter("alpha", 1.0, "parameter of the Beta distribution of the kept share", 0.001, 100.0),
        Parameter("probability", 1.0, "share of batches that are mixed", 0.0, 1.0),
    )

    def changed(self, step: Step, settings: Settings) -> Step:
        """The batch with boxes in the same place."""
        rng = step.rng(self.name)
        if rng.random() >= float(settings["probability"]):
            return step
        rows_first = 2 if step.pixels.channel_axis == 1 else 1
        height, width = step.inputs.shape[rows_first : rows_first + 2]
        kept = float(rng.beta(float(settings["alpha"]), float(settings["alpha"])))
        rows, columns = (_span(rng, length, math.sqrt(1 - kept)) for length in (height, width))
        box = (slice(None),) * rows_first + (rows, columns)
        partner = partners(step, rng)

        def mixed(inputs: torch.Tensor) -> torch.Tensor:
            pasted = inputs.clone()
            pasted[box] = inputs[partner][box]
            return pasted

        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        pasted = replace(step, inputs=mixed(step.inputs), views=tuple(map(mixed, step.views)))
        return mixed_targets(pasted, partner, 1 - area / (height * width))


def _span(rng: np.random.Generator, length: int, share: float) -> slice:
    """A part of a side around a uniform centre, cut by the border."""
    centre, half = int(rng.integers(length)), int(length * share) // 2
    return slice(max(0, centre - half), min(length, centre + half))


cutmix = CutMix()
