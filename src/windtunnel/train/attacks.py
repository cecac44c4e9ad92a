"""Adversarial attacks on images with values from 0 to 1: fast gradient sign and projected gradient descent.

An attack maximises a loss that is given as a function of the images. Perturbations stay inside a ball around
each image, and pixels stay between 0 and 1. They are not rounded to multiples of 1/255.

In a training step the module is attacked in evaluation mode. Batch normalisation then uses its running
statistics: an image's attack does not depend on the rest of the batch, gradient steps do not change the
statistics, and the attack is on the function that is evaluated later. Nothing is dropped out. The loss of the
attacked images is computed in training mode; this pass alone updates the statistics.

Published code differs. That of Madry et al. (2018, cifar10_challenge) and Wong et al. (2020,
fast_adversarial) attacks in training mode, so that every pass of an attack updates the statistics too. The
library robustness of the first group and the code of Kannan et al. (2018) attack in evaluation mode. There
the attack does not maximise the loss that is minimised, and can be weaker on it, most of all while the
statistics are far from those of a batch, in the first steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from windtunnel.models.torch import evaluating

if TYPE_CHECKING:
    from windtunnel.train.step import Step

Norm = Literal["linf", "l2"]
ImageLoss = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Attack:
    """The ball around each image, and how it is searched.

    Attributes:
        norm: `linf` limits the change of every value, `l2` the root of the summed squares over an image.
        epsilon: radius of the ball, in units of the pixel range.
        steps: gradient steps.
        step_size: length of a step in the same norm; 0 chooses it, see `length`.
        random_start: whether the search starts at a random point of the ball instead of the image.
    """

    norm: Norm
    epsilon: float
    steps: int
    step_size: float = 0.0
    random_start: bool = True

    @property
    def length(self) -> float:
        """The length of a step, which depends on the other settings if `step_size` is 0.

        Several steps: 2.5 epsilon / steps, which reaches the edge of the ball from any start (Madry et al.
        2018). One step: 1.25 epsilon from a random start (Wong et al. 2020), else epsilon.
        """
        if self.step_size:
            return self.step_size
        if self.steps > 1:
            return 2.5 * self.epsilon / self.steps
        return 1.25 * self.epsilon if self.random_start else self.epsilon


def pgd(loss: ImageLoss, images: torch.Tensor, attack: Attack, generator: torch.Generator) -> torch.Tensor:
    """The images after projected gradient ascent on the loss (Madry et al. 2018), without a gradient.

    Args:
        loss: from images to the loss of all of them, or to one loss for each; of independent images.
        images: values from 0 to 1, the first dimension is the batch.
        attack: ball, steps, start.
        generator: the source of random starts; not used without them.
    """
    images = images.detach()
    change = torch.zeros_like(images)
    if attack.random_start:
        change = _inside(images, _random_change(images, attack, generator))
    for _ in range(attack.steps):
        attacked = (images + change).requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(loss(attacked).sum(), attacked)
        change = change + attack.length * _direction(gradient, attack.norm)
        change = _inside(images, _projected(change, attack))
    return (images + change).clamp(0, 1)


def attacked_inputs(step: Step, attack: Attack) -> torch.Tensor:
    """The inputs of a training step after an attack that maximises the cross-entropy with the targets."""
    unit, low = step.pixels.unit, step.pixels.low

    def inputs_of(images: torch.Tensor) -> torch.Tensor:
        return step.pixels.clipped(low + unit * images).to(step.inputs.dtype)

    with evaluating(step.module):
        images = pgd(
            lambda images: step.cross_entropy(step.module(inputs_of(images))),
            (step.inputs - low) / unit,
            attack,
            step.generator,
        )
    return inputs_of(images)


def _random_change(images: torch.Tensor, attack: Attack, generator: torch.Generator) -> torch.Tensor:
    """A point of the ball for each image, uniformly; drawn on the generator's device."""
    place = generator.device
    if attack.norm == "linf":
        shares = torch.rand(images.shape, generator=generator, device=place).to(images)
        return attack.epsilon * (2 * shares - 1)
    normal = torch.randn(images.shape, generator=generator, device=place).to(images)
    radius = torch.rand(len(images), generator=generator, device=place).to(images)
    # The volume of a ball grows with the power of its dimension.
    radius = radius ** (1 / images[0].numel())
    return attack.epsilon * _per_image(radius, images) * _direction(normal, "l2")


def _direction(gradient: torch.Tensor, norm: Norm) -> torch.Tensor:
    """The steepest change of length 1 for each image; 0 where the gradient is 0."""
    if norm == "linf":
        return gradient.sign()
    # The squares of tiny values would be 0.
    largest = _per_image(gradient.flatten(1).abs().amax(dim=1), gradient)
    scaled = gradient / largest.clamp(min=torch.finfo(gradient.dtype).tiny)
    lengths = _lengths(scaled)
    return torch.where(lengths > 0, scaled / lengths, 0)


def _projected(change: torch.Tensor, attack: Attack) -> torch.Tensor:
    """The nearest change inside the ball."""
    if attack.norm == "linf":
        return change.clamp(-attack.epsilon, attack.epsilon)
    lengths = _lengths(change)
    return torch.where(lengths > attack.epsilon, change * (attack.epsilon / lengths), change)


def _inside(images: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """The change with all pixels between 0 and 1, which makes no value of it larger."""
    return (images + change).clamp(0, 1) - images


def _lengths(change: torch.Tensor) -> torch.Tensor:
    """The Euclidean length for each image."""
    return _per_image(change.flatten(1).norm(dim=1), change)


def _per_image(values: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """One value for each image, in a shape that multiplies images."""
    return values.reshape(-1, *[1] * (images.ndim - 1))
