"""Self-distillation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from windtunnel.train.losses import Loss, Parameter, Settings, Teacher

if TYPE_CHECKING:
    from windtunnel.train.step import Step


class Distillation(Loss):
    """Cross-entropy with the targets, and with the predictions of the same network at another time."""

    name = "distillation"
    help = "Train on the targets and on the predictions of the module before training, or of its average."
    source = "Hinton et al. 2015; average of weights: Tarvainen & Valpola 2017; windtunnel chose the defaults"
    parameters = (
        Parameter("weight", 0.5, "share of the teacher in the loss", 0.0, 1.0),
        Parameter("temperature", 4.0, "divides the logits of teacher and module", 0.01, 100.0),
        Parameter("teacher", "start", "start: the module before training; average: of its weights, by ema",
                  choices=("start", "average")),
    )  # fmt: skip

    def value(self, step: Step, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
        """(1 - weight) CE + weight T^2 KL(teacher || module), with probabilities at temperature T."""
        weight, temperature = float(settings["weight"]), float(settings["temperature"])
        logits = step.module(step.inputs)
        with torch.no_grad():
            teacher_logits = step.teacher(step.inputs)
        divergence = functional.kl_div(
            functional.log_softmax(logits / temperature, dim=1),
            functional.log_softmax(teacher_logits / temperature, dim=1),
            reduction="batchmean",
            log_target=True,
        )
        # Gradients of the divergence shrink with the square of the temperature.
        loss = (1 - weight) * step.cross_entropy(logits) + weight * temperature**2 * divergence
        return loss, logits

    def teacher(self, settings: Settings) -> Teacher:
        """The module before training, or the moving average of its weights."""
        return "average" if settings["teacher"] == "average" else "start"


distillation = Distillation()
