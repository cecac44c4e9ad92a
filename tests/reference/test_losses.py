"""Losses of training steps, compared with SciPy and with formulas written out in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax, softmax
from scipy.stats import entropy

from windtunnel.core.calls import parse_call
from windtunnel.models.preprocess import Tensor
from windtunnel.train.losses import REGISTRY
from windtunnel.train.step import PixelRange, Step, training_step

Array = NDArray[np.float64]

TENSOR = Tensor(mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.5))
MEAN, STD = (np.array(values).reshape(1, 3, 1, 1) for values in (TENSOR.mean, TENSOR.std))
RNG = np.random.default_rng(3)
PIXELS = RNG.uniform(0, 1, (6, 3, 4, 4))
VIEWS = RNG.uniform(0, 1, (2, 6, 3, 4, 4))
LABELS = np.array([0, 1, 2, 3, 4, 0])


def linear(seed: int = 0) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5))


def normalised(pixels: Array) -> torch.Tensor:
    return torch.from_numpy(((pixels - MEAN) / STD).astype(np.float32))


def step_of(module: Any, *, key: int = 1, views: bool = False, teacher: Any = None) -> Step:
    return training_step(
        module,
        normalised(PIXELS),
        torch.from_numpy(LABELS),
        5,
        PixelRange.of(TENSOR),
        key,
        views=tuple(map(normalised, VIEWS)) if views else (),
        teacher=teacher,
    )


def value(text: str, step: Step) -> tuple[float, Array]:
    """The loss and the logits that it returns."""
    call = parse_call(text, REGISTRY)
    loss, logits = call.plugin.value(step, call.settings)
    return loss.item(), logits.detach().double().numpy()


def logits_of(module: Any, inputs: torch.Tensor) -> Array:
    with torch.no_grad():
        return np.asarray(module(inputs).double().numpy())


def cross_entropy(logits: Array) -> float:
    return float(-log_softmax(logits, axis=1)[np.arange(6), LABELS].mean())


class Recorded(torch.nn.Module):
    """A module that keeps the inputs of each call in training mode."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.received: list[torch.Tensor] = []

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.received.append(inputs.detach())
        return self.module(inputs)


def test_jensen_shannon_of_three_versions_is_entropy_of_the_mean_less_mean_entropy() -> None:
    module = linear()
    step = step_of(module, views=True)
    loss, logits = value("jensen_shannon", step)
    versions = np.stack([softmax(logits_of(module, each), axis=1) for each in (step.inputs, *step.views)])
    divergence = (entropy(versions.mean(0), axis=1) - entropy(versions, axis=2).mean(0)).mean()
    np.testing.assert_allclose(logits, logits_of(module, step.inputs), rtol=1e-5)
    assert loss == pytest.approx(cross_entropy(logits) + 12 * divergence, rel=1e-5)


def test_jensen_shannon_of_two_versions_is_the_square_of_scipys_distance() -> None:
    module = linear()
    step = step_of(module, views=True)
    step = replace(step, views=step.views[:1])
    loss, logits = value("jensen_shannon(weight=3)", step)
    first, second = (softmax(logits_of(module, each), axis=1) for each in (step.inputs, step.views[0]))
    divergence = (jensenshannon(first, second, axis=1) ** 2).mean()
    assert loss == pytest.approx(cross_entropy(logits) + 3 * divergence, rel=1e-5)


def test_equal_views_cost_nothing_and_certain_ones_stay_finite() -> None:
    module = linear()
    step = step_of(module)
    same = replace(step, views=(step.inputs, step.inputs))
    assert value("jensen_shannon", same)[0] == pytest.approx(value("cross_entropy", step)[0], abs=1e-5)
    certain = linear()
    with torch.no_grad():
        certain[1].weight *= 1e4
    step = step_of(certain, views=True)
    call = parse_call("jensen_shannon", REGISTRY)
    call.plugin.value(step, call.settings)[0].backward()
    assert torch.isfinite(certain[1].weight.grad).all()


def test_stability_adds_the_divergence_of_noisy_from_clean_predictions() -> None:
    module = Recorded(linear())
    step = step_of(module)
    loss, logits = value("stability(weight=2, sigma=0.1)", step)
    [received] = module.received  # one batch of clean and noisy images
    clean, noisy = received.chunk(2)
    assert torch.equal(clean, step.inputs)
    divergence = entropy(
        softmax(logits_of(module.module, clean), axis=1),
        softmax(logits_of(module.module, noisy), axis=1),
        axis=1,
    ).mean()
    assert loss == pytest.approx(cross_entropy(logits) + 2 * divergence, rel=1e-5)


def test_the_noise_of_stability_has_its_sigma_in_units_of_pixels_in_every_channel() -> None:
    grey = np.full((64, 3, 16, 16), 0.5)
    module = Recorded(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 5)))
    labels = torch.zeros(64, dtype=torch.int64)
    step = training_step(module, normalised(grey), labels, 5, PixelRange.of(TENSOR), 9)
    value("stability(sigma=0.08)", step)
    noisy = module.received[0].chunk(2)[1].double().numpy() * STD + MEAN
    # The standard error of a standard deviation is sigma / sqrt(2 n).
    error = 0.08 / np.sqrt(2 * 64 * 256)
    np.testing.assert_allclose((noisy - 0.5).std(axis=(0, 2, 3)), 0.08, atol=4 * error)
    np.testing.assert_allclose((noisy - 0.5).mean(axis=(0, 2, 3)), 0, atol=4 * 0.08 / np.sqrt(64 * 256))


def test_noisy_pixels_stay_in_their_range() -> None:
    module = Recorded(linear())
    value("stability(sigma=1)", step_of(module))
    noisy = module.received[0].chunk(2)[1].double().numpy() * STD + MEAN
    assert noisy.min() >= -1e-6 and noisy.max() <= 1 + 1e-6
    assert (np.abs(noisy - 1) < 1e-6).any() and (np.abs(noisy) < 1e-6).any()


def test_distillation_is_the_weighted_sum_of_hinton() -> None:
    module, teacher = linear(0), linear(1)
    step = step_of(module, teacher=teacher)
    loss, logits = value("distillation(weight=0.3, temperature=2)", step)
    own, other = logits_of(module, step.inputs), logits_of(teacher, step.inputs)
    divergence = entropy(softmax(other / 2, axis=1), softmax(own / 2, axis=1), axis=1).mean()
    assert loss == pytest.approx(0.7 * cross_entropy(own) + 0.3 * 4 * divergence, rel=1e-5)
    np.testing.assert_allclose(logits, own, rtol=1e-5)
    assert all(weight.grad is None for weight in teacher.parameters())


def test_a_teacher_that_predicts_the_same_leaves_the_cross_entropy() -> None:
    module = linear()
    step = step_of(module, teacher=linear())
    expected = 0.5 * value("cross_entropy", step)[0]
    assert value("distillation", step)[0] == pytest.approx(expected, rel=1e-5)


def attacked_pixels(module: Recorded, share: slice) -> Array:
    """The pixels of a part of the batch that the module received."""
    received = module.received[0].double().numpy()[share]
    return np.asarray(received * STD + MEAN)


@pytest.mark.parametrize(
    ("text", "share"),
    [("adversarial", slice(None)), ("logit_pairing", slice(6, 12))],
)
@pytest.mark.parametrize(
    ("settings", "distance", "epsilon"),
    [
        ("epsilon=8/255, steps=3", lambda change: np.abs(change).max(axis=(1, 2, 3)), 8 / 255),
        ("norm=l2, epsilon=0.3, steps=3", lambda change: np.sqrt((change**2).sum((1, 2, 3))), 0.3),
    ],
)
def test_attacked_images_stay_in_the_ball_of_pixels_and_in_their_range(
    text: str, share: slice, settings: str, distance: Callable[[Array], Array], epsilon: float
) -> None:
    module = Recorded(linear())
    value(f"{text}({settings})", step_of(module))
    pixels = attacked_pixels(module, share)
    distances = distance(pixels - PIXELS)
    assert distances.max() <= epsilon + 1e-6
    assert distances.min() > 0.5 * epsilon, "an attack goes to the edge of the ball"
    assert pixels.min() >= -1e-6 and pixels.max() <= 1 + 1e-6


def test_adversarial_training_of_one_step_is_the_fast_gradient_sign_by_hand() -> None:
    """Gradient of a linear softmax classifier in units of pixels: W^T (p - y) / std."""
    module = Recorded(linear())
    step = step_of(module)
    loss, logits = value("adversarial(epsilon=0.03, random_start=0)", step)
    weight = module.module[1].weight.detach().double().numpy()
    slope = softmax(logits_of(module.module, step.inputs), axis=1)
    slope[np.arange(6), LABELS] -= 1
    gradient = (slope @ weight).reshape(6, 3, 4, 4) / STD
    expected = np.clip(PIXELS + 0.03 * np.sign(gradient), 0, 1)
    np.testing.assert_allclose(attacked_pixels(module, slice(None)), expected, atol=1e-6)
    assert loss == pytest.approx(cross_entropy(logits), rel=1e-5)
    assert loss > value("cross_entropy", step)[0]
    np.testing.assert_allclose(logits, logits_of(module.module, module.received[0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.0, 1.0])
def test_logit_pairing_is_both_cross_entropies_and_the_distance_of_logits(share: float) -> None:
    module = Recorded(linear())
    step = step_of(module)
    loss, logits = value(f"logit_pairing(weight=0.7, clean={share})", step)
    [received] = module.received
    clean, attacked = (logits_of(module.module, half) for half in received.chunk(2))
    expected = share * cross_entropy(clean) + (1 - share) * cross_entropy(attacked)
    assert loss == pytest.approx(expected + 0.7 * ((clean - attacked) ** 2).mean(), rel=1e-5)
    np.testing.assert_allclose(logits, clean, rtol=1e-5)


def normalising() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5), torch.nn.Flatten(),
        torch.nn.Linear(16, 5),
    )  # fmt: skip


# Steps so short that random starts matter at the end.
ALL = (
    "adversarial(steps=4, step_size=1e-3)",
    "logit_pairing(steps=4)",
    "stability",
    "jensen_shannon",
    "distillation",
)


@pytest.mark.parametrize("text", ALL)
def test_running_statistics_change_once_a_step_and_modes_are_kept(text: str) -> None:
    """The gradient steps of an attack run in evaluation mode; only the loss itself is in training mode."""
    module = normalising().train()
    module[2].eval()  # as of a frozen layer
    teacher = normalising().eval().requires_grad_(False)
    value(text, step_of(module, views=True, teacher=teacher))
    assert module[1].num_batches_tracked.item() == 1
    assert [part.training for part in module] == [True, True, False, True, True]
    assert teacher[1].num_batches_tracked.item() == 0


def test_an_attack_sees_the_running_statistics() -> None:
    """Attacked alone or in a batch, an image becomes the same, although batch statistics differ."""
    attacked = []
    for count in (6, 1):
        module = Recorded(normalising()[:2].append(torch.nn.Flatten()).append(torch.nn.Linear(16, 5)))
        torch.manual_seed(2)
        with torch.no_grad():
            module.module[3].weight.copy_(torch.randn(5, 16))
        step = step_of(module)
        labels = torch.from_numpy(LABELS)[:count]
        step = training_step(module, step.inputs[:count], labels, 5, step.pixels, 1)
        value("adversarial(steps=3, random_start=0)", step)
        attacked.append(module.received[0][0])
    torch.testing.assert_close(attacked[0], attacked[1])


@pytest.mark.parametrize("text", ALL)
def test_the_key_of_the_step_decides_all_draws(text: str) -> None:
    def gradient(key: int) -> torch.Tensor:
        module = linear()
        torch.rand(key)  # the global generator does not matter
        call = parse_call(text, REGISTRY)
        step = step_of(module, key=key, views=True, teacher=linear(1))
        call.plugin.value(step, call.settings)[0].backward()
        return module[1].weight.grad

    assert torch.equal(gradient(5), gradient(5))
    draws = not text.startswith(("jensen_shannon", "distillation"))
    assert torch.equal(gradient(5), gradient(6)) is not draws


@pytest.mark.parametrize("text", ALL)
def test_modules_of_half_precision_get_inputs_of_half_precision(text: str) -> None:
    module, teacher = Recorded(linear().half()), linear(1).half()
    step = step_of(module, views=True, teacher=teacher)
    views = tuple(view.half() for view in step.views)
    loss, _ = value(text, replace(step, inputs=step.inputs.half(), views=views))
    assert np.isfinite(loss)
    assert {each.dtype for each in module.received} == {torch.float16}


@pytest.mark.parametrize("text", ALL)
def test_soft_targets_of_one_class_give_the_loss_of_labels(text: str) -> None:
    step = step_of(linear(), views=True, teacher=linear(1))
    soft = replace(step, labels=None, generator=torch.Generator().manual_seed(0))
    hard = replace(step, generator=torch.Generator().manual_seed(0))
    assert value(text, soft)[0] == pytest.approx(value(text, hard)[0], rel=1e-5)


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_loss_as_it_is_listed_has_its_defaults(name: str) -> None:
    assert parse_call(REGISTRY.get(name).written, REGISTRY) == parse_call(name, REGISTRY)
