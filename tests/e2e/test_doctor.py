"""The doctor finds what was planted, writes what puts it right, and leaves a right declaration alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import colour_weights, write_colour_model
from windtunnel.analysis.doctor import diagnose
from windtunnel.data import open_dataset
from windtunnel.data.demo import demo_model_path
from windtunnel.models import load_model

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RIGHT = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\nmean = {0}\nstd = {0}\n".format(
    "[0.5, 0.5, 0.5]"
)


@pytest.fixture(scope="module")
def named_digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred digits in folders called by their names."""
    from windtunnel.data.demo import digits

    root = tmp_path_factory.mktemp("named")
    images, classes = digits()
    for row in range(0, 600, 3):
        folder = root / NAMES[classes[row]]
        folder.mkdir(exist_ok=True)
        Image.fromarray(images[row]).save(folder / f"{row}.png")
    return root


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """The demo network under a name of its own, nothing declared."""
    return Path(shutil.copy(demo_model_path(), tmp_path / "net.onnx"))


def declare(network: Path, text: str, labels: tuple[str, ...] = NAMES) -> None:
    network.with_name("net.onnx.toml").write_text(f"labels = {json.dumps(labels)}\nfamily = 'small'\n{text}")


def test_a_right_declaration_is_left_alone(
    network: Path, named_digits: Path, windtunnel_command: Command
) -> None:
    declare(network, RIGHT)
    done = windtunnel_command("doctor", network, named_digits, "--write")
    assert done.returncode == 0, done.stderr
    assert "other ways is surely better" in done.stdout
    assert "neither surely better nor worse on 200 pictures" in done.stdout
    assert "written" not in done.stdout
    assert network.with_name("net.onnx.toml").read_text().endswith(RIGHT)


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        (RIGHT.replace("255.0", "1.0"), "minus-one-to-one"),
        (RIGHT.replace("[0.5, 0.5, 0.5]", "[0.0, 0.0, 0.0]", 1), "minus-one-to-one"),
        (RIGHT.replace("'exact'", "'short-side'\nresize_px = 60"), "squash, no margin"),
    ],
    ids=["no scaling", "missing mean", "wrong geometry"],
)
def test_a_planted_fault_is_found_and_put_right(
    network: Path, named_digits: Path, windtunnel_command: Command, fault: str, changed: str
) -> None:
    declare(network, fault)
    done = windtunnel_command("doctor", network, named_digits, "--json", "--write")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["found"] and found["p"] < 0.05
    assert found["best"]["accuracy"] > found["declared"]["accuracy"] + 0.1
    assert found["tried"] > 50
    again = diagnose(load_model(network), open_dataset(named_digits))
    assert not again.found
    assert again.declared.accuracy == pytest.approx(found["best"]["accuracy"])
    assert again.declared.accuracy > 0.9
    assert load_model(network).about.family == "small"


def test_a_wrong_label_order_is_found_and_written(network: Path, named_digits: Path) -> None:
    declare(network, RIGHT, tuple(sorted(NAMES)))
    found = diagnose(load_model(network), open_dataset(named_digits))
    assert found.declared.accuracy < 0.4 < 0.9 < found.best.accuracy
    assert found.best.changed == ("outputs in the order these pictures suggest",)
    from windtunnel.cli import main

    with pytest.raises(SystemExit):
        main(["doctor", str(network), str(named_digits), "--write"])
    assert load_model(network).classes == NAMES
    assert (network.parent / "net.onnx.toml.before").is_file()


def test_labels_that_are_numbers_get_a_map(
    network: Path, digits: tuple[np.ndarray, np.ndarray], tmp_path: Path, windtunnel_command: Command
) -> None:
    images, classes = digits
    rows = np.arange(0, 600, 3)
    np.savez(tmp_path / "turned.npz", images=images[rows], labels=9 - classes[rows])
    declare(network, RIGHT)
    done = windtunnel_command("doctor", network, tmp_path / "turned.npz", "--write")
    assert done.returncode == 0, done.stderr
    assert "outputs in reverse" in done.stdout and "--map" in done.stdout
    run = windtunnel.run(
        network, tmp_path / "turned.npz", "smoke", only=["defocus_blur:1"], out=tmp_path / "run",
        label_map=tmp_path / "net.onnx.labels.csv",
    )  # fmt: skip
    assert next(score.value for score in run.scores() if score.condition == "native") < 0.1


def coloured(tmp_path: Path, count: int = 120) -> Path:
    """Plain colours, labelled by what the colour network says of them in RGB, zero to one."""
    colours = np.random.default_rng(5).integers(0, 256, (count, 3), dtype=np.uint8)
    labels = (colours / 255.0 @ colour_weights(4, 3)).argmax(axis=1)
    images = np.broadcast_to(colours[:, None, None, :], (count, 32, 32, 3))
    np.savez(tmp_path / "colours.npz", images=images, labels=labels)
    return tmp_path / "colours.npz"


@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_swapped_channels_are_found(tmp_path: Path, channels: str) -> None:
    data = coloured(tmp_path)
    model = write_colour_model(tmp_path / "colour.onnx", classes=4)
    text = f"[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\nchannels = '{channels}'\ndivisor = 255.0\n"
    (tmp_path / "colour.onnx.toml").write_text(text + "mean = [0.0, 0.0, 0.0]\nstd = [1.0, 1.0, 1.0]\n")
    found = diagnose(load_model(model), open_dataset(data))
    if channels == "rgb":
        assert not found.found and found.declared.accuracy == 1
    else:
        assert found.best.changed == ("RGB",) and found.best.accuracy == 1 and found.p < 1e-6


def test_probabilities_declared_as_logits_are_told(tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "soft.onnx", classes=4, softmax=True)
    (tmp_path / "soft.onnx.toml").write_text("outputs = 'logits'\n")
    found = diagnose(load_model(model), open_dataset(coloured(tmp_path)))
    assert found.outputs == "probabilities" and found.found


def test_a_callable_is_tried_behind_other_geometries_only(tmp_path: Path) -> None:
    def says_nothing(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(4, dtype=np.float32), (len(batch), 1))

    found = diagnose(load_model(says_nothing), open_dataset(coloured(tmp_path, 40)))
    assert not found.found
    assert found.remarks == ["The model does its own arithmetic: only geometry and label order were tried."]


def test_pictures_without_labels_are_refused(
    network: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    np.savez(tmp_path / "bare.npz", images=np.zeros((4, 32, 32, 3), np.uint8))
    done = windtunnel_command("doctor", network, tmp_path / "bare.npz")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
