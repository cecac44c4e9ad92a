"""The doctor finds what was planted, writes what puts it right, and leaves a right declaration alone."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import colour_weights, write_colour_model
from windtunnel.analysis.doctor import diagnose
from windtunnel.analysis.doctor_trials import Trial, choose, gain, images_needed, indistinguishable
from windtunnel.analysis.preprocess_grid import Order, other_tensors
from windtunnel.data import open_dataset
from windtunnel.data.demo import demo_model_path
from windtunnel.data.frame_sets import ONE_VIDEO
from windtunnel.models import load_model
from windtunnel.models.preprocess import declared
from windtunnel.options import DoctorOptions
from windtunnel.stats.paired import mcnemar

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RIGHT = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\nmean = {0}\nstd = {0}\n".format(
    "[0.5, 0.5, 0.5]"
)
DECLARED_ORDER = Order("declared", ())


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
    assert "alternatives is significantly better" in done.stdout
    assert "undecided" not in done.stdout
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
    assert found["declaration_is_wrong"] and found["p"] < 0.05
    assert found["best"]["accuracy"] > found["declared"]["accuracy"] + 0.1
    assert found["tried"] > 50
    again = diagnose(load_model(network), open_dataset(named_digits))
    assert not again.declaration_is_wrong
    assert again.declared.accuracy == pytest.approx(found["best"]["accuracy"])
    assert again.declared.accuracy > 0.9
    assert load_model(network).about.family == "small"
    told = network.with_name("net.onnx.toml").read_text().splitlines()[0]
    assert told == f"# chosen by windtunnel doctor on 200 images of {named_digits.name}, seed 0"


def test_a_wrong_label_order_is_found_and_written(network: Path, named_digits: Path) -> None:
    declare(network, RIGHT, tuple(sorted(NAMES)))
    found = diagnose(load_model(network), open_dataset(named_digits))
    assert found.declared.accuracy < 0.4 < 0.9 < found.best.accuracy
    assert found.best.changed == ("outputs in the order these images suggest",)
    from windtunnel.cli import main

    with pytest.raises(SystemExit):
        main(["doctor", str(network), str(named_digits), "--write"])
    assert load_model(network).classes == NAMES
    assert (network.parent / "net.onnx.toml.before").is_file()


def test_no_geometry_is_better_because_the_order_of_labels_was_fitted(tmp_path: Path) -> None:
    """A callable with its outputs mixed up is right on a half of all images, mostly the same, always."""
    classes, count = 20, 200
    (tmp_path / "small.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    labels = np.arange(count) % classes
    misled = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        colours = np.stack([labels, np.arange(count), rng.integers(0, 256, count)], axis=1)
        images = np.broadcast_to(colours.astype(np.uint8)[:, None, None, :], (count, 32, 32, 3))
        np.savez(tmp_path / f"{seed}.npz", images=images, labels=labels)
        outputs = rng.permutation(classes)
        usual = np.where(rng.random(count) < 0.5, outputs[labels], rng.integers(0, classes, count))

        def half_right(
            batch: np.ndarray,
            rng: np.random.Generator = rng,
            outputs: np.ndarray = outputs,
            usual: np.ndarray = usual,
        ) -> np.ndarray:
            label, number = (np.minimum(batch[:, 0, 0, axis], most) for axis, most in ((0, 19), (1, 199)))
            guessed = rng.integers(0, classes, len(batch))
            anew = np.where(rng.random(len(batch)) < 0.5, outputs[label], guessed)
            changes = rng.random(len(batch)) < 0.2
            return np.eye(classes, dtype=np.float32)[np.where(changes, anew, usual[number])]

        model = load_model(half_right, tmp_path / "small.toml")
        found = diagnose(model, open_dataset(tmp_path / f"{seed}.npz"))
        assert found.best.changed[0] == "outputs in the order these images suggest"
        assert found.best.order.outputs == tuple(outputs)
        misled += len(found.best.changed) > 1
    # By chance in one of twenty data sets or less.
    assert misled <= 1


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
        assert not found.declaration_is_wrong and found.declared.accuracy == 1
    else:
        assert found.best.changed == ("RGB",) and found.best.accuracy == 1 and found.p < 0.05


def test_probabilities_declared_as_logits_are_told(tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "soft.onnx", classes=4, softmax=True)
    (tmp_path / "soft.onnx.toml").write_text("outputs = 'logits'\n")
    found = diagnose(load_model(model), open_dataset(coloured(tmp_path)))
    assert found.outputs == "probabilities" and found.declaration_is_wrong


def test_a_callable_is_tried_behind_other_geometries_only(tmp_path: Path) -> None:
    def says_nothing(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(4, dtype=np.float32), (len(batch), 1))

    found = diagnose(load_model(says_nothing), open_dataset(coloured(tmp_path, 40)))
    assert not found.declaration_is_wrong
    assert found.remarks == [
        "The model normalises its input itself: only geometry and label order were tried."
    ]


def test_images_without_labels_are_refused(
    network: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    np.savez(tmp_path / "bare.npz", images=np.zeros((4, 32, 32, 3), np.uint8))
    done = windtunnel_command("doctor", network, tmp_path / "bare.npz")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_what_few_images_cannot_judge_is_named_with_its_interval(
    network: Path, named_digits: Path, windtunnel_command: Command
) -> None:
    declare(network, RIGHT)
    done = windtunnel_command("doctor", network, named_digits, "--subset", 30)
    assert done.returncode == 0, done.stderr
    told = next(line for line in done.stdout.splitlines() if line.startswith("undecided"))
    assert "gain in points, 95 % interval:" in told
    found = diagnose(load_model(network), open_dataset(named_digits), DoctorOptions(subset=30))
    most = max(found.undecided, key=lambda one: (one.right != found.best.right).sum())
    value, low, high = gain(found.best, most)
    assert low < value < high and value == pytest.approx(most.accuracy - found.best.accuracy)
    assert f"{most.changed[-1]} {100 * value:+.1f} [{100 * low:.1f}, {100 * high:.1f}]" in told


def test_nothing_declared_is_told_and_put_right(network: Path, named_digits: Path) -> None:
    declare(network, "")
    found = diagnose(load_model(network), open_dataset(named_digits))
    declare(network, RIGHT)
    right = load_model(network).preprocess.tensor
    assert found.declaration_is_wrong and found.best.preprocess.tensor.same_arithmetic(right), (
        found.best.changed
    )
    named = [one["changed"] for one in found.to_json()["indistinguishable"]]
    assert ["efficientnet-lite"] in named, "127 and 128 for 127.5"
    assert ["minus-one-to-one, BGR"] not in named, "the digits are grey: it is no other"


def test_log_probabilities_find_what_answers_alone_do_not(network: Path, named_digits: Path) -> None:
    declare(network, RIGHT.replace("[0.5, 0.5, 0.5]", "[0.25, 0.25, 0.25]", 1))
    found = diagnose(load_model(network), open_dataset(named_digits), DoctorOptions(subset=40))
    mended = int((found.best.right & ~found.declared.right).sum())
    broken = int((found.declared.right & ~found.best.right).sum())
    assert found.declaration_is_wrong and found.p < 0.05 and mended >= broken
    assert found.tried * mcnemar(broken, mended) > 0.05, "the answers alone would have found it"
    assert found.test.startswith("Wilcoxon")


def trial(name: str, right: np.ndarray, sure: np.ndarray, resizer: str = "pillow-bilinear") -> Trial:
    way = declared("imagenet", None).preprocess
    way = replace(way, geometry=replace(way.geometry, resizer=resizer))
    return Trial((name,), way, DECLARED_ORDER, right, sure[:, None].astype(np.float32))


@pytest.mark.parametrize(("points", "taken"), [(0.7, False), (5.0, True)])
def test_a_filter_must_be_better_by_a_point_however_many_images(points: float, taken: bool) -> None:
    rng = np.random.default_rng(0)
    count = 20_000
    right, sure = rng.random(count) < 0.7, rng.normal(-1, 0.5, count)
    other = right | (rng.random(count) < points / 100 / 0.3)
    before = trial("declared", right, sure)
    after = trial("other", other, sure + rng.normal(0.1, 0.1, count), "opencv-area")
    assert mcnemar(0, int((other & ~right).sum())) < 1e-10
    assert (choose(before, [after], 100) is after) is taken


def test_answers_that_are_only_a_little_surer_are_no_better() -> None:
    rng = np.random.default_rng(0)
    right, sure = rng.random(500) < 0.7, rng.normal(-1, 0.5, 500)
    before = trial("declared", right, sure)
    assert choose(before, [trial("surer", right, sure + 0.01)], 100) is before
    assert choose(before, [trial("much surer", right, sure + 0.1)], 100) is not before
    lower = right & (rng.random(500) < 0.99)
    assert choose(before, [trial("surer, less right", lower, sure + 0.1)], 100) is before


def written(name: str, tensor: dict[str, Any], sure: np.ndarray, order: Order = DECLARED_ORDER) -> Trial:
    """A trial of another arithmetic that is right on three of four images."""
    way = declared("imagenet", None).preprocess
    right = np.arange(len(sure)) % 4 > 0
    return Trial((name,), replace(way, tensor=replace(way.tensor, **tensor)), order, right, sure)


def test_the_likeliest_arithmetic_is_taken_however_it_is_written() -> None:
    """Fewer changed numbers are no reason: half the right contrast has one less than the right one."""
    sure = np.random.default_rng(0).normal(-1.5, 0.3, (200, 1)).astype(np.float32)
    before = written("declared", {}, sure)
    half = written("centred", {"mean": (0.5,) * 3, "std": (1.0,) * 3}, sure + 0.4)
    right = written(
        "minus-one-to-one", {"divisor": 127.5, "mean": (1.0,) * 3, "std": (1.0,) * 3}, sure + 0.41
    )
    again = written("halves", {"mean": (0.5,) * 3, "std": (0.5,) * 3}, sure + 0.41)
    assert choose(before, [half, right], 100) is right
    assert choose(before, [right, half], 100) is right
    assert choose(before, [half, right, again], 100) is again, (
        "the same numbers with a divisor less to change"
    )
    assert indistinguishable(before, right, [half, right, again], 100) == (half,)
    much = written("minus-one-to-one", {"divisor": 127.5, "mean": (1.0,) * 3, "std": (1.0,) * 3}, sure + 0.8)
    assert indistinguishable(before, much, [half, much], 100) == (), "half is surely worse"


def test_an_order_of_labels_alone_goes_before_one_with_another_arithmetic() -> None:
    """By chance another arithmetic is a little likelier; the declared one stays unless it is surely worse."""
    rng = np.random.default_rng(0)
    sure = rng.normal(-1.5, 0.3, (200, 1)).astype(np.float32)
    before = replace(written("declared", {}, sure - 3), right=np.zeros(200, bool))
    other = Order("outputs one later", ())
    alone = written("outputs one later", {}, sure, other)
    chance = replace(
        written("clip", {"std": (0.27,) * 3}, sure + rng.normal(0.01, 0.1, sure.shape), other),
        changed=("clip", other.name),
    )
    assert choose(before, [chance, alone], 100) is alone
    surely = replace(chance, log_probabilities=sure + 0.4)
    assert choose(before, [surely, alone], 100) is surely


def test_a_channel_order_alone_goes_before_one_with_another_arithmetic_if_one_was_declared() -> None:
    sure = np.random.default_rng(0).normal(-1.5, 0.3, (200, 1)).astype(np.float32)
    before = written("declared", {}, sure)
    places, colours = (
        written("BGR", {"channels": "bgr"} | more, sure + 0.4)
        for more in ({}, {"mean": (0.406, 0.456, 0.485), "std": (0.225, 0.224, 0.229)})
    )
    other = written("clip, BGR", {"channels": "bgr", "std": (0.27,) * 3}, sure + 0.41)
    assert choose(before, [other, places], 100) is places
    assert choose(before, [other, colours], 100) is colours
    assert indistinguishable(before, places, [places, other], 100) == (other,)
    nobody = replace(before, preprocess=replace(before.preprocess, assumed=True))
    assert choose(nobody, [other, places], 100) is other, "nothing was declared that could be kept"


@pytest.mark.parametrize(("tried", "needed"), [(1, 5), (20, 12), (125, 17)])
def test_images_that_are_needed_are_those_that_can_be_enough(tried: int, needed: int) -> None:
    """With one less the best that can be, every label likelier, is not sure."""
    assert images_needed(tried) == needed
    for count, sure in ((needed, True), (needed - 1, False)):
        before = written("declared", {}, np.full((count, 1), -2.0, np.float32))
        gained = np.linspace(0.1, 0.5, count, dtype=np.float32)[:, None]
        after = written("centred", {"mean": (0.5,) * 3}, before.log_probabilities + gained)
        assert (choose(before, [after], tried) is after) is sure


@pytest.mark.parametrize("count", [5, 13])
def test_too_few_images_are_no_clean_bill_of_health(
    network: Path, named_digits: Path, windtunnel_command: Command, count: int
) -> None:
    declare(network, RIGHT)
    done = windtunnel_command("doctor", network, named_digits, "--subset", count)
    assert done.returncode == 2 and not done.stdout, done.stderr
    assert re.fullmatch(
        rf"error: {count} images are too few to compare \d+ alternatives; give \d+ or more\.",
        done.stderr.strip().splitlines()[-1],
    ), done.stderr


def test_a_declared_layout_is_kept(tmp_path: Path, windtunnel_command: Command) -> None:
    """A graph whose axes are all dynamic does not say by itself that channels come last."""
    model = write_colour_model(tmp_path / "last.onnx", classes=4, side="side", channels=3, layout="nhwc")
    graph = onnx.load(model)
    graph.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "channels"
    onnx.save(graph, model)
    text = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\nlayout = 'nhwc'\nchannels = 'bgr'\n"
    (tmp_path / "last.onnx.toml").write_text(text + "mean = [0.0, 0.0, 0.0]\nstd = [1.0, 1.0, 1.0]\n")
    done = windtunnel_command("doctor", model, coloured(tmp_path), "--write")
    assert done.returncode == 0, done.stderr
    assert "written" in done.stdout
    loaded = load_model(model)
    assert loaded.preprocess.tensor.layout == "nhwc" and loaded.preprocess.tensor.channels == "rgb"


def test_a_grey_model_is_tried_behind_other_arithmetics(tmp_path: Path) -> None:
    greys = np.random.default_rng(3).integers(0, 256, 100, dtype=np.uint8)
    labels = ((greys / 255.0 - 0.5)[:, None] @ colour_weights(2, 1)).argmax(axis=1)
    images = np.broadcast_to(greys[:, None, None, None], (100, 32, 32, 3))
    np.savez(tmp_path / "greys.npz", images=images, labels=labels)
    model = write_colour_model(tmp_path / "grey.onnx", classes=2, channels=1)
    text = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\nchannels = 'grey'\ndivisor = 255.0\n"
    (tmp_path / "grey.onnx.toml").write_text(text)
    found = diagnose(load_model(model), open_dataset(tmp_path / "greys.npz"))
    assert found.declared.accuracy < 0.7 < 0.98 < found.best.accuracy
    tensor = found.best.preprocess.tensor
    assert tensor.mean[0] / 1.0 == pytest.approx(0.5 * 255 / tensor.divisor, rel=0.01)


def coloured_files(folder: Path) -> Path:
    """Forty plain colours as files, one image nobody can read, and one far too long for a short side."""
    images, labels = (np.load(coloured(folder, 40))[key] for key in ("images", "labels"))
    root = folder / "files"
    for row, (image, label) in enumerate(zip(images, labels, strict=True)):
        (root / f"{label}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / f"{label}" / f"{row}.png")
    (root / f"{labels[0]}" / "broken.png").write_bytes(b"no image")
    Image.fromarray(np.zeros((8, 600_000, 3), np.uint8)).save(root / f"{labels[0]}" / "long.png")
    return root


def test_images_that_cannot_be_made_are_left_out_and_counted(tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "colour.onnx", classes=4)
    (tmp_path / "colour.onnx.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    seen: list[int] = []
    found = diagnose(
        load_model(model),
        open_dataset(coloured_files(tmp_path)),
        progress=lambda done, _total, _failed=0: seen.append(done),
    )
    assert len(found.declared.right) == 40
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith("2 of 42 images are left out of every trial (")
    assert "broken.png: " in found.remarks[0]
    # Declared and screened arithmetics, and every geometry and filter, on all forty.
    assert sum(seen) >= 40 * (1 + 6 + 6)


def test_a_size_the_model_does_not_take_is_told(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 4))
    (tmp_path / "small.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    found = diagnose(load_model(module, tmp_path / "small.toml"), open_dataset(coloured(tmp_path, 20)))
    told = [remark for remark in found.remarks if remark.startswith("Not tried: input of 224 pixels, which")]
    assert len(told) == 1 and "mat1 and mat2" in told[0]


def test_a_model_that_breaks_on_its_own_size_is_not_a_trial_that_failed(tmp_path: Path) -> None:
    calls = []

    def breaks(batch: np.ndarray) -> np.ndarray:
        calls.append(len(batch))
        if len(calls) > 3:
            raise RuntimeError("out of order")
        return np.tile(np.arange(4, dtype=np.float32), (len(batch), 1))

    with pytest.raises(RuntimeError, match="out of order"):
        diagnose(load_model(breaks), open_dataset(coloured(tmp_path, 40)))


def test_python_gets_the_diagnosis_and_writes_its_corrections(network: Path, named_digits: Path) -> None:
    declare(network, RIGHT.replace("255.0", "1.0"))
    before = network.with_name("net.onnx.toml").read_text()
    result = windtunnel.doctor(network, named_digits, seed=1)
    assert result.diagnosis.declaration_is_wrong and result.model.name == "net"
    (correction,) = result.corrections
    assert result.to_json()["files"] == {str(correction.path): correction.text}
    assert result.write() == [network.with_name("net.onnx.toml")]
    assert correction.path.read_text() == correction.text and "seed 1" in correction.text
    assert network.with_name("net.onnx.toml.before").read_text() == before
    assert windtunnel.doctor(load_model(network), named_digits).corrections == ()


def test_write_is_refused_before_any_work(tmp_path: Path, windtunnel_command: Command) -> None:
    (tmp_path / "ours.py").write_text("def make():\n    raise SystemExit('work was done')\n")
    done = windtunnel_command("doctor", "ours:make", coloured(tmp_path), "--write")
    assert done.returncode == 2 and "needs a model file" in done.stderr
    assert "work was done" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_images_are_not_held_in_memory(tmp_path: Path) -> None:
    colours = np.random.default_rng(5).integers(0, 256, (1500, 1, 1, 3), dtype=np.uint8)
    np.savez(tmp_path / "many.npz", images=np.tile(colours, (1, 8, 8, 1)), labels=np.arange(1500) % 4)
    model = write_colour_model(tmp_path / "colour.onnx", classes=4, side=64)
    (tmp_path / "colour.onnx.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 64\n")
    loaded, data = load_model(model), open_dataset(tmp_path / "many.npz")
    diagnose(loaded, data, DoctorOptions(subset=40))  # imports are not counted
    tracemalloc.start()
    diagnose(loaded, data, DoctorOptions(subset=0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1500 * 64 * 64 * 3 * 0.7, "all canvases of one geometry were held at once"


def test_a_background_class_is_found(tmp_path: Path, windtunnel_command: Command) -> None:
    """Five outputs for four classes: the first is no class, as in networks with 1,001 outputs."""
    colours = np.random.default_rng(5).integers(0, 256, (400, 3), dtype=np.uint8)
    best = ((colours / 255.0 - 0.5) @ colour_weights(5, 3)).argmax(axis=1)
    colours, best = colours[best > 0][:100], best[best > 0][:100]
    names = np.array(["ash", "birch", "cedar", "date"])
    for row, (colour, label) in enumerate(zip(colours, best - 1, strict=True)):
        (tmp_path / "trees" / names[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.tile(colour, (32, 32, 1))).save(tmp_path / "trees" / names[label] / f"{row}.png")
    assert len(set(best)) == 4
    model = write_colour_model(tmp_path / "five.onnx", classes=5)
    text = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\nmean = [0.5, 0.5, 0.5]\n"
    (tmp_path / "five.onnx.toml").write_text(text + "std = [1.0, 1.0, 1.0]\n")
    done = windtunnel_command("doctor", model, tmp_path / "trees", "--write")
    assert done.returncode == 0, done.stderr
    assert "5 outputs for 4 classes" in done.stdout
    assert "outputs one later, the first being no class" in done.stdout
    assert load_model(model).classes == ("no class 0", *names)
    assert diagnose(load_model(model), open_dataset(tmp_path / "trees")).declared.accuracy == 1


def test_a_map_says_what_outputs_stand_for(tmp_path: Path, windtunnel_command: Command) -> None:
    data = coloured(tmp_path)
    content = dict(np.load(data))
    np.savez(data, images=content["images"], labels=content["labels"] // 2)
    model = write_colour_model(tmp_path / "colour.onnx", classes=4)
    text = "[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\nmean = [0.0, 0.0, 0.0]\n"
    (tmp_path / "colour.onnx.toml").write_text(text + "std = [1.0, 1.0, 1.0]\n")
    (tmp_path / "map.csv").write_text("output,class\n0,0\n1,0\n2,1\n3,1\n")
    done = windtunnel_command("doctor", model, data, "--map", tmp_path / "map.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["declared"]["accuracy"] == 1 and not found["declaration_is_wrong"]


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A hundred plain colours as files, four of each of twenty-four patients and four of nobody's."""
    images, labels = (np.load(coloured(tmp_path, 100))[key] for key in ("images", "labels"))
    lines = ["path,label,patient,ward"]
    for row, (image, label) in enumerate(zip(images, labels, strict=True)):
        Image.fromarray(image).save(tmp_path / f"{row}.png")
        lines.append(f"{row}.png,{label},{f'p{row // 4}' if row < 96 else ''},one")
    (tmp_path / "table.csv").write_text("\n".join(lines))
    model = write_colour_model(tmp_path / "colour.onnx", classes=4)
    model.with_name("colour.onnx.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    return tmp_path / "table.csv"


def test_one_image_of_a_group_is_used(patients: Path, windtunnel_command: Command) -> None:
    model = patients.with_name("colour.onnx")
    done = windtunnel_command("doctor", model, patients, "--group", "patient")
    assert done.returncode == 0, done.stderr
    told = "28 images are used, one of each patient: the data has 100 images in 28 groups."
    assert told in " ".join(done.stdout.split()) and "correct on 28 images" in done.stdout
    alone = windtunnel_command("doctor", model, patients, "--json")
    assert json.loads(alone.stdout)["images"] == 100, alone.stderr
    few = diagnose(load_model(model), open_dataset(patients), DoctorOptions(group="patient", subset=20))
    assert len(few.declared.right) == 20 and few.remarks[0].startswith(
        "20 images are used, one of each patient"
    )
    for column, words in (("patent", "Unknown column to group by 'patent'"), ("ward", "have the same ward")):
        wrong = windtunnel_command("doctor", model, patients, "--group", column)
        assert wrong.returncode == 2 and words in wrong.stderr and len(wrong.stderr.splitlines()) == 1


@pytest.mark.parametrize("columns", ["video", "set,offset"])
def test_one_frame_of_a_video_is_used_without_being_asked(patients: Path, columns: str) -> None:
    frames = patients.with_name("frames.csv")
    offset = ",0" if "," in columns else ""
    labels = [line.split(",")[1] for line in patients.read_text().splitlines()[1:]]
    rows = [f"{row}.png,{label},v{row // 3}{offset}" for row, label in enumerate(labels)]
    frames.write_text("\n".join([f"path,label,{columns}", *rows]))
    model = load_model(patients.with_name("colour.onnx"))
    found = diagnose(model, open_dataset(frames))
    assert len(found.declared.right) == 34
    by = columns.split(",")[0]
    told = f"34 images are used, one of each {by}: the data has 100 images in 34 groups."
    assert found.remarks == [told]
    frames.write_text(re.sub(r",v\d+", ",v0", frames.read_text()))
    same = diagnose(model, open_dataset(frames))
    assert len(same.declared.right) == 100 and same.remarks == [ONE_VIDEO]


def shifted(tmp_path: Path, outputs: int, names: tuple[str, ...] = ()) -> Path:
    """Colours whose label is one less than what a network of so many outputs says: labels 0 to 3."""
    colours = np.random.default_rng(5).integers(0, 256, (900, 3), dtype=np.uint8)
    best = ((colours / 255.0 - 0.5) @ colour_weights(outputs, 3)).argmax(axis=1)
    kept = np.flatnonzero((best > 0) & (best < 5))[:150]
    assert set(best[kept]) == {1, 2, 3, 4}
    images = np.broadcast_to(colours[kept][:, None, None, :], (len(kept), 32, 32, 3))
    model = write_colour_model(tmp_path / "net.onnx", classes=outputs)
    labels = f"labels = {json.dumps(names)}\n" if names else ""
    model.with_name("net.onnx.toml").write_text(
        f"{labels}[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\n"
        "mean = [0.5, 0.5, 0.5]\nstd = [1.0, 1.0, 1.0]\n"
    )
    if not names:
        np.savez(tmp_path / "colours.npz", images=images, labels=best[kept] - 1)
        return tmp_path / "colours.npz"
    for row, (image, label) in enumerate(zip(images, best[kept] - 1, strict=True)):
        (tmp_path / "data" / names[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "data" / names[label] / f"{row}.png")
    return tmp_path / "data"


def test_labels_one_off_are_found_where_the_model_has_more_outputs(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    data, model = shifted(tmp_path, 7), tmp_path / "net.onnx"
    done = windtunnel_command("doctor", model, data, "--labels-are-outputs", "--write")
    assert done.returncode == 0, done.stderr
    assert "outputs one later" in done.stdout
    assert (
        "Not tried: label orders that are reversed" in done.stdout
        and "7 outputs for 4 classes" in done.stdout
    )
    run = windtunnel.run(
        model, data, "smoke", only=["defocus_blur:1"], out=tmp_path / "run",
        label_map=tmp_path / "net.onnx.labels.csv",
    )  # fmt: skip
    assert next(score.value for score in run.scores() if score.condition == "native") == 0


def test_named_outputs_one_off_are_moved_all_together(tmp_path: Path, windtunnel_command: Command) -> None:
    names = ("ash", "birch", "cedar", "date", "elm", "fir", "gum")
    data, model = shifted(tmp_path, 7, names), tmp_path / "net.onnx"
    done = windtunnel_command("doctor", model, data, "--write")
    assert done.returncode == 0, done.stderr
    assert load_model(model).classes == ("gum", *names[:-1])
    assert diagnose(load_model(model), open_dataset(data)).declared.accuracy == 1


def test_a_shift_may_be_the_data_s_and_known_labels_are_not_replaced_without_a_warning(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """The model is right as declared; the class indices of the data are one too high."""
    colours = np.random.default_rng(5).integers(0, 256, (150, 3), dtype=np.uint8)
    best = ((colours / 255.0 - 0.5) @ colour_weights(1000, 3)).argmax(axis=1)
    kept = np.flatnonzero(best < 999)
    images = np.broadcast_to(colours[kept][:, None, None, :], (len(kept), 32, 32, 3))
    np.savez(tmp_path / "off.npz", images=images, labels=best[kept] + 1)
    model = write_colour_model(tmp_path / "net.onnx", classes=1000)
    declaration = model.with_name("net.onnx.toml")
    declaration.write_text(
        "labels = 'imagenet-1k'\n[geometry]\nrule = 'exact'\ncrop_px = 32\n[tensor]\ndivisor = 255.0\n"
        "mean = [0.5, 0.5, 0.5]\nstd = [1.0, 1.0, 1.0]\n"
    )
    done = windtunnel_command("doctor", model, tmp_path / "off.npz", "--write")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "with outputs one earlier" in told
    either = (
        "warning Either the model's outputs or the data's class indices are shifted by one; this test cannot "
        "decide which."
    )
    replaced = "warning The model declares the labels of imagenet-1k, and the correction replaces them."
    assert told.index(either) < told.index(replaced) < told.index("written: ")
    # The terminal shows a few labels, and the file holds them all.
    shown = next(line for line in done.stdout.splitlines() if line.startswith("labels = "))
    assert len(shown) < 120 and shown.endswith("...]  # 996 more in the file")
    written = tomllib.loads(declaration.read_text())["labels"]
    assert len(written) == 1000 and json.dumps(written[:4])[:-1] in shown


def test_data_named_by_class_is_not_blamed_for_a_label_order(tmp_path: Path) -> None:
    names = ("ash", "birch", "cedar", "date", "elm", "fir", "gum")
    data = shifted(tmp_path, 7, names)
    found = diagnose(load_model(tmp_path / "net.onnx"), open_dataset(data))
    assert "outputs one later" in found.best.changed and found.warnings == []


def test_extra_label_orders_count_among_the_ways_tried(tmp_path: Path) -> None:
    """Every arithmetic is tried by every order: the p of each is multiplied by all of them."""
    data, model = open_dataset(shifted(tmp_path, 7)), load_model(tmp_path / "net.onnx")
    found = diagnose(model, data, DoctorOptions(labels_are_outputs=True))
    by_map = tmp_path / "map.csv"
    by_map.write_text("output,class\n0,0\n1,1\n2,2\n3,3\n")
    one_order = diagnose(model, data, DoctorOptions(label_map=by_map))
    tensors = len(other_tensors(model))
    assert found.tried == one_order.tried + 2 * (1 + tensors)


def test_the_order_that_few_images_cannot_suggest_is_listed(tmp_path: Path) -> None:
    data = coloured(tmp_path, 30)
    model = write_colour_model(tmp_path / "colour.onnx", classes=4)
    found = diagnose(load_model(model), open_dataset(data))
    assert any("Not tried: the label order that the images suggest" in one for one in found.remarks)


def test_accuracy_at_chance_is_a_warning_although_nothing_is_better(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """Labels in no relation to the images are wrong in a way that no preprocessing can correct."""
    (tmp_path / "one.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    (tmp_path / "net.py").write_text(
        "import numpy as np\n"
        "def build():\n"
        "    return lambda batch: np.eye(10, dtype=np.float32)[batch[:, 0, 0, 0] % 10]\n"
    )
    rng = np.random.default_rng(0)
    pixels = np.broadcast_to(rng.integers(0, 10, (120, 1, 1, 1)).astype(np.uint8), (120, 32, 32, 3))
    np.savez(tmp_path / "data.npz", images=pixels, labels=rng.integers(0, 10, 120))
    done = windtunnel_command(
        "doctor", f"{tmp_path}/net.py:build", tmp_path / "data.npz", "--preprocess", tmp_path / "one.toml"
    )
    assert done.returncode == 0, done.stderr
    assert "alternatives is significantly better" in done.stdout
    warning = next(line for line in done.stdout.splitlines() if line.startswith("warning"))
    assert "still at chance" in warning and "in a way that was not tried" in warning


def test_a_long_label_map_is_shortened_on_the_terminal(tmp_path: Path, windtunnel_command: Command) -> None:
    (tmp_path / "one.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    (tmp_path / "net.py").write_text(
        "import numpy as np\n"
        "def build():\n"
        "    return lambda batch: np.eye(40, dtype=np.float32)[(batch[:, 0, 0, 0] + 1) % 40]\n"
    )
    labels = np.arange(160) % 40
    pixels = np.broadcast_to(labels.astype(np.uint8)[:, None, None, None], (160, 32, 32, 3))
    np.savez(tmp_path / "data.npz", images=pixels, labels=labels)
    done = windtunnel_command(
        "doctor", f"{tmp_path}/net.py:build", tmp_path / "data.npz", "--preprocess", tmp_path / "one.toml"
    )
    assert "shifted by one" in done.stdout and "still at chance" not in done.stdout, done.stderr
    printed = done.stdout.split("net.py.labels.csv\n")[1].splitlines()
    assert printed[0] == "output,class" and len([line for line in printed if re.match(r"\d+,", line)]) == 5
    assert "35 more lines in the file" in printed[6]
