"""Training remedies: recorded, repeatable, continued after a kill, exported, and refused in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import windtunnel
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data.natural_layouts import open_natural
from windtunnel.models.torch import TorchPredictor
from windtunnel.train import (
    Augmentation,
    Geometry,
    Mix,
    Preprocess,
    Remedies,
    Settings,
    Tensor,
    fit,
    split_by_video,
)
from windtunnel.train.training_sets import epoch_samples, open_training_data
from windtunnel.train.views import batches, labelled

PREPROCESS = Preprocess(Geometry(rule="exact", crop_px=32), Tensor(mean=(0.5,) * 3, std=(0.25,) * 3))
QUICK = Settings(epochs=2, batch=32, learning_rate=0.05, area=(0.7, 1.0), mirror=False)
REMEDIES = [
    Remedies(images=("augmix", "cutout"), batch="cutmix", ema=0.9),
    Remedies(images=("augmix", "clahe"), loss="jensen_shannon", batch="mixup"),
    Remedies(images=("gaussian_noise", "uniform_noise", "speckle_noise"), batch="moex", loss="distillation"),
    Remedies(loss="adversarial(epsilon=2/255)", layers="last"),
]


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Dropout(0.1),
        torch.nn.Conv2d(3, 8, 3, stride=4, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 64, 10),
    )


def checkpoint(folder: Path) -> dict[str, Any]:
    stored: dict[str, Any] = torch.load(folder / "checkpoint.pt", weights_only=True)
    return stored


def assert_same_weights(one: Path, two: Path) -> None:
    first, second = checkpoint(one), checkpoint(two)
    assert set(first) == set(second)
    for part in {"module", "average", "start"} & set(first):
        for name, value in first[part].items():
            assert torch.equal(value, second[part][name]), (part, name)
    assert first["losses"] == second["losses"]


def trained(out: Path, remedies: Remedies, **changed: Any) -> Any:
    given: dict[str, Any] = {"preprocess": PREPROCESS, "settings": QUICK, "remedies": remedies, **changed}
    return fit(network(), given.pop("data", "demo"), out, **given)


@pytest.mark.parametrize("remedies", REMEDIES, ids=str)
def test_a_stopped_training_ends_with_the_same_weights(tmp_path: Path, remedies: Remedies) -> None:
    whole = trained(tmp_path / "whole", remedies)
    assert np.isfinite(whole.losses).all()

    def stop(_epoch: int, _loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "part", remedies, advance=stop)
    module = network()
    if "distillation" not in remedies.loss:  # the continuing process may begin with any trained weights
        with torch.no_grad():
            module[5].weight.fill_(9)
    fit(module, "demo", tmp_path / "part", preprocess=PREPROCESS, settings=QUICK, remedies=remedies)
    assert_same_weights(tmp_path / "whole", tmp_path / "part")
    assert (tmp_path / "whole" / "model.onnx").read_bytes() == (tmp_path / "part" / "model.onnx").read_bytes()


def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    trained(tmp_path / "whole", REMEDIES[0])
    code = (
        "import time, pathlib\n"
        "from tests.e2e import test_train_remedies as here\n"
        "here.trained(pathlib.Path('part'), here.REMEDIES[0], advance=lambda *_: time.sleep(600))\n"
    )
    root = Path(__file__).parents[2]
    paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "part" / "checkpoint.pt").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    trained(tmp_path / "part", REMEDIES[0])
    assert_same_weights(tmp_path / "whole", tmp_path / "part")


def test_views_of_a_loss_have_the_same_crop_and_random_steps_of_their_own() -> None:
    dataset = windtunnel.open_dataset("demo")

    def first_batch(texts: tuple[str, ...], versions: int = 0) -> np.ndarray:
        calls = Remedies(images=texts).image_calls()
        made = batches(
            dataset, labelled(dataset)[:16], PREPROCESS.geometry, seed=0, epoch=0, size=8, mix=Mix(),
            area=(0.3, 1.0), mirror=True, image_steps=calls, versions=versions,
        )  # fmt: skip
        return next(made)[0]

    plain, equalised = first_batch(()), first_batch(("clahe",))
    images, one, two = np.split(first_batch(("cutout(fill=7)", "clahe"), versions=2), 3)
    assert np.array_equal(images, equalised)  # without the random step
    assert not np.array_equal(one, two) and not np.array_equal(plain, equalised)
    images, one, two = np.split(first_batch(("cutout(fill=7)",), versions=2), 3)
    assert np.array_equal(images, plain)
    for view in (one, two):
        covered = (view == 7).all(axis=-1)
        assert np.array_equal(view[~covered], plain[~covered]) and not np.array_equal(view, plain)
    assert not np.array_equal(one, two)


def test_remedies_are_part_of_the_recipe(tmp_path: Path) -> None:
    trained(tmp_path, REMEDIES[0])
    recipe = json.loads((tmp_path / "training.json").read_text())["recipe"]["remedies"]
    assert [step["name"] for step in recipe["images"]] == ["augmix", "cutout"]
    assert recipe["images"][0]["settings"] == {"severity": 3.0, "width": 3, "depth": 0, "alpha": 1.0}
    assert (recipe["batch"]["name"], recipe["loss"]["name"], recipe["ema"]) == (
        "cutmix",
        "cross_entropy",
        0.9,
    )
    same = Remedies(images=("augmix(severity=3)", "cutout"), batch="cutmix()", ema=0.9)
    assert trained(tmp_path, same).losses
    other = Remedies(images=("augmix(severity=2)", "cutout"), batch="cutmix", ema=0.9)
    with pytest.raises(UserError, match=r"another training \(different remedies\)"):
        trained(tmp_path, other)


def test_a_recipe_without_remedies_does_not_mention_them(tmp_path: Path) -> None:
    trained(tmp_path, Remedies(loss="cross_entropy(smoothing=0)"))
    assert "remedies" not in json.loads((tmp_path / "training.json").read_text())["recipe"]
    declared = (tmp_path / "model.onnx.toml").read_text()
    assert "trained_on" not in declared and "trained_with" not in declared and "wrappers" not in declared


def test_the_exported_model_has_the_averaged_weights(tmp_path: Path) -> None:
    module = network()
    done = fit(module, "demo", tmp_path, preprocess=PREPROCESS, settings=QUICK, remedies=Remedies(ema=0.9))
    stored = checkpoint(tmp_path)
    assert all(torch.equal(value, stored["average"][name]) for name, value in module.state_dict().items())
    assert not torch.equal(stored["average"]["5.weight"], stored["module"]["5.weight"])
    images = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
    np.testing.assert_allclose(
        windtunnel.load_model(done.model).predict(images),
        TorchPredictor(module, PREPROCESS.tensor)(images),
        rtol=1e-4, atol=1e-4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("remedies", "layer"), [(Remedies(layers="last"), 1), (Remedies(loss="distillation"), 5)]
)
def test_other_frozen_weights_or_another_teacher_are_another_training(
    tmp_path: Path, remedies: Remedies, layer: int
) -> None:
    trained(tmp_path, remedies)
    before = (tmp_path / "checkpoint.pt").read_bytes()
    module = network()
    with torch.no_grad():
        module[layer].weight.mul_(2)
    with pytest.raises(UserError, match=r"another training \(different module\)"):
        fit(module, "demo", tmp_path, preprocess=PREPROCESS, settings=QUICK, remedies=remedies)
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert trained(tmp_path, remedies).losses


class HeadFirst(torch.nn.Module):
    """Two layers of ten outputs, registered in another order than they are used."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(10, 10)
        self.hidden = torch.nn.Linear(3072, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.hidden(images.flatten(1)).relu())
        return scores


def test_the_last_layer_is_the_one_that_is_used_last(tmp_path: Path) -> None:
    normalised = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10), torch.nn.LayerNorm(10))
    for module, words in ((HeadFirst(), "uses is head, not hidden"), (normalised, "uses is 2, not 1")):
        with pytest.raises(UserError, match=words) as told:
            fit(module, "demo", tmp_path / "t", preprocess=PREPROCESS, remedies=Remedies(layers="last"))
        assert "\n" not in str(told.value) and not (tmp_path / "t").exists()


class Modes(torch.nn.Module):
    """A part of a module with parts of its own and a buffer; records the modes of all in training."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5))
        self.register_buffer("scale", torch.ones(1))
        self.last = torch.nn.Linear(3072, 10)
        self.modes: set[tuple[bool, ...]] = set()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            self.modes.add((self.training, self.backbone.training, self.backbone[1].training,
                            self.last.training))  # fmt: skip
        scores: torch.Tensor = self.last(self.backbone(images) * self.scale)
        return scores


def test_everything_frozen_is_in_evaluation_mode(tmp_path: Path) -> None:
    module = Modes()
    settings = Settings(epochs=1, batch=512)
    fit(module, "demo", tmp_path, preprocess=PREPROCESS, settings=settings, remedies=Remedies(layers="last"))
    assert (False, False, False, True) in module.modes and not any(any(modes[:3]) for modes in module.modes)


def test_averaged_weights_have_batch_norm_statistics_of_their_own(tmp_path: Path) -> None:
    """The mean over all images, and the mean of the batches' variances, with the averaged convolution."""
    images = np.random.default_rng(0).integers(0, 256, (64, 32, 32, 3), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images, labels=np.arange(64) % 10)
    settings = Settings(epochs=5, batch=32, learning_rate=0.5, area=(1.0, 1.0), mirror=False)
    module = network()[1:]
    done = fit(
        module, tmp_path / "images.npz", tmp_path / "t", preprocess=PREPROCESS, settings=settings,
        remedies=Remedies(ema=0.99),
    )  # fmt: skip
    convolution, normalisation = module[0], module[1]
    with torch.no_grad():
        inputs = (torch.from_numpy(images).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
        features = convolution(inputs).transpose(0, 1).flatten(1)
    torch.testing.assert_close(normalisation.running_mean, features.mean(dim=1), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(normalisation.running_var, features.var(dim=1), rtol=0.05, atol=0.01)
    np.testing.assert_allclose(
        windtunnel.load_model(done.model).predict(images), module.eval()(inputs).detach(), atol=1e-3
    )
    again = network()[1:]  # a finished training has the same result
    fit(
        again, tmp_path / "images.npz", tmp_path / "t", preprocess=PREPROCESS, settings=settings,
        remedies=Remedies(ema=0.99),
    )  # fmt: skip
    assert all(torch.equal(value, module.state_dict()[name]) for name, value in again.state_dict().items())


def test_batch_norm_statistics_of_averaged_weights_are_of_clean_images_and_views(tmp_path: Path) -> None:
    """Grey images, of which the loss sees one clean version and two with noise of known variance."""
    np.savez(tmp_path / "grey.npz", images=np.full((64, 32, 32, 3), 128, np.uint8), labels=np.arange(64) % 10)
    settings = Settings(epochs=1, batch=32, learning_rate=1e-6, area=(1.0, 1.0), mirror=False)
    remedies = Remedies(
        images=("gaussian_noise(sigma=0.1, least=0.1, probability=1)",), loss="jensen_shannon", ema=0.5
    )
    module = network()[1:]
    fit(module, tmp_path / "grey.npz", tmp_path / "t", preprocess=PREPROCESS, settings=settings,
        remedies=remedies)  # fmt: skip
    noise = torch.from_numpy(np.random.default_rng(0).normal(0, 0.1 / 0.25, (64, 3, 32, 32))).float()
    with torch.no_grad():
        variance = (module[0](noise)[:, :, 1:, 1:]).transpose(0, 1).flatten(1).var(dim=1)
    # At the border, features of grey images differ; there is little of it.
    assert float((module[1].running_var / variance).median()) == pytest.approx(2 / 3, rel=0.1)


def test_last_layer_training_leaves_everything_else_bit_identical(tmp_path: Path) -> None:
    before, module = network().state_dict(), network()
    fit(
        module, "demo", tmp_path, preprocess=PREPROCESS, settings=QUICK,
        remedies=Remedies(images=("gaussian_noise",), layers="last"),
    )  # fmt: skip
    changed = {name for name, value in module.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"5.weight", "5.bias"}
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_the_model_declares_what_it_was_trained_on_and_with(tmp_path: Path) -> None:
    done = trained(
        tmp_path / "t",
        Remedies(images=("gaussian_noise", "clahe(clip=3)"), batch="mixup"),
        augmentation=Augmentation(("fog:3",), 1, 1),
    )
    model = windtunnel.load_model(done.model)
    assert model.trained_on == ("fog:3", "gaussian_noise")
    assert model.about.trained_with == (
        "gaussian_noise(sigma=0.1, least=0, probability=0.5)", "clahe(clip=3, tiles=8)",
        "mixup(alpha=0.2, probability=1)",
    )  # fmt: skip
    assert model.name.endswith("clahe(clip=3) (trained with it)")
    twice = windtunnel.load_model(f"clahe(clip=3)|{done.model}")
    assert twice.name.endswith("clahe(clip=3) (trained with it) + clahe(clip=3) (test time only)")
    run = windtunnel.run(
        done.model, "demo", "imagenet-c", only=["gaussian_noise:1", "shot_noise:1", "fog:1", "contrast:1"],
        subset=10, out=tmp_path / "run",
    )  # fmt: skip
    run.report()
    page = (tmp_path / "run" / "report.html").read_text()
    assert "scores under gaussian_noise, fog are no evidence of robustness" in page
    assert "shot_noise is of this family, which is therefore not unseen" in page
    assert "trained with it" in page and "test time only" not in page
    assert "fog:3, gaussian_noise; data: not declared" in page


def test_a_checkpoint_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    """It has neither remedies nor more about an epoch than its loss."""
    whole = trained(tmp_path / "whole", Remedies())
    one_epoch = tmp_path / "part"

    def stop(_epoch: int, _loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(one_epoch, Remedies(), advance=stop)
    stored = checkpoint(one_epoch)
    del stored["epochs"]
    torch.save(stored, one_epoch / "checkpoint.pt")
    assert trained(one_epoch, Remedies()).losses == whole.losses
    assert_same_weights(tmp_path / "whole", one_epoch)
    rows = (one_epoch / "history.csv").read_text().splitlines()
    assert rows[1].endswith(",,,") and not rows[2].endswith(",,")


def test_a_worker_returns_the_averaged_weights(tmp_path: Path) -> None:
    here, there = network(), network()
    for module, out, executor in ((here, "here", None), (there, "there", "processes")):
        fit(
            module, [("demo", 1.0)], tmp_path / out, preprocess=PREPROCESS, settings=QUICK,
            remedies=Remedies(images=("cutout",), ema=0.5), device="cpu", executor=executor,
        )  # fmt: skip
    for name, value in here.state_dict().items():
        assert torch.allclose(value, there.state_dict()[name], atol=1e-4), name


class Exploding(torch.nn.Module):
    """Not finite from a step on."""

    def __init__(self, finite_steps: int) -> None:
        super().__init__()
        self.finite_steps = finite_steps
        self.layers = network()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layers(images)
        if self.training:
            self.steps += 1
            if self.steps > self.finite_steps:
                scores = scores * torch.inf
        return scores


def test_a_loss_that_is_not_finite_stops_before_it_changes_the_weights(tmp_path: Path) -> None:
    per_epoch = len(windtunnel.open_dataset("demo").samples()) // QUICK.batch
    module = Exploding(per_epoch + 2)
    with pytest.raises(
        UserError, match=r"in epoch 2, step 3; lower learning_rate.*checkpoint of epoch 1"
    ) as told:
        fit(module, "demo", tmp_path, preprocess=PREPROCESS, settings=QUICK)
    assert "\n" not in str(told.value)
    stored = checkpoint(tmp_path)
    assert len(stored["losses"]) == 1
    assert all(torch.isfinite(value).all() for value in stored["module"].values())
    assert all(torch.isfinite(value).all() for value in module.parameters())


class InfiniteGradient(torch.nn.Module):
    """The square root of 0 is finite, and its derivative is not."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = network()
        self.scale = torch.nn.Parameter(torch.zeros(10))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layers(images) + torch.sqrt(self.scale)
        return scores


def test_weights_that_are_not_finite_get_no_checkpoint(tmp_path: Path) -> None:
    one_step = Settings(epochs=1, batch=100_000)
    with pytest.raises(UserError, match="weights are no longer finite in epoch 1; lower learning_rate"):
        fit(InfiniteGradient(), "demo", tmp_path, preprocess=PREPROCESS, settings=one_step)
    assert not (tmp_path / "checkpoint.pt").exists()


class GrowingBuffer(torch.nn.Module):
    """A buffer that training makes infinite, and a mask that is infinite from the start."""

    def __init__(self, largest: float) -> None:
        super().__init__()
        self.layers = network()
        self.largest = largest
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("mask", torch.tensor([-torch.inf]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.scale.fill_(self.largest)
        scores: torch.Tensor = self.layers(images)
        return scores


def test_buffers_that_are_not_finite_get_no_checkpoint(tmp_path: Path) -> None:
    one_step = Settings(epochs=1, batch=100_000, learning_rate=0.01)
    with pytest.raises(UserError, match="buffer scale is no longer finite in epoch 1; lower learning_rate"):
        fit(GrowingBuffer(np.inf), "demo", tmp_path / "t", preprocess=PREPROCESS, settings=one_step)
    assert not (tmp_path / "t" / "checkpoint.pt").exists()
    done = fit(GrowingBuffer(2.0), "demo", tmp_path / "u", preprocess=PREPROCESS, settings=one_step)
    assert len(done.losses) == 1


@pytest.mark.parametrize(
    ("remedies", "trained_on"),
    [
        (Remedies(images=("cutout", "gaussian_noise")), ("s2n/cutout", "gaussian_noise")),
        (Remedies(images=("cutout(probability=0)", "gaussian_noise(probability=0)")), ()),
        (Remedies(images=("cutout(share=0)", "augmix(severity=0)")), ()),
        (Remedies(loss="stability"), ("gaussian_noise",)),
        (Remedies(loss="stability(sigma=0)"), ()),
    ],
    ids=str,
)
def test_steps_without_an_effect_declare_nothing(remedies: Remedies, trained_on: tuple[str, ...]) -> None:
    assert remedies.trained_on() == trained_on


def test_the_model_declares_averaging_and_layers(tmp_path: Path) -> None:
    done = trained(tmp_path, Remedies(batch="mixup", ema=0.9, layers="last"))
    model = windtunnel.load_model(done.model)
    assert model.about.trained_with == ("mixup(alpha=0.2, probability=1)", "ema=0.9", "layers=last")


class NoGradient(torch.nn.Module):
    """Its scores do not depend on its inputs as far as torch knows."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(3072, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.last(images.detach().flatten(1))
        return scores


class Pair(torch.nn.Module):
    """A part that returns two outputs, or the halves of images as images of their own."""

    def __init__(self, halves: bool) -> None:
        super().__init__()
        self.halves = halves

    def forward(self, images: torch.Tensor) -> Any:
        return torch.cat(images.chunk(2, dim=2)) if self.halves else (images, images)


class Around(torch.nn.Module):
    """A network around such a part."""

    def __init__(self, halves: bool) -> None:
        super().__init__()
        self.part = Pair(halves)
        self.layers = network()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        made = self.part(images)
        scores: torch.Tensor = self.layers(
            torch.cat(made.chunk(2), dim=2) if isinstance(made, torch.Tensor) else made[0]
        )
        return scores


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"images": "augmix"}, r"images is 'augmix'; give a tuple of image steps, such as \('augmix',\)"),
        ({"images": ("augmux",)}, r"Unknown image step 'augmux'\. Did you mean augmix\?.*list image-steps"),
        ({"images": ("cutout(share=2)",)}, r"cutout: share is '2'; give a number from 0 to 1\."),
        ({"images": ("cutout(side=2)",)}, "Unknown parameter of cutout 'side'"),
        ({"images": ("gaussian_noise(sigma=0)",)}, "sigma is 0 and least is 0; give sigma above 0"),
        ({"images": ("gaussian_noise(least=0.5)",)}, "sigma is 0.1 and least is 0.5"),
        ({"images": ("noise(",)}, r"'noise\(' is not an image step; write NAME or NAME\(PARAMETER=VALUE"),
        ({"batch": "mixup(alpha=0)"}, "mixup: alpha is '0'; give a number from 0.001 to 100"),
        ({"batch": None}, "batch is None; give a text"),
        ({"batch": "cutup"}, r"Unknown batch step 'cutup'.*windtunnel list batch-steps"),
        ({"loss": ""}, "'' is not a loss; write NAME"),
        ({"loss": "hinge"}, r"Unknown loss 'hinge'.*windtunnel list losses"),
        ({"loss": "cross_entropy(smoothing=1.5)"}, "smoothing is '1.5'; give a number from 0 to 0.99"),
        ({"loss": "jensen_shannon"}, "compares 3 versions of each image, and images has no random"),
        ({"loss": "jensen_shannon", "images": ("clahe",)}, "no random step"),
        ({"loss": "jensen_shannon", "images": ("augmix(severity=0)",)}, "no random step"),
        ({"loss": "jensen_shannon", "images": ("cutout(probability=0)",)}, "no random step"),
        ({"loss": "adversarial", "batch": "moex"}, "adversarial cannot be combined with moex"),
        ({"loss": "logit_pairing", "batch": "moex"}, "logit_pairing cannot be combined with moex"),
        ({"images": ("clahe", "cutout")}, "clahe is followed by cutout, .*; put clahe last"),
        ({"loss": "distillation(teacher=average)"}, "takes the averaged weights as its teacher; give ema"),
        ({"loss": "distillation(teacher=me)"}, "teacher is 'me'; give start or average"),
        ({"ema": 1}, r"ema is 1; give a number from 0 \(none\) to below 1"),
        ({"ema": True}, "ema is True"),
        ({"layers": "first"}, "layers is 'first'; give 'all' or 'last'"),
    ],
)  # fmt: skip
def test_mistakes_get_one_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as told:
        Remedies(**given)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"remedies": "augmix"}, r"remedies is 'augmix'; give windtunnel\.train\.Remedies\(\.\.\.\)"),
        ({"module": torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10)),
          "remedies": Remedies(batch="moex")}, "moex: the module has no convolution; give the name"),
        ({"remedies": Remedies(batch="moex(layer=9)")}, "Unknown layer of the module '9'"),
        ({"remedies": Remedies(batch="moex(layer=4)")}, r"layer 4 returns shape \(2, 512\) .*feature map"),
        ({"module": Around(False), "remedies": Remedies(batch="moex(layer=part)")},
         "layer part returns a tuple for 2 images"),
        ({"module": Around(True), "remedies": Remedies(batch="moex(layer=part)")},
         r"layer part returns shape \(4, 3, 16, 32\) for 2 images"),
        ({"module": NoGradient(), "remedies": Remedies(loss="adversarial")},
         "adversarial attacks images by the gradient of the module's scores, and the module has none"),
        ({"data": [("demo", 0)]}, "share of demo is 0; give a number above 0"),
        ({"data": []}, r"data is \[\]; give one dataset, or pairs"),
        ({"data": ["demo", "demo"]}, "give one dataset, or pairs of a dataset and its share"),
        ({"data": [("demo", 1), ("demo", 1e-9)]}, "give more images, or other shares"),
        ({"preprocess": Preprocess(PREPROCESS.geometry, Tensor(divisor=1.0, dtype="uint8")),
          "remedies": Remedies(batch="mixup")}, "mixup changes the inputs of the module, which are bytes"),
        ({"preprocess": Preprocess(PREPROCESS.geometry, Tensor(divisor=1.0, dtype="uint8")),
          "remedies": Remedies(loss="adversarial")}, "adversarial changes the inputs of the module"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_training(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    given = {"module": network(), "data": "demo", "preprocess": PREPROCESS, "settings": QUICK, **changed}
    with pytest.raises(UserError, match=words) as told:
        fit(given.pop("module"), given.pop("data"), tmp_path / "t", **given)
    assert "\n" not in str(told.value) and not (tmp_path / "t").exists()


def test_a_module_that_cannot_be_copied_is_refused_if_a_copy_is_needed(tmp_path: Path) -> None:
    class Single(torch.nn.Linear):
        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            raise TypeError("there is only one")

    module = torch.nn.Sequential(torch.nn.Flatten(), Single(3072, 10))
    for remedies in (Remedies(ema=0.9), Remedies(loss="distillation")):
        with pytest.raises(
            UserError, match=r"cannot be copied \(there is only one\), which averaged weights"
        ):
            fit(module, "demo", tmp_path / "t", preprocess=PREPROCESS, remedies=remedies)
    assert not (tmp_path / "t").exists()


def test_a_module_without_a_last_layer_is_refused(tmp_path: Path) -> None:
    class Folded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(3072, 10))

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.flatten(1) @ self.weight

    with pytest.raises(UserError, match="no linear layer or convolution of 10 outputs; give 'all'"):
        fit(Folded(), "demo", tmp_path / "t", preprocess=PREPROCESS, remedies=Remedies(layers="last"))


def arrays(file: Path, value: int, count: int, classes: int = 2) -> Path:
    images = np.full((count, 32, 32, 3), value, np.uint8)
    images[:, 0, 0, 0] = np.arange(count) % 256
    np.savez(file, images=images, labels=np.arange(count) % classes)
    return file


class Counting(torch.nn.Module):
    """Counts dark and bright images of every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(1, 2)
        self.seen: list[tuple[int, int]] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        bright = images.mean(dim=(1, 2, 3), keepdim=False)[:, None]
        if self.training:
            self.seen.append((int((bright < 0).sum()), int((bright > 0).sum())))
        scores: torch.Tensor = self.last(bright)
        return scores


def test_several_sets_are_mixed_by_their_shares(tmp_path: Path) -> None:
    dark, bright = arrays(tmp_path / "dark.npz", 10, 80), arrays(tmp_path / "bright.npz", 240, 50)
    module = Counting()
    sets = [(dark, 4), (bright, 1)]
    settings = Settings(epochs=2, batch=20, learning_rate=0.01)
    fit(module, sets, tmp_path / "t", preprocess=PREPROCESS, settings=settings)
    # All 80 dark images are 80 % of 100.
    for epoch in (module.seen[:5], module.seen[5:]):
        assert np.sum(epoch, axis=0).tolist() == [80, 20]
    assert any(batch not in ((20, 0), (0, 20)) for batch in module.seen)
    recipe = json.loads((tmp_path / "t" / "training.json").read_text())["recipe"]["data"]
    assert recipe["shares"] == [0.8, 0.2] and recipe["count"] == 130
    with pytest.raises(UserError, match=r"another training \(different data\)"):
        fit(module, [(dark, 1), (bright, 1)], tmp_path / "t", preprocess=PREPROCESS, settings=settings)


def test_another_epoch_samples_other_images(tmp_path: Path) -> None:
    dark, bright = arrays(tmp_path / "dark.npz", 10, 80), arrays(tmp_path / "bright.npz", 240, 50)
    samples = open_training_data([(dark, 0.8), (bright, 0.2)]).samples()
    drawn = [
        {sample.id for sample in epoch_samples(samples, (0.8, 0.2), 0, epoch) if sample.id.startswith("1/")}
        for epoch in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == len(drawn[2]) == 20


def test_sets_of_other_classes_are_refused(tmp_path: Path) -> None:
    two, three = arrays(tmp_path / "two.npz", 10, 8), arrays(tmp_path / "three.npz", 10, 9, 3)
    with pytest.raises(
        UserError, match=r"different classes \(only .*three\.npz has 2\); give sets of the same"
    ):
        fit(network(), [(two, 1), (three, 1)], tmp_path / "t", preprocess=PREPROCESS)


def test_an_image_in_two_sets_is_refused(tmp_path: Path) -> None:
    dark, bright = arrays(tmp_path / "dark.npz", 10, 8), arrays(tmp_path / "bright.npz", 240, 8)
    with np.load(bright) as stored:
        images = stored["images"].copy()
    with np.load(dark) as stored:
        images[3] = stored["images"][5]
    np.savez(bright, images=images, labels=np.arange(8) % 2)
    with pytest.raises(UserError, match=r"0/.*5 and 1/.*3 are the same image .*; remove it from one") as told:
        fit(Counting(), [(dark, 1), (bright, 1)], tmp_path / "t", preprocess=PREPROCESS)
    assert "\n" not in str(told.value) and not (tmp_path / "t").exists()


class Animals:
    """One image of each class, with classes in a given order."""

    name = location = "animals"
    portable = False

    def __init__(self, *classes: str) -> None:
        self.label_space = LabelSpace("names", classes, "as given")

    def samples(self) -> list[Sample]:
        return [Sample(name, (label,)) for label, name in enumerate(self.label_space.classes)]

    def read(self, sample: Sample) -> np.ndarray:
        return np.full((32, 32, 3), ord(sample.id[0]), np.uint8)


def test_classes_in_another_order_keep_their_names() -> None:
    both = open_training_data([(Animals("cat", "dog"), 1), (Animals("dog", "cat"), 1)])
    names = {sample.id: both.label_space.classes[sample.labels[0]] for sample in both.samples()}
    assert names == {"0/cat": "cat", "0/dog": "dog", "1/cat": "cat", "1/dog": "dog"}
    assert {sample.id: int(np.asarray(both.read(sample))[0, 0, 0]) for sample in both.samples()} == {
        id_: ord(name[0]) for id_, name in names.items()
    }


def video_table(folder: Path, videos: int = 10) -> Path:
    from PIL import Image

    rows = ["path,label,video"]
    for video in range(videos):
        for frame in range(3):
            Image.new("RGB", (32, 32), (video, frame, 0)).save(folder / f"{video}-{frame}.png")
            rows.append(f"{video}-{frame}.png,{video % 2},v{video}")
    (folder / "frames.csv").write_text("\n".join(rows))
    return folder / "frames.csv"


def test_no_video_is_on_both_sides_of_a_split(tmp_path: Path) -> None:
    table = video_table(tmp_path)
    training, evaluation = split_by_video(table, 0.3)
    videos = [{sample.meta["video"] for sample in part.samples()} for part in (training, evaluation)]
    assert (len(videos[0]), len(videos[1])) == (7, 3) and not videos[0] & videos[1]
    assert len(training.samples()) + len(evaluation.samples()) == 30
    again = split_by_video(table, 0.3)[1]
    assert [sample.id for sample in again.samples()] == [sample.id for sample in evaluation.samples()]
    others = {tuple(sample.id for sample in split_by_video(table, 0.3, seed=seed)[1].samples())
              for seed in range(5)}  # fmt: skip
    assert len(others) > 1
    module = Counting()
    done = fit(module, training, tmp_path / "t", preprocess=PREPROCESS, settings=Settings(epochs=1, batch=21))
    assert sum(sum(batch) for batch in module.seen) == 21
    run = windtunnel.run(done.model, evaluation, "smoke", only=["brightness:1"], out=tmp_path / "run")
    assert run.scores()


def test_a_split_without_videos_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not name the video of its images; give column"):
        split_by_video("demo")
    with pytest.raises(UserError, match="has frames of one video; a split needs at least two"):
        split_by_video(video_table(tmp_path, 1))
    for number, (rows, words) in enumerate(
        [
            (
                ["a,0,v1", "b,1,v2", "c,0,"],
                r"the column video is empty for 1 image, first .*0-0\.png#3; fill it",
            ),
            (["a,0,v1", "b,1,v2"], r"All videos of 1 class are for evaluation \([01]\); give another seed"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "t.csv").write_text(
            "\n".join(["path,label,video", *(f"../0-0.png{row[1:]}" for row in rows)])
        )
        with pytest.raises(UserError, match=words):
            split_by_video(folder / "t.csv")
    frame_sets = tmp_path / "sets.csv"
    rows = [f"{video}-{frame}.png,{video},s{video},{frame}" for video in range(2) for frame in range(3)]
    video_table(tmp_path, 2)
    frame_sets.write_text("\n".join(["path,label,set,offset", *rows]))
    with pytest.raises(UserError, match=r"does not name the video.*only if no video has two sets"):
        split_by_video(frame_sets)
    natural = open_natural(frame_sets, "pm-k")
    with pytest.raises(UserError, match="test set with rules of its own"):
        split_by_video(natural)
    with pytest.raises(UserError, match="share is 1; give a number between 0 and 1"):
        split_by_video("demo", 1)
