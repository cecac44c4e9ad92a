"""Adversarial attacks: equal to analytic solutions and to a loop written in NumPy; inside ball and range."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from windtunnel.train.attacks import Attack, ImageLoss, pgd

Norm = Literal["linf", "l2"]
Array = NDArray[np.float64]

RNG = np.random.default_rng(7)
WEIGHTS = RNG.normal(size=(5, 12))
TARGETS = RNG.dirichlet(np.ones(5), size=6)
# Many values are near black or white, so that the pixel range limits the attack.
IMAGES = np.clip(RNG.uniform(-0.3, 1.3, size=(6, 3, 2, 2)), 0, 1)


def cross_entropies(images: torch.Tensor) -> torch.Tensor:
    logits = images.flatten(1) @ torch.from_numpy(WEIGHTS).T
    return torch.nn.functional.cross_entropy(logits, torch.from_numpy(TARGETS), reduction="none")


def probabilities(rows: Array) -> Array:
    powers = np.exp(rows @ WEIGHTS.T)
    return np.asarray(powers / powers.sum(1, keepdims=True))


def expected_attack(norm: Norm, epsilon: float, steps: int, step_size: float) -> Array:
    """Projected gradient ascent for a linear softmax classifier, whose gradient is W^T (p - t)."""
    original = IMAGES.reshape(6, 12)
    rows = original.copy()
    for _ in range(steps):
        gradient = (probabilities(rows) - TARGETS) @ WEIGHTS
        if norm == "linf":
            rows = rows + step_size * np.sign(gradient)
            rows = np.minimum(np.maximum(rows, original - epsilon), original + epsilon)
        else:
            for row, slope, centre in zip(rows, gradient, original, strict=True):
                row += step_size * slope / np.sqrt((slope**2).sum())
                distance = np.sqrt(((row - centre) ** 2).sum())
                if distance > epsilon:
                    row[:] = centre + (row - centre) * epsilon / distance
        rows = np.clip(rows, 0, 1)
    return np.asarray(rows.reshape(IMAGES.shape))


def distances(attacked: torch.Tensor, norm: Norm) -> Array:
    change = (attacked.numpy() - IMAGES).reshape(len(IMAGES), -1)
    return np.asarray(np.abs(change).max(1) if norm == "linf" else np.sqrt((change**2).sum(1)))


@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.1), ("l2", 0.4)])
@pytest.mark.parametrize("steps", [1, 7])
def test_it_equals_a_loop_with_the_analytic_gradient(norm: Norm, epsilon: float, steps: int) -> None:
    attack = Attack(norm, epsilon, steps, step_size=epsilon / 3, random_start=False)
    attacked = pgd(cross_entropies, torch.from_numpy(IMAGES), attack, torch.Generator())
    expected = expected_attack(norm, epsilon, steps, epsilon / 3)
    np.testing.assert_allclose(attacked.numpy(), expected, atol=1e-12)
    assert (cross_entropies(attacked) > cross_entropies(torch.from_numpy(IMAGES))).all()


def fgsm(loss: ImageLoss, images: torch.Tensor, epsilon: float, norm: Norm = "linf") -> torch.Tensor:
    """One step of length epsilon, as the fast gradient sign method takes it."""
    return pgd(loss, images, Attack(norm, epsilon, steps=1, random_start=False), torch.Generator())


def test_fgsm_moves_every_value_by_epsilon_towards_the_sign_of_the_gradient() -> None:
    slope = torch.tensor([[1.0, -2.0, 0.0, 3.0]])
    images = torch.tensor([[0.5, 0.5, 0.5, 0.95]])
    attacked = fgsm(lambda images: (images * slope).sum(), images, 0.1)
    torch.testing.assert_close(attacked, torch.tensor([[0.6, 0.4, 0.5, 1.0]]))


def test_fgsm_in_l2_moves_along_the_gradient() -> None:
    slope, images = torch.tensor([[3.0, -4.0]]), torch.tensor([[0.5, 0.5]])
    attacked = fgsm(lambda images: (images * slope).sum(), images, 0.1, "l2")
    torch.testing.assert_close(attacked, torch.tensor([[0.56, 0.42]]))


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_flat_loss_leaves_the_images_as_they_are(norm: Norm) -> None:
    images = torch.rand(3, 2, 4, 4)
    assert torch.equal(fgsm(lambda images: 0 * images.sum(), images, 0.1, norm), images)


@pytest.mark.parametrize(("norm", "epsilon"), [("linf", 0.05), ("linf", 2.0), ("l2", 0.3), ("l2", 9.0)])
@pytest.mark.parametrize("steps", [1, 5])
def test_it_stays_in_the_ball_and_in_the_pixel_range(norm: Norm, epsilon: float, steps: int) -> None:
    attack = Attack(norm, epsilon, steps)
    attacked = pgd(cross_entropies, torch.from_numpy(IMAGES), attack, torch.Generator().manual_seed(1))
    assert distances(attacked, norm).max() <= epsilon + 1e-12
    assert attacked.min() >= 0 and attacked.max() <= 1


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_random_starts_depend_on_the_generator_alone(norm: Norm) -> None:
    def attacked(seed: int) -> torch.Tensor:
        torch.rand(seed + 1)  # the global generator is in another state each time
        generator = torch.Generator().manual_seed(seed)
        return pgd(cross_entropies, torch.from_numpy(IMAGES), Attack(norm, 0.2, 2, step_size=0.01), generator)

    assert torch.equal(attacked(3), attacked(3))
    assert not torch.equal(attacked(3), attacked(4))


def test_random_starts_fill_the_ball_evenly() -> None:
    """Without a gradient the start is the result. A quarter of a disc's area is within half its radius."""
    images = torch.full((4000, 2), 0.5)
    for norm, share in (("l2", 0.25), ("linf", 0.25)):
        generator = torch.Generator().manual_seed(0)
        starts = pgd(lambda images: 0 * images.sum(), images, Attack(norm, 0.4, 1), generator) - images  # type: ignore[arg-type]
        inner = starts.norm(dim=1) < 0.2 if norm == "l2" else starts.abs().amax(1) < 0.2
        assert abs(inner.float().mean().item() - share) < 4 * (share * (1 - share) / 4000) ** 0.5
        assert starts.mean(0).abs().max() < 0.02


def test_one_image_does_not_depend_on_the_others_of_the_batch() -> None:
    attack = Attack("l2", 0.5, 3, random_start=False)
    images, targets = torch.from_numpy(IMAGES), torch.from_numpy(TARGETS)
    together = pgd(cross_entropies, images, attack, torch.Generator())

    def of_last(image: torch.Tensor) -> torch.Tensor:
        logits = image.flatten(1) @ torch.from_numpy(WEIGHTS).T
        return torch.nn.functional.cross_entropy(logits, targets[5:])

    alone = pgd(of_last, images[5:], attack, torch.Generator())
    torch.testing.assert_close(alone, together[5:])


def test_weights_receive_no_gradient_and_the_result_has_none() -> None:
    layer = torch.nn.Linear(12, 5)
    images = torch.rand(2, 12)
    with torch.no_grad():  # the attack needs gradients even where the caller does not
        attacked = pgd(lambda images: layer(images).sum(), images, Attack("linf", 0.1, 2), torch.Generator())
    assert layer.weight.grad is None and not attacked.requires_grad
    assert not torch.equal(attacked, images)


@pytest.mark.parametrize(
    ("attack", "length"),
    [
        (Attack("linf", 0.08, steps=1), 0.1),
        (Attack("linf", 0.08, steps=1, random_start=False), 0.08),
        (Attack("linf", 0.08, steps=10), 0.02),
        (Attack("linf", 0.08, steps=10, step_size=0.03), 0.03),
    ],
)
def test_the_length_of_a_step_follows_the_papers_unless_it_is_given(attack: Attack, length: float) -> None:
    assert attack.length == pytest.approx(length)


@pytest.mark.parametrize("scale", [1e-20, 1e-30, 1e-40])
def test_a_tiny_gradient_has_a_direction_in_l2(scale: float) -> None:
    """The gradient is (3, 4) * scale at two values, so that a step of length 0.1 is (0.06, 0.08)."""
    weights = torch.tensor([3.0, 4.0]) * scale
    images = torch.full((1, 1, 1, 2), 0.5)
    attack = Attack("l2", 0.1, 1, step_size=0.1, random_start=False)
    attacked = pgd(lambda images: (images * weights).sum(), images, attack, torch.Generator())
    torch.testing.assert_close(attacked.flatten(), torch.tensor([0.56, 0.58]), rtol=1e-3, atol=1e-5)
