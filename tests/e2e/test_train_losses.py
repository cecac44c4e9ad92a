"""Trainings with each loss: the same weights again, after a kill too; bad recipes are refused in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import windtunnel
from windtunnel.core.errors import UserError
from windtunnel.models.torch import TorchPredictor
from windtunnel.store.training_folder import read_history
from windtunnel.train import Geometry, Preprocess, Remedies, Settings, Tensor, fit

PREPROCESS = Preprocess(Geometry(rule="exact", crop_px=16), Tensor(mean=(0.5,) * 3, std=(0.25,) * 3))
QUICK = Settings(epochs=2, batch=32, learning_rate=0.05, area=(0.7, 1.0), mirror=False)
REMEDIES = {
    "adversarial": Remedies(loss="adversarial(epsilon=8/255)"),
    "pgd": Remedies(loss="adversarial(norm=l2, epsilon=0.5, steps=3)"),
    "logit_pairing": Remedies(loss="logit_pairing(epsilon=8/255, steps=2)"),
    "jensen_shannon": Remedies(images=("augmix",), loss="jensen_shannon"),
    "stability": Remedies(loss="stability"),
    "start": Remedies(loss="distillation(teacher=start)"),
    "average": Remedies(loss="distillation(teacher=average)", ema=0.9),
}


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 64, 10),
    )


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 of the demo's digits as an array file."""
    from windtunnel.data.demo import digits

    images, classes = digits()
    file = tmp_path_factory.mktemp("digits") / "digits.npz"
    np.savez(file, images=images[:300], labels=classes[:300])
    return file


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "checkpoint.pt", weights_only=True)["module"]


def assert_same_weights(first: Path, second: Path) -> None:
    for name, value in weights(first).items():
        assert torch.equal(value, weights(second)[name]), name


@pytest.mark.parametrize("name", REMEDIES)
def test_a_stopped_training_ends_with_the_same_weights_and_a_model_that_runs_take(
    digits: Path, tmp_path: Path, name: str
) -> None:
    def stop(_epoch: int, _loss: float) -> None:
        raise KeyboardInterrupt

    module, remedies = network(), REMEDIES[name]
    whole = fit(module, digits, tmp_path / "whole", preprocess=PREPROCESS, settings=QUICK, remedies=remedies)
    with pytest.raises(KeyboardInterrupt):
        fit(network(), digits, tmp_path / "part", preprocess=PREPROCESS, settings=QUICK, remedies=remedies,
            advance=stop)  # fmt: skip
    other = network()
    if name != "start":  # the given weights no longer matter, except to a teacher
        with torch.no_grad():
            other[0].weight.add_(1)
    torch.rand(5)
    again = fit(other, digits, tmp_path / "part", preprocess=PREPROCESS, settings=QUICK, remedies=remedies)
    assert again.losses == whole.losses
    assert_same_weights(whole.folder, again.folder)
    assert whole.losses[1] < whole.losses[0]
    assert 0 < read_history(whole.folder)[0].accuracy < read_history(whole.folder)[1].accuracy <= 1
    batch = np.random.default_rng(0).integers(0, 256, (4, 16, 16, 3)).astype(np.uint8)
    np.testing.assert_allclose(
        windtunnel.load_model(whole.model).predict(batch),
        TorchPredictor(module, PREPROCESS.tensor)(batch),
        atol=1e-4,
    )


@pytest.mark.parametrize("name", ["adversarial", "logit_pairing", "stability", "start"])
def test_only_the_last_layer_changes_if_only_it_is_trained(digits: Path, tmp_path: Path, name: str) -> None:
    """Attacks and noise change neither frozen weights nor the statistics of frozen normalisation."""
    remedies = replace(REMEDIES[name], layers="last")
    done = fit(network(), digits, tmp_path, preprocess=PREPROCESS, settings=QUICK, remedies=remedies)
    before, after = network().state_dict(), weights(done.folder)
    changed = {key for key, value in before.items() if not torch.equal(value, after[key])}
    assert changed == {"5.weight", "5.bias"}


# With a fourth argument, the process kills itself in the middle of the third epoch.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from tests.e2e.test_train_losses import PREPROCESS, QUICK, REMEDIES, fit, network, read_history, replace
name, data, out, *killed = sys.argv[1:]
calls = []

def kill(*_):
    calls.append(len(read_history(Path(out))))
    if killed and calls.count(2) == 4:
        os.kill(os.getpid(), signal.SIGKILL)

module = network()
module.register_forward_hook(kill)
fit(module, data, out, preprocess=PREPROCESS, remedies=REMEDIES[name], settings=replace(QUICK, epochs=4))
"""


@pytest.mark.parametrize("name", ["pgd", "start"])
def test_a_killed_training_continues_with_the_same_weights(digits: Path, tmp_path: Path, name: str) -> None:
    path = os.pathsep.join([*sys.path, str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def train(out: str, *killed: str) -> int:
        command = [sys.executable, "-c", SCRIPT, name, str(digits), str(tmp_path / out), *killed]
        return subprocess.run(command, env=environment, check=False).returncode

    assert train("whole") == 0
    assert train("killed", "killed") == -signal.SIGKILL
    assert len(read_history(tmp_path / "killed")) == 2 and not (tmp_path / "killed" / "model.onnx").exists()
    assert train("killed") == 0
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")
    whole, killed = ((tmp_path / name / "model.onnx").read_bytes() for name in ("whole", "killed"))
    assert whole == killed


@pytest.mark.parametrize(
    ("remedies", "words"),
    [
        ({"loss": "adversarial(norm=l1)"}, "adversarial: norm is 'l1'; give linf or l2"),
        ({"loss": "adversarial(norm=l2)"}, "give epsilon as well, such as epsilon=0.5 for 32 pixels"),
        ({"loss": "logit_pairing(norm=l2, steps=2)"}, "the default epsilon is for linf"),
        ({"loss": "logit_pairing(step_size=2)"}, "2 of 255 grey levels is step_size=2/255"),
        ({"loss": "cross_entropy(smoothing=1)"}, "smoothing is '1'; give a number from 0 to 0.99"),
        ({"images": ("mixup",)}, "images has mixup, which is a batch step; give it as batch"),
        ({"images": ("fog:3",)}, "which is a corruption; give it as a corruption of Augmentation"),
        ({"loss": "adversarial(eps=8/255)"}, "Did you mean epsilon?"),
        ({"loss": "adversarial(epsilon=0)"}, "adversarial: epsilon is '0'; give a number from 1e-06"),
        ({"loss": "adversarial(steps=0)"}, "steps is '0'; give a whole number from 1"),
        ({"loss": "adversarial(steps=1.5)"}, "give a whole number"),
        ({"loss": "adversarial(eps=0.1)"}, "Unknown parameter of adversarial 'eps'.*Did you mean|steps"),
        ({"loss": "adverserial"}, "Did you mean adversarial"),
        ({"loss": "stability(sigma=2)"}, "sigma is '2'; give a number from 0 to 1"),
        ({"loss": "logit_pairing(clean=2)"}, "clean is '2'"),
        ({"loss": "distillation(teacher=me)"}, "teacher is 'me'; give start or average"),
        ({"loss": "distillation(teacher=average)"}, "takes the averaged weights as its teacher; give ema"),
        ({"loss": "jensen_shannon"}, "compares 3 versions of each image.*add one, such as augmix"),
    ],
)
def test_bad_recipes_are_refused_in_one_line(remedies: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words) as told:
        Remedies(**remedies)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)


def test_a_radius_of_l2_may_be_the_default_of_linf() -> None:
    remedies = Remedies(loss="adversarial(norm=l2, epsilon=4/255)")
    assert remedies.loss_call().settings["epsilon"] == 4 / 255


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        (name, batch)
        for name in REMEDIES
        for batch in ("mixup", "cutmix", "moex(probability=1)")
        if not (name in ("adversarial", "pgd", "logit_pairing") and batch.startswith("moex"))
    ],
)
def test_every_loss_combines_with_every_batch_step(
    digits: Path, tmp_path: Path, name: str, batch: str
) -> None:
    once = Settings(epochs=1, batch=100, learning_rate=0.01, mirror=False)
    results = [
        fit(
            network(), digits, tmp_path / str(number), preprocess=PREPROCESS, settings=once, remedies=remedies
        )
        for number, remedies in enumerate((REMEDIES[name], replace(REMEDIES[name], batch=batch)))
    ]
    assert np.isfinite(results[1].losses[0]) and results[0].losses != results[1].losses


@pytest.mark.parametrize("loss", ["adversarial", "logit_pairing", "stability"])
def test_losses_that_change_inputs_refuse_modules_of_bytes(digits: Path, tmp_path: Path, loss: str) -> None:
    preprocess = Preprocess(PREPROCESS.geometry, Tensor(divisor=1.0, dtype="uint8"))
    with pytest.raises(UserError, match=f"{loss} changes the inputs of the module, which are bytes"):
        fit(network(), digits, tmp_path / "t", preprocess=preprocess, remedies=Remedies(loss=loss))
    assert not (tmp_path / "t").exists()


def robust_accuracy(module: torch.nn.Module, data: Path, epsilon: float) -> float:
    """The accuracy under ten steps of linf PGD, written without the package's attacks."""
    stored = np.load(data)
    pixels = torch.from_numpy(
        np.stack([small(image) for image in stored["images"]]).astype(np.float32) / 255
    ).permute(0, 3, 1, 2)
    labels = torch.from_numpy(stored["labels"]).long()
    attacked = pixels.clone()
    for _ in range(10):
        attacked.requires_grad_(True)
        loss = torch.nn.functional.cross_entropy(module((attacked - 0.5) / 0.25), labels)
        loss.backward()
        moved = attacked.detach() + epsilon / 4 * attacked.grad.sign()
        attacked = torch.max(torch.min(moved, pixels + epsilon), pixels - epsilon).clamp(0, 1)
    with torch.no_grad():
        return (module((attacked - 0.5) / 0.25).argmax(1) == labels).float().mean().item()


def small(image: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(image).resize((16, 16), Image.Resampling.BILINEAR))


@pytest.mark.parametrize(
    "loss", ["adversarial(epsilon=0.01)", "logit_pairing(epsilon=0.01, steps=3, step_size=0.005)"]
)
def test_attacked_images_in_training_make_a_model_withstand_attacks(
    digits: Path, tmp_path: Path, loss: str
) -> None:
    settings = Settings(epochs=20, batch=32, learning_rate=0.05, area=(0.9, 1.0), mirror=False, seed=1)
    accuracies = []
    for number, text in enumerate(("cross_entropy", loss)):
        module = network()
        fit(module, digits, tmp_path / str(number), preprocess=PREPROCESS, settings=settings,
            remedies=Remedies(loss=text))  # fmt: skip
        accuracies.append(robust_accuracy(module.eval(), digits, 0.01))
    assert accuracies[1] > accuracies[0] + 0.2, accuracies
