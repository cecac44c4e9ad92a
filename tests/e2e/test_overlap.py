"""Overlap studies on demo digits: the same files however they are run, stopped and continued."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from tests.forked_commands import forked_command
from windtunnel import api
from windtunnel.analysis.overlap.accuracies import read_accuracies
from windtunnel.analysis.overlap.scores import overlap_matrix, read_overlap
from windtunnel.store.training_folder import read_history

NETWORK = """
import torch

def tiny(classes, side_px):
    convolution = torch.nn.Conv2d(3, 8, 4, stride=4)
    return torch.nn.Sequential(
        convolution, torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * (side_px // 4) ** 2, classes),
    )
"""
PROTOCOL = """
network = "small"
geometry = { rule = "exact", crop_px = 32 }
tensor = { mean = [0.5, 0.5, 0.5], std = [0.25, 0.25, 0.25] }

[settings]
epochs = 2
batch = 32
learning_rate = 0.05
area = [0.8, 1.0]
mirror = false
"""
CANDIDATES = ("--candidates", "contrast:5", "--candidates", "s2n/gauss_noise")
FILES = ("accuracies.csv", "overlap.csv", "overlap.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """Digits to train and test on, a tiny network and a protocol."""
    root = tmp_path_factory.mktemp("overlap")
    images, classes = digits
    np.savez(
        root / "digits.npz",
        train_images=images[:160], train_labels=classes[:160],
        test_images=images[160:240], test_labels=classes[160:240],
    )  # fmt: skip
    (root / "tiny.py").write_text(NETWORK)
    (root / "quick.toml").write_text(PROTOCOL)
    return root


def arguments(out: str, *more: str, seeds: int = 2) -> list[str]:
    """The command line of a small study."""
    return [
        "overlap", "digits.npz#train", "digits.npz#test", "--out", out, *CANDIDATES, "--protocol",
        "quick.toml", "--network", "tiny.py:tiny", "--seeds", str(seeds), *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def study(folder: Path) -> Path:
    """A study that was made in one process without a stop."""
    done = forked_command(*arguments("study", "--workers", "1"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "candidates  2: contrast:5, s2n/gauss_noise" in done.stderr
    assert "training epochs" in done.stderr and "18 of 18 (100 %)" in done.stderr
    assert "2 candidates, 2 seeds, 80 images" in done.stdout
    return folder / "study"


def content(study: Path) -> dict[str, bytes]:
    return {name: (study / name).read_bytes() for name in FILES}


def test_the_files_agree_with_each_other_and_with_the_models(study: Path, folder: Path) -> None:
    table = read_accuracies(study / "accuracies.csv")
    assert table.candidates == ("contrast:5", "s2n/gauss_noise") and table.seeds == (0, 1)
    assert (table.images == 80).all()
    matrix = read_overlap(study / "overlap.json")
    assert read_overlap(study / "overlap.csv").scores == matrix.scores
    np.testing.assert_array_equal(overlap_matrix(table).values, matrix.values)
    # A model's accuracy is that of its ONNX file on clean images.
    with np.load(folder / "digits.npz") as data:
        scores = windtunnel.load_model(study / "models" / "clean-seed1" / "model.onnx").predict(
            data["test_images"]
        )
        assert table.accuracy[1, 0, 0] == (scores.argmax(1) == data["test_labels"]).mean()
    assert not (study / "test-images").exists()


def test_seeds_differ_and_models_of_one_seed_begin_alike(study: Path) -> None:
    table = read_accuracies(study / "accuracies.csv")
    assert (table.accuracy[0] != table.accuracy[1]).any()
    recipes = [json.loads(path.read_text()) for path in sorted(study.glob("models/*/training.json"))]
    copies = [recipe["recipe"].get("augmentation") for recipe in recipes]
    assert {one["clean_copies"] for one in copies} == {1, 2}


def test_worker_processes_give_the_same_files(study: Path, folder: Path) -> None:
    done = forked_command(*arguments("processes", "--workers", "2"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert content(folder / "processes") == content(study)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, "it ended before it could be killed"
        time.sleep(0.005)


def test_a_killed_study_continues_with_the_same_result(study: Path, folder: Path) -> None:
    killed = folder / "killed"
    command = [sys.executable, "-m", "windtunnel", *arguments("killed", "--workers", "1")]
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL)
    # One model is finished, and another has finished an epoch.
    predictions, checkpoints = killed / "predictions", killed / "models"
    wait_for(
        lambda: any(predictions.glob("*.json")) and len(list(checkpoints.glob("*/checkpoint.pt"))) > 1,
        process,
    )
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "overlap.json").exists()
    done = forked_command(*arguments("killed", "--workers", "1"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert content(killed) == content(study)
    weights = [path.name for path in sorted((study / "models").iterdir())]
    for name in weights:
        both = [read_history(folder / "models" / name) for folder in (killed, study)]
        rows, expected = ([replace(row, seconds=0.0) for row in history] for history in both)
        assert rows == expected, name


def test_a_finished_study_is_scored_again_without_training(study: Path, folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(study, again)
    file = again / "predictions" / "contrast-5-seed1.json"
    before = file.read_bytes()
    stored = json.loads(before)
    stored["correct"]["clean"] = stored["correct"]["contrast:5"]
    file.write_text(json.dumps(stored))  # damaged: its digest does not fit
    history = (again / "models" / "contrast-5-seed1" / "history.csv").stat().st_mtime_ns
    done = forked_command(*arguments(str(again), "--workers", "1", "--ratio", "raw", "--json"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before
    assert (again / "accuracies.csv").read_bytes() == (study / "accuracies.csv").read_bytes()
    matrix = json.loads(done.stdout)
    assert matrix["ratio"] == "raw" and matrix == json.loads((again / "overlap.json").read_text())
    assert history <= (again / "models" / "contrast-5-seed1" / "history.csv").stat().st_mtime_ns


def test_seeds_are_added_to_a_study(study: Path, folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    done = forked_command(*arguments(str(more), "--workers", "1", seeds=1), cwd=folder)
    assert done.returncode == 0 and "One seed" in done.stdout, done.stderr
    first = read_accuracies(more / "accuracies.csv")
    assert forked_command(*arguments(str(more), "--workers", "1"), cwd=folder).returncode == 0
    assert content(more) == content(study)
    np.testing.assert_array_equal(first.accuracy[0], read_accuracies(study / "accuracies.csv").accuracy[0])


def test_fewer_seeds_do_not_replace_a_finished_study(study: Path, folder: Path) -> None:
    before = content(study)
    done = forked_command(*arguments("study", seeds=1), cwd=folder)
    assert done.returncode == 2
    assert "--seeds is 1, but study is finished with 2 seeds" in done.stderr
    assert "give --seeds 2 or more, or another folder" in done.stderr
    assert content(study) == before


def test_python_gives_the_same_matrix(study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    counted: list[int] = []
    matrix = windtunnel.overlap(
        "digits.npz#train", "digits.npz#test", "study", candidates=["contrast:5", "s2n/gauss_noise"],
        protocol="quick.toml", network="tiny.py:tiny", seeds=2,
        progress=lambda done, total, failed=0: counted.append(done),
    )  # fmt: skip
    assert matrix == read_overlap(study / "overlap.json")
    assert sum(counted) == 18
    assert windtunnel.overlap_of_accuracies(study / "accuracies.csv").scores == matrix.scores


def test_a_table_of_accuracies_needs_no_training(
    study: Path, windtunnel_command: Command, tmp_path: Path
) -> None:
    table = study / "accuracies.csv"
    done = windtunnel_command("overlap", table, "--out", "matrix", "--csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "matrix" / "overlap.csv").read_text()
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["candidate"] for row in rows] == [
        "contrast:5",
        "contrast:5",
        "s2n/gauss_noise",
        "s2n/gauss_noise",
    ]
    stored = list(csv.DictReader((study / "overlap.csv").read_text().splitlines()))
    assert [row["overlap"] for row in rows] == [row["overlap"] for row in stored]
    said = windtunnel_command("overlap", table)
    assert said.returncode == 0 and "Only accuracies are known" in said.stdout
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    refused = windtunnel_command("overlap", table, "--out", "other")
    assert refused.returncode == 2 and "contains other files" in refused.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["digits.npz#train", "digits.npz#test"], "--out is not given"),
        (["digits.npz#train", "digits.npz#train", "--out", "x"], "are training images"),
        (
            ["digits.npz#train", "digits.npz#test", "--out", "x", "--candidates", "fogg"],
            "Unknown candidate 'fogg'. Did you mean fog?",
        ),
        (
            ["digits.npz#train", "digits.npz#test", "--out", "x", "--candidates", "fog:9"],
            "'fog:9' is not a severity of fog",
        ),
        (
            ["digits.npz#train", "digits.npz#test", "--out", "x", "--candidates", "fog"],
            "gives 1 corruption; an overlap needs two different ones.\n",
        ),
        (
            ["digits.npz#train", "digits.npz#test", "--out", "x", "--candidates", "imagenet-p"],
            "no corruptions",
        ),
        (["digits.npz#train", "digits.npz#test", "--out", "x", "--protocol", "papr"], "Did you mean paper?"),
        (["digits.npz#train", "digits.npz#test", "--out", "x", "--protocol", "wrong.toml"], "epoch"),
        (["digits.npz#train", "digits.npz#test", "--out", "x", "--network", "smal"], "Did you mean small?"),
        (
            ["digits.npz#train", "digits.npz#test", "--out", "x", "--network", "tiny.py:no"],
            "has no function no",
        ),
        (["digits.npz#train", "digits.npz#test", "--out", "x", "--device", "abacus"], "device is 'abacus'"),
        (["digits.npz#train", "digits.npz#test", "--out", "x", "--json", "--csv"], "exclude each other"),
        (["digits.npz#train", "digits.npz#test", "--out", "study", "--seeds", "2"], "contains another study"),
        (["digits.npz#train", "digits.npz#test", "--out", "."], "contains other files"),
        (
            [
                "digits.npz#train",
                "digits.npz#test",
                "--out",
                "x",
                "--candidates",
                "s2n/cutout",
                "--candidates",
                "fog",
            ],
            "32 pixels; s2n/cutout needs 151",
        ),
        (["missing.csv"], "No such table"),
        (["digits.npz#train"], "TEST is missing"),
        (["a", "b", "c"], "3 arguments"),
        (["study/accuracies.csv", "--seeds", "2"], "nothing is trained"),
    ],
)
def test_mistakes_get_one_line(given: list[str], said: str, study: Path, folder: Path) -> None:
    (folder / "wrong.toml").write_text(PROTOCOL.replace("epochs = 2", "epoch = 2"))
    before = sorted(folder.iterdir())
    done = forked_command("overlap", *given, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert sorted(folder.iterdir()) == before


def test_a_suite_leaves_out_what_needs_larger_images(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    options = windtunnel.OverlapOptions(candidates=["syn2nat-candidates", "fog"], seeds=1)
    study = api.prepare_study("digits.npz#train", "digits.npz#test", tmp_path / "x", options).study
    assert "s2n/cutout" not in study.candidates and {"s2n/blur", "fog:3"} < set(study.candidates)
    assert any("s2n/cutout is left out: it needs images of 151 pixels" in note for note in study.notes)


def test_a_diverging_model_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "wild.toml").write_text(PROTOCOL.replace("0.05", "1e30"))
    given = [*arguments(str(tmp_path / "out"), "--workers", "1"), "--protocol", tmp_path / "wild.toml"]
    done = forked_command(*given, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "error: The model trained on clean with seed 0 failed: The loss is no longer finite in epoch 1,"
    )


def test_after_a_failing_model_the_study_continues(study: Path, folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(study, again)
    (again / "predictions" / "contrast-5-seed0.json").unlink()
    checkpoint = again / "models" / "contrast-5-seed0" / "checkpoint.pt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    given = arguments(str(again), "--workers", "1")
    done = forked_command(*given, cwd=folder)
    assert done.returncode == 2
    assert "The model trained on contrast:5 with seed 0 failed:" in done.stderr
    assert f"{checkpoint} cannot be loaded" in done.stderr
    checkpoint.unlink()
    assert forked_command(*given, cwd=folder).returncode == 0
    assert content(again) == content(study)
