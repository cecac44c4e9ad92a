"""What a model was trained on, compared with the corruptions that a run scores."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.training_overlap import corruptions_named, training_notes
from windtunnel.corruptions import REGISTRY
from windtunnel.data.demo import demo_model_path
from windtunnel.metrics.corruption_error import THE_FIFTEEN
from windtunnel.report.sections.notes import run_notes
from windtunnel.report.sections.recipe import recipe_lines

ONLY = {
    "imagenet-c": ["fog", "contrast", "shot_noise"],
    "imagenet-c-quick": ["fog"],
    "imagenet-p-quick": ["brightness", "tilt"],
    "laion-c": ["glitched"],
}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten images of 32 pixels."""
    path = tmp_path_factory.mktemp("images") / "images.npz"
    pixels = np.random.default_rng(0).integers(0, 256, (10, 32, 32, 3), np.uint8)
    np.savez(path, x=pixels, y=np.arange(10))
    return path


@pytest.fixture(scope="module")
def runs(images: Path) -> dict[str, windtunnel.Run]:
    return {
        suite: windtunnel.run("demo", images, suite, only=only, out=images.parent / suite)
        for suite, only in ONLY.items()
    }


def declared(run: windtunnel.Run, *trained_on: str) -> windtunnel.Run:
    """The same run of a model that declares what it was trained on."""
    found = windtunnel.load_run(run.path)
    model = msgspec.structs.replace(found.info.model, trained_on=trained_on)
    found.scoring.info = msgspec.structs.replace(found.info, model=model)
    return found


@pytest.mark.parametrize(
    ("suite", "trained_on", "expected"),
    [
        ("imagenet-c", "imagenet-c", "under shot_noise, fog, contrast are no evidence of robustness"),
        ("imagenet-c", "imagenet-c-quick", "under shot_noise, fog, contrast are no evidence of robustness"),
        ("imagenet-c", "CIFAR-10-C", "under shot_noise, fog, contrast are no evidence of robustness"),
        ("imagenet-c-quick", "imagenet-c", "under fog are no evidence of robustness"),
        ("imagenet-p-quick", "imagenet-p", "under brightness, tilt are no evidence of robustness"),
        ("imagenet-p-quick", "ImageNet_C (v1)", "under brightness are no evidence of robustness"),
        ("imagenet-c", "fog:3", "under fog are no evidence of robustness"),
        ("imagenet-c", "weather", "under fog are no evidence of robustness"),
        ("imagenet-c", "Gaussian noise", "shot_noise is of this family, which is therefore not unseen"),
        ("imagenet-c", "imagenet-c-extra", "shot_noise is of this family, which is therefore not unseen"),
    ],
)
def test_scored_corruptions_that_were_trained_on_are_flagged(
    suite: str, trained_on: str, expected: str, runs: dict[str, windtunnel.Run]
) -> None:
    found = run_notes(declared(runs[suite], trained_on).scoring)
    flagged = [note for note in found if f"trained on {trained_on} (trained_on)" in note]
    assert any(expected in note for note in flagged), found


@pytest.mark.parametrize(
    "trained_on", ["imagenet-1k", "imagenet-c-bar", "demo images", "snow leopards", "contrast", "our own"]
)
def test_other_training_data_is_not_flagged(trained_on: str, runs: dict[str, windtunnel.Run]) -> None:
    assert not training_notes(declared(runs["imagenet-c-quick"], trained_on).scoring)


WEB_SCALE = "most corruptions of ImageNet-C are not out of distribution"


@pytest.mark.parametrize(
    ("trained_on", "is_noted"),
    [(("laion-2b",), True), (("imagenet-1k", "LAION_400M"), True), (("jft300m",), True), (("WebLI",), True),
     (("imagenet-1k",), False), (("fog:3",), False), (("our own",), False), ((), False),
     (("clipart",), False)],
)  # fmt: skip
def test_web_scale_training_data_are_noted(
    trained_on: tuple[str, ...], is_noted: bool, runs: dict[str, windtunnel.Run]
) -> None:
    """Data that are not declared give the note only with all corruptions of mCE."""
    run = declared(runs["imagenet-c"], *trained_on)
    notes = [note for note in run_notes(run.scoring) if WEB_SCALE in note]
    assert len(notes) == is_noted
    assert all("laion-c" in note for note in notes)
    assert not any(WEB_SCALE in note for note in run_notes(declared(runs["laion-c"], *trained_on).scoring))


def test_undeclared_training_data_are_noted_once_with_the_fifteen(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    np.savez(tmp_path / "two.npz", x=np.zeros((2, 32, 32, 3), np.uint8), y=[0, 9])
    text = demo_model_path().with_name("digits.onnx.toml").read_text()
    (tmp_path / "model.toml").write_text(re.sub("(?m)^trained_on = .*$", "", text))
    windtunnel.run(
        "demo", tmp_path / "two.npz", "imagenet-c", preprocess=tmp_path / "model.toml", out=tmp_path / "run"
    ).report()
    written = json.loads((tmp_path / "run" / "scores.json").read_text())
    shown = {
        "score": windtunnel_command("score", "run").stdout,
        "Markdown": (tmp_path / "run" / "report.md").read_text(),
        "HTML": (tmp_path / "run" / "report.html").read_text(),
        "JSON": "\n".join(written["notes"]),
    }
    for where, output in shown.items():
        flat = " ".join(output.split())
        assert flat.count("The training data are not declared (trained_on)") == 1, where
        assert flat.count(WEB_SCALE) == 1, where


def test_the_command_line_says_so(images: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    text = demo_model_path().with_name("digits.onnx.toml").read_text()
    file = tmp_path / "model.toml"
    file.write_text(re.sub("(?m)^trained_on = .*$", 'trained_on = ["imagenet-c"]', text))
    done = windtunnel_command(
        "run", "demo", images, "--suite", "imagenet-c-quick", "--only", "contrast", "--preprocess", file,
        "--out", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        "trained on imagenet-c (trained_on): scores under contrast are no evidence of robustness"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("trained_on", "is_data"),
    [("imagenet-1k", True), ("imagenet-c", True), ("our own", True),
     ("fog:3", False), ("Gaussian noise", False), ("noise", False), ("seq/rotate", False)],
)  # fmt: skip
def test_a_corruption_does_not_tell_the_training_data(
    trained_on: str, is_data: bool, runs: dict[str, windtunnel.Run]
) -> None:
    run = declared(runs["imagenet-c-quick"], trained_on)
    lines = dict(recipe_lines(run.info, run.recipe))
    assert lines["trained on"] == trained_on + ("" if is_data else "; data: not declared")


def test_what_an_entry_stands_for() -> None:
    assert set(corruptions_named("imagenet-c")) == set(THE_FIFTEEN)
    blurs = {name for name in REGISTRY.shipped() if REGISTRY.get(name).family == "blur"}
    assert set(corruptions_named("blur")) == blurs >= {"zoom_blur", "glass_blur"}
    assert corruptions_named("seq/zoom_blur") == corruptions_named("zoom-blur") == ("zoom_blur",)
    assert "blue_noise_sample" in corruptions_named("imagenet-c-bar")
    assert corruptions_named("caustic_refraction", ["caustic_refraction"]) == ("caustic_refraction",)
    assert corruptions_named("Shot noise augmentation") == ("shot_noise",)
    assert corruptions_named("s2n/random_fog") == corruptions_named("S2N random fog") == ("s2n/random_fog",)
    assert len(corruptions_named("imagenet-syn2nat")) == 18
    assert corruptions_named("imagenet-1k") == corruptions_named("demo data") == ()
