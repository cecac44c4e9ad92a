"""Training with corrupted copies: what an epoch contains, schedules, networks, and the paper's protocol."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from windtunnel.core.errors import UserError
from windtunnel.core.seeding import digest64
from windtunnel.corruptions import REGISTRY
from windtunnel.data.arrays import ArrayDataset
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.studies.protocols import load_protocol
from windtunnel.train import Augmentation, Mix, Settings, fit
from windtunnel.train.networks import built
from windtunnel.train.views import batches, labelled

GEOMETRY = Geometry(rule="exact", crop_px=32)


@pytest.fixture(scope="module")
def data() -> ArrayDataset:
    """Twenty images, each with a label of its own."""
    pixels = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), np.uint8)
    return ArrayDataset(pixels, np.arange(20))


def epoch(
    data: ArrayDataset, augmentation: Augmentation, number: int = 0, seed: int = 0
) -> dict[int, list[Any]]:
    """The views of every label in an epoch."""
    views: dict[int, list[Any]] = {}
    made = batches(
        data, labelled(data), GEOMETRY, seed=seed, epoch=number, size=5, mix=Mix(), area=(1.0, 1.0),
        mirror=False, augmentation=augmentation,
    )  # fmt: skip
    for images, labels in made:
        for image, label in zip(images, labels, strict=True):
            views.setdefault(int(label), []).append(image)
    return views


def test_an_epoch_has_a_clean_and_a_corrupted_copy_of_every_image(data: ArrayDataset) -> None:
    once = epoch(data, Augmentation())
    both = epoch(data, Augmentation(("contrast:3",), corrupted_copies=1))
    assert Counter(len(views) for views in both.values()) == {2: 20}
    unit = REGISTRY.get("contrast")
    for label, views in both.items():
        clean = [view for view in views if np.array_equal(view, once[label][0])]
        assert len(clean) == 1, "one copy is the view of a training without copies"
        (other,) = [view for view in views if view is not clean[0]]
        # The other copy has its own crop, corrupted at the module's size; crops of the whole image agree
        # where they were not resized.
        if once[label][0].shape == data.read(labelled(data)[label]).shape:
            expected = unit.apply(clean[0], unit.draws(0, "", 3), 3, 32)
            assert other.std() < clean[0].std() and expected.std() < clean[0].std()


def test_the_standard_model_sees_clean_copies_twice_and_takes_as_many_steps(data: ArrayDataset) -> None:
    twice = epoch(data, Augmentation(clean_copies=2))
    assert Counter(len(views) for views in twice.values()) == {2: 20}
    corrupted = epoch(data, Augmentation(("contrast:3",), corrupted_copies=1))
    assert sum(map(len, twice.values())) == sum(map(len, corrupted.values()))


def test_draws_depend_on_seed_epoch_and_image(data: ArrayDataset) -> None:
    noisy = Augmentation(("gaussian_noise:3",), clean_copies=0, corrupted_copies=1)
    first, again = epoch(data, noisy), epoch(data, noisy)
    for label in first:
        np.testing.assert_array_equal(first[label], again[label])
    for other in (epoch(data, noisy, number=1), epoch(data, noisy, seed=1)):
        assert not any(np.array_equal(first[label], other[label]) for label in first)
    clean = epoch(data, Augmentation())
    noise = [first[label][0].astype(int) - clean[label][0] for label in range(20)]
    assert len({one.tobytes() for one in noise}) == 20
    # The corruption itself is that of windtunnel.corrupt, after the crop.
    unit, root = REGISTRY.get("gaussian_noise"), digest64("train/corruption", 0, 0, 0)
    expected = unit.apply(clean[7][0], unit.draws(root, "00000007", 3), 3, 32)
    np.testing.assert_array_equal(first[7][0], expected)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Augmentation(("fog:3",)), "give corrupted_copies = 1 as well"),
        (lambda: Augmentation(corrupted_copies=1), "corruptions is empty"),
        (lambda: Augmentation(clean_copies=0), "at least one copy"),
        (lambda: Augmentation(("fog",), corrupted_copies=1), "has no severity; write fog:3"),
        (lambda: Augmentation(("s2n/blur:3",), corrupted_copies=1), "write s2n/blur"),
        (
            lambda: Augmentation(("fog:x",), corrupted_copies=1),
            "not a severity of fog; give one of 1, 2, 3, 4, 5",
        ),
        (lambda: Augmentation(("fgo:3",), corrupted_copies=1), "Did you mean fog"),
        (lambda: Augmentation("fog:3", corrupted_copies=1), "a tuple of names"),  # type: ignore[arg-type]
        (lambda: Settings(drop_after=(0,)), "a tuple of epochs"),
        (lambda: Settings(drop_after=20), "a tuple of epochs"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_get_one_line(make: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


def test_small_images_are_refused_before_training(data: ArrayDataset, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 20))
    preprocess = Preprocess(Geometry(rule="exact", crop_px=16), Tensor())
    fog = Augmentation(("fog:3",), corrupted_copies=1)
    with pytest.raises(UserError, match="16 pixels; fog needs 32"):
        fit(module, data, tmp_path / "t", preprocess=preprocess, augmentation=fog)


def test_images_of_any_size_are_refused_before_training(data: ArrayDataset, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(20))
    preprocess = Preprocess(Geometry(rule="short-side", resize_px=64, crop_px=0), Tensor())
    fog = Augmentation(("fog:3",), corrupted_copies=1)
    with pytest.raises(UserError, match="images of any size"):
        fit(module, data, tmp_path / "t", preprocess=preprocess, augmentation=fog)


def test_another_augmentation_is_another_training_and_none_is_not_written(
    data: ArrayDataset, tmp_path: Path
) -> None:
    preprocess, one = Preprocess(GEOMETRY, Tensor()), Settings(epochs=1, batch=20)

    def train(augmentation: Augmentation, out: str) -> None:
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 20))
        fit(module, data, tmp_path / out, preprocess=preprocess, settings=one, augmentation=augmentation)

    train(Augmentation(), "usual")
    assert "augmentation" not in (tmp_path / "usual" / "training.json").read_text()
    assert "drop_after" not in (tmp_path / "usual" / "training.json").read_text()
    train(Augmentation(("fog:3",), corrupted_copies=1), "fog")
    with pytest.raises(UserError, match=r"different augmentation"):
        train(Augmentation(("fog:4",), corrupted_copies=1), "fog")


def test_schedules() -> None:
    steps = Settings(epochs=40, drop_after=(20, 30), reset_momentum=True)
    rates = [steps.learning_rate_at(number, 0, 100) for number in (0, 19, 20, 29, 30, 39)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])
    assert [number for number in range(40) if steps.resets_momentum_before(number)] == [20, 30]
    cosine = Settings(epochs=10)
    assert cosine.learning_rate_at(0, 0, 100) == 0.1
    assert cosine.learning_rate_at(5, 0, 100) == pytest.approx(0.05)


def test_the_papers_protocol() -> None:
    """The published code: ResNet-18, 40 epochs, batch 256, SGD 0.1, x0.1 after 20 and 30, crops from 0.08."""
    paper = load_protocol("paper")
    assert (paper.network, paper.side_px) == ("resnet18", 224)
    settings = paper.settings
    assert (settings.epochs, settings.batch, settings.learning_rate) == (40, 256, 0.1)
    assert (settings.momentum, settings.weight_decay, settings.area) == (0.9, 1e-4, (0.08, 1.0))
    assert settings.drop_after == (20, 30) and settings.mirror and settings.reset_momentum
    assert paper.preprocess.geometry.rule == "squash" and paper.preprocess.geometry.resize_px == 256
    assert paper.changed(None, 4).settings.drop_after == (2, 3)


def test_networks_are_seeded_and_leave_torchs_generator_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (built("small", 10, 32, seed) for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    weights = [next(module.parameters()) for module in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert first(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_resnet18_is_the_published_one() -> None:
    module = built("resnet18", 1000, 224, 0)
    assert sum(weight.numel() for weight in module.parameters()) == 11_689_512  # as torchvision publishes
    assert module.eval()(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)
    assert module[-1].bias[0].item() == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def made(classes, side_px):\n    return 3\n", "returned a int; return a torch module"),
        ("def made(classes):\n    return None\n", "failed: TypeError"),
        ("other = 1\n", "has no function made"),
    ],
)
def test_a_wrong_network_gets_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(text)
    with pytest.raises(UserError, match=words):
        built(f"{tmp_path / 'net.py'}:made", 10, 32, 0)


def test_momentum_starts_again(data: ArrayDataset, tmp_path: Path) -> None:
    """With a momentum that is reset in every epoch, a training is one of single epochs from its weights."""
    preprocess = Preprocess(GEOMETRY, Tensor())

    def weights(settings: Settings, out: str) -> Any:
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 20))
        fit(module, data, tmp_path / out, preprocess=preprocess, settings=settings)
        return module[1].weight.detach().clone()

    steps = Settings(epochs=2, batch=10, drop_after=(1,), learning_rate=0.01)
    kept = weights(steps, "kept")
    reset = weights(replace(steps, reset_momentum=True), "reset")
    none = weights(replace(steps, momentum=0.0), "none")
    assert not torch.equal(kept, reset) and not torch.equal(reset, none)
