"""Temperatures: fitted on a run, with an interval, and refused on the images they were fitted on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import optimize, special

import windtunnel
from tests.conftest import Command
from windtunnel.data.demo import demo_model_path


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits in two folders without a common image."""
    root = tmp_path_factory.mktemp("halves")
    data = windtunnel.open_dataset("demo")
    for number, sample in enumerate(list(data.samples())[:400]):
        half = "fitted" if number % 2 else "scored"
        file = root / half / str(sample.labels[0]) / f"{sample.id.replace('/', '-')}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(data.read(sample))).save(file)
    return root


def test_a_temperature_is_fitted_on_other_images(
    halves: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    run = windtunnel.run("demo", halves / "fitted", "smoke", out=tmp_path / "fitting")
    done = windtunnel_command("temperature", "fitting", "--out", "t.json", "--json")
    assert done.returncode == 0, done.stderr
    fit = json.loads(done.stdout)
    assert fit == json.loads((tmp_path / "t.json").read_text())
    assert [len(fit[name]) for name in ("images", "ids", "pixels")] == [200, 200, 200]
    assert 0 < fit["low"] < fit["temperature"] < fit["high"]
    rows = run.predictions(["condition", "logits"]).to_pylist()
    clean = [row for row in rows if row["condition"] == "clean"]
    logits = np.array([row["logits"] for row in clean])
    labels = np.array([int(row["sample_id"].split("/")[0]) for row in clean])

    def nll(temperature: float) -> float:
        return float(
            -special.log_softmax(logits / temperature, axis=1)[np.arange(len(labels)), labels].mean()
        )

    expected = optimize.minimize_scalar(nll, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-8})
    assert fit["temperature"] == pytest.approx(expected.x, rel=1e-4)
    assert fit["nll_after"] == pytest.approx(expected.fun, abs=1e-6)
    assert fit["nll_after"] < fit["nll_before"] == pytest.approx(nll(1.0), abs=1e-6)

    model = "temperature(file=t.json)|demo"
    scored = windtunnel_command("run", model, halves / "scored", "--suite", "smoke", "--out", "scored")
    assert scored.returncode == 0, scored.stderr
    leaked = windtunnel_command("run", model, halves / "fitted", "--suite", "smoke", "--subset", 20)
    assert leaked.returncode == 2
    assert "was fitted on 20 images of" in leaked.stderr and "on a run over other images" in leaked.stderr
    other = windtunnel_command("run", "temperature(file=t.json)|flip|demo", halves / "scored")
    assert other.returncode == 2 and "t.json has the temperature of digits" in other.stderr


@pytest.fixture(scope="module")
def fitted(halves: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a temperature that was fitted on one half."""
    folder = tmp_path_factory.mktemp("fitted")
    run = windtunnel.run("demo", halves / "fitted", "smoke", out=folder / "fitting")
    windtunnel.write_temperature(windtunnel.fit_temperature(run), folder / "t.json")
    return folder / "t.json"


def planned(fitted: Path, data: Path, suite: str = "smoke", **options: object) -> object:
    return windtunnel.plan(f"temperature(file={fitted})|demo", data, suite, **options)


def corrupted_copies(source: Path, target: Path) -> Path:
    """A set in the layout of ImageNet-C without a manifest: the images, darker."""
    for unit in ("gaussian_noise", "fog"):
        for file in source.rglob("*.png"):
            copy = target / unit / "3" / file.relative_to(source).with_suffix(".jpg")
            copy.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.asarray(Image.open(file)) // 2).save(copy)
    return target


def test_a_lossless_copy_of_a_fitted_image_is_refused(halves: Path, fitted: Path, tmp_path: Path) -> None:
    images, labels = [], []
    for file in sorted((halves / "fitted").rglob("*.png"))[::5]:
        pixels = np.asarray(Image.open(file))
        images.append(pixels)
        labels.append(int(file.parent.name))
        copy = tmp_path / "copies" / file.parent.name / f"another-{len(images)}.bmp"
        copy.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(copy)
    np.savez(tmp_path / "copies.npz", images=np.stack(images), labels=np.array(labels))
    for data in ("copies", "copies.npz"):
        with pytest.raises(windtunnel.UserError, match=r"was fitted on 40 images of .* biased"):
            planned(fitted, tmp_path / data)


def test_corrupted_copies_in_a_published_set_are_refused(halves: Path, fitted: Path, tmp_path: Path) -> None:
    leaked = corrupted_copies(halves / "fitted", tmp_path / "leaked")
    for data in (leaked, leaked / "fog" / "3"):
        with pytest.raises(windtunnel.UserError, match=r"with the names of images .* corrupted copies; give"):
            planned(fitted, data, "imagenet-c" if data == leaked else "smoke")
    with pytest.raises(windtunnel.UserError, match="was fitted on 200 images of"):
        planned(fitted, leaked, "imagenet-c", clean=halves / "fitted")
    other = corrupted_copies(halves / "scored", tmp_path / "other")
    planned(fitted, other, "imagenet-c")


def test_images_of_the_same_names_get_a_note(halves: Path, fitted: Path, tmp_path: Path) -> None:
    for file in sorted((halves / "fitted").rglob("*.png"))[::10]:
        copy = tmp_path / "night" / file.relative_to(halves / "fitted")
        copy.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(Image.open(file)) // 2).save(copy)
    (note,) = [note for note in planned(fitted, tmp_path / "night").info.notes if "fitted on" in note]
    assert "has 20 images with the names of images that" in note
    notes = planned(fitted, halves / "scored").info.notes
    assert not [note for note in notes if "fitted on" in note]


def test_rows_of_arrays_are_no_names(halves: Path, tmp_path: Path) -> None:
    for half in ("fitted", "scored"):
        files = sorted((halves / half).rglob("*.png"))[::3]
        labels = [int(file.parent.name) for file in files]
        np.savez(
            tmp_path / f"{half}.npz", images=[np.asarray(Image.open(file)) for file in files], labels=labels
        )
    run = windtunnel.run("demo", tmp_path / "fitted.npz", "smoke", out=tmp_path / "r", only=["fog:1"])
    windtunnel.write_temperature(windtunnel.fit_temperature(run), tmp_path / "t.json")
    plan = planned(tmp_path / "t.json", tmp_path / "scored.npz")
    assert not [note for note in plan.info.notes if "fitted on" in note]
    assert re.fullmatch(r"digits \+ temperature\(t=\d\.\d{1,4}\)", plan.model.name)


def test_a_made_set_is_compared_by_its_sources(halves: Path, fitted: Path, tmp_path: Path) -> None:
    windtunnel.make_set("smoke", halves / "fitted", tmp_path / "made", subset=20, layout="folders")
    with pytest.raises(windtunnel.UserError, match="was fitted on 20 images of"):
        planned(fitted, tmp_path / "made")
    windtunnel.make_set("smoke", halves / "scored", tmp_path / "fine", subset=20, layout="folders")
    planned(fitted, tmp_path / "fine")


def test_few_images_are_refused_and_wide_intervals_reported(
    halves: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    windtunnel.run("demo", halves / "fitted", "smoke", out=tmp_path / "few", subset=40)
    few = windtunnel_command("temperature", "few")
    assert few.returncode == 2 and "a temperature needs at least 50" in few.stderr
    windtunnel.run("demo", halves / "fitted", "smoke", out=tmp_path / "some", subset=60)
    some = windtunnel_command("temperature", "some")
    assert some.returncode == 0, some.stderr
    assert "95 % interval, fitted on 60 clean images" in some.stdout
    assert "The 95 % interval of the temperature is wide" in some.stdout


def test_groups_of_images_widen_the_interval(halves: Path, tmp_path: Path) -> None:
    rows = ["path,label,camera"]
    for number, file in enumerate(sorted((halves / "fitted").rglob("*.png"))):
        for copy in range(2):  # two copies of each image know as much as one
            target = tmp_path / f"{copy}-{file.name}"
            Image.fromarray(np.asarray(Image.open(file))).save(target, compress_level=copy)
            rows.append(f"{target.name},{file.parent.name},{number}")
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    options = {"suite": "smoke", "only": ["fog:1"]}
    wide, narrow = (
        windtunnel.fit_temperature(
            windtunnel.run(
                "demo", tmp_path / "data.csv", out=tmp_path / f"by-{group}", group=group, **options
            )
        )
        for group in ("camera", None)
    )
    assert wide.temperature == narrow.temperature
    ratio = np.log(wide.high / wide.low) / np.log(narrow.high / narrow.low)
    # The square root of 2, if few wrong predictions did not make the distribution skewed.
    assert 1.25 < ratio < 1.75


def test_images_that_are_gone_get_a_warning(halves: Path, tmp_path: Path) -> None:
    moved = tmp_path / "here"
    for file in sorted((halves / "fitted").rglob("*.png"))[::2]:
        copy = moved / file.relative_to(halves / "fitted")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    run = windtunnel.run("demo", moved, "smoke", out=tmp_path / "run")
    moved.rename(tmp_path / "there")
    fit = windtunnel.fit_temperature(run)
    assert not fit.pixels and "100 images of" in fit.warnings[-1] and "not be recognised" in fit.warnings[-1]


def test_the_file_is_next_to_the_file_that_names_it(
    halves: Path, fitted: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(demo_model_path(), folder / "m.onnx")
    declared = demo_model_path().with_name("digits.onnx.toml").read_text()
    # The fingerprint does not contain the name of the file, so the temperature is that of this model too.
    shutil.copy(fitted, folder / "t.json")
    (folder / "m.onnx.toml").write_text(declared)
    (folder / "run.toml").write_text(
        f'model = "temperature(file=t.json)|m.onnx"\ndata = "{halves / "scored"}"\nsuite = "smoke"\n'
    )
    by_run_file = windtunnel_command("plan", "models/run.toml")
    assert by_run_file.returncode == 0, by_run_file.stderr
    assert "m + temperature(t=" in by_run_file.stdout
    (folder / "m.onnx.toml").write_text('wrappers = ["temperature(file=t.json)"]\n' + declared)
    by_declaration = windtunnel_command("plan", "models/m.onnx", halves / "scored", "--suite", "smoke")
    assert by_declaration.returncode == 0, by_declaration.stderr
    assert "m + temperature(t=" in by_declaration.stdout
    (folder / "t.json").unlink()
    missing = windtunnel_command("plan", "models/m.onnx", halves / "scored", "--suite", "smoke")
    assert missing.returncode == 2 and "There is no file models/t.json with a temperature" in missing.stderr
    shutil.copy(fitted, tmp_path / "t.json")
    (folder / "m.onnx.toml").write_text(declared)
    typed = windtunnel_command(
        "plan", "temperature(file=t.json)|models/m.onnx", halves / "scored", "--suite", "smoke"
    )
    assert typed.returncode == 0, typed.stderr


def test_probabilities_that_are_zero_get_a_warning(halves: Path, tmp_path: Path) -> None:
    demo = windtunnel.load_model("demo")

    def rounded(images: np.ndarray) -> np.ndarray:
        shares = special.softmax(demo.predict(images), axis=1)
        kept = np.where(shares < 0.01, 0, shares)
        return kept / kept.sum(axis=1, keepdims=True)

    declared = demo_model_path().with_name("digits.onnx.toml").read_text()
    (tmp_path / "rounded.toml").write_text(
        declared.replace('outputs = "logits"', 'outputs = "probabilities"')
    )
    options = {"preprocess": tmp_path / "rounded.toml", "labels_are_outputs": True}
    run = windtunnel.run(rounded, halves / "fitted", "smoke", out=tmp_path / "rounded", **options)
    fit = windtunnel.fit_temperature(run)
    assert any("of the model's probabilities are exactly 0" in warning for warning in fit.warnings)


def test_a_damaged_temperature_file_gets_one_line(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    for content in ("{", "[]", '{"temperature": 2.0}'):
        file.write_text(content)
        with pytest.raises(windtunnel.UserError, match="is not a file that `windtunnel temperature` wrote"):
            windtunnel.load_model(f"temperature(file={file})|demo")
