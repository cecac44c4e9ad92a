"""Fine-tuned filter models: trained on the project's classes, never on candidates, continued after a kill."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import Command
from windtunnel import UserError, api
from windtunnel.models import load_model

DECLARED = """
labels = ["dark", "light", "other"]
[geometry]
rule = "exact"
crop_px = 32
[tensor]
divisor = 255.0
mean = [0.5, 0.5, 0.5]
std = [0.5, 0.5, 0.5]
"""
# A network whose outputs for dark and light are exchanged: it is wrong until it is fine-tuned.
NETWORK = """
import torch

def net():
    torch.manual_seed(0)
    last = torch.nn.Linear(3, 3)
    with torch.no_grad():
        last.weight[:] = torch.tensor([[0.3], [-0.3], [0.0]]).expand(3, 3)
        last.bias[:] = 0
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), last)

def constant():
    return lambda images: images.mean(axis=(1, 2, 3))[:, None] * [[1.0, 2.0, 3.0]]
"""


def write_images(folder: Path, count: int, seed: int) -> Path:
    """Noise, dark or light, in a folder for each."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        name, low = (("dark", 0), ("light", 130))[number % 2]
        path = folder / name / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(low, low + 120, (32, 32, 3), dtype=np.uint8)).save(path)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    api.collect_candidates(write_images(tmp_path / "images", 40, 1), tmp_path / "project")
    (tmp_path / "net.py").write_text(NETWORK)
    (tmp_path / "net.py.toml").write_text(DECLARED)
    return tmp_path / "project"


def test_a_fine_tuned_network_filters(project: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    data = write_images(tmp_path / "train", 40, 2)
    # Three candidates are among the training images.
    for path in sorted((tmp_path / "images").rglob("*.png"))[:3]:
        shutil.copy(path, data / path.parent.name / f"candidate-{path.name}")
    spec = f"{tmp_path / 'net.py'}:net"
    plain = api.filter_hard(project, [spec], max_true_confidence=1.0).summary
    assert plain.accuracies == (0.0,) and plain.shortlist > 0
    done = windtunnel_command(
        "curate", "fine-tune", project, spec, data, "--epochs", "4", "--batch", "8", "--learning-rate", "0.5",
        "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    step = json.loads(done.stdout)
    assert step["summary"]["left_out"] == 3 and step["summary"]["images"] == 40
    assert step["recipe"]["classes"] == ["dark", "light"]
    assert step["summary"]["losses"][-1] < step["summary"]["losses"][0]
    file = project / step["summary"]["model"]
    tuned = load_model(file)
    assert tuned.classes == ("dark", "light") and tuned.fingerprint == step["summary"]["fingerprint"]
    assert not tuned.preprocess.assumed
    assert api.filter_hard(project, [file]).summary.accuracies == (1.0,)


def test_the_base_of_a_filter_model_is_marked(project: Path, tmp_path: Path) -> None:
    # The training images have the wrong names, so that the fine-tuned network is wrong everywhere.
    data = write_images(tmp_path / "train", 40, 2)
    (data / "dark").rename(data / "swap")
    (data / "light").rename(data / "dark")
    (data / "swap").rename(data / "light")
    spec = f"{tmp_path / 'net.py'}:net"
    step = api.fine_tune(project, spec, data, epochs=2, batch=8)
    with pytest.warns(Warning, match="net-fine-tuned classifies 0 of 40"):
        api.filter_hard(project, [project / step.summary.model], max_true_confidence=1.0)
    with pytest.warns(Warning):
        accuracies = api.measure_transfer(project, [spec]).summary.accuracies
    assert "fine-tuned from it" in accuracies[0].note


KILLED = """
import os, signal, sys
from windtunnel import api
def count(done, total, failed=0):
    os.kill(os.getpid(), signal.SIGKILL)
api.fine_tune(*sys.argv[1:4], epochs=3, batch=8, progress=count)
"""


def test_a_killed_training_continues_with_the_same_weights(project: Path, tmp_path: Path) -> None:
    data = write_images(tmp_path / "train", 24, 2)
    arguments = str(project), f"{tmp_path / 'net.py'}:net", str(data)
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], timeout=120)
    assert killed.returncode == -signal.SIGKILL
    epochs = []
    step = api.fine_tune(
        *arguments, epochs=3, batch=8, progress=lambda done, total, failed=0: epochs.append((done, total))
    )
    assert sum(done for done, _ in epochs) == 3 and len(epochs) < 3
    whole = tmp_path / "whole"
    api.collect_candidates(tmp_path / "images", whole)
    again = api.fine_tune(whole, *arguments[1:], epochs=3, batch=8)
    assert again.summary == step.summary
    files = [folder / step.summary.model for folder in (project, whole)]
    assert files[0].read_bytes() == files[1].read_bytes()
    # Finished: nothing is trained again, and a lost record is written again.
    (record,) = (project / "steps").glob("fine-tune-*.json")
    content = record.read_bytes()
    record.unlink()
    assert api.fine_tune(*arguments, epochs=3, batch=8).summary == step.summary
    assert record.read_bytes() == content


def test_inputs_that_do_not_fit_are_refused(project: Path, tmp_path: Path) -> None:
    data = write_images(tmp_path / "train", 8, 2)
    with pytest.raises(UserError, match="cannot be trained"):
        api.fine_tune(project, f"{tmp_path / 'net.py'}:constant", data)
    with pytest.raises(UserError, match=r"net \+ flip has wrappers, which cannot be trained; give the model"):
        api.fine_tune(project, f"flip|{tmp_path / 'net.py'}:net", data)
    shutil.rmtree(data / "dark")
    with pytest.raises(UserError, match="has no image of 1 of 2 classes: 'dark'"):
        api.fine_tune(project, f"{tmp_path / 'net.py'}:net", data)
    with pytest.raises(UserError, match=r"that is not a candidate \(40 are\)"):
        api.fine_tune(project, f"{tmp_path / 'net.py'}:net", tmp_path / "images")
    assert not (project / "models").exists()


def test_outputs_of_the_same_name_keep_their_weights(project: Path, tmp_path: Path) -> None:
    """With a learning rate near 0 the fine-tuned network is the given one masked to the classes."""
    data = write_images(tmp_path / "train", 8, 2)
    spec = f"{tmp_path / 'net.py'}:net"
    step = api.fine_tune(project, spec, data, epochs=1, batch=8, learning_rate=1e-9)
    batch = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    scores = load_model(project / step.summary.model).predict(batch)
    np.testing.assert_allclose(scores, load_model(spec).predict(batch)[:, :2], atol=1e-5)
