"""Sequences on disk: frames, arrays and videos are what a run sees in memory, whatever interrupts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.e2e.test_make import photographs, tree_checksum
from tests.onnx_models import write_colour_model
from windtunnel.cli import cli
from windtunnel.data import open_dataset
from windtunnel.imaging.clips import encode_clip
from windtunnel.make.plan import plan_make
from windtunnel.make.set_writer import make
from windtunnel.make.verification import verify
from windtunnel.options import MakeOptions
from windtunnel.sequences import REGISTRY
from windtunnel.suites.suite_files import load_suite

SOME = ["gaussian_noise", "tilt", "translate"]
FRAMES = {"gaussian_noise": 31, "tilt": 31, "translate": 16}
LAYOUTS = ("frames", "arrays", "videos")
MOVED_BEFORE_THE_CROP = {"tilt", "rotate", "scale", "translate", "shear", "zoom_blur"}
FOURTEEN = {
    unit.removeprefix("seq/")
    for name in ("imagenet-p", "imagenet-p-extra")
    for unit in load_suite(name).units
}


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    """Six coarse patterns of 32 pixels in six of ten classes."""
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    images = np.stack([np.asarray(Image.fromarray(one).resize((32, 32))) for one in small])
    labels = np.array([3, 1, 4, 9, 5, 2], np.uint8)
    file = tmp_path_factory.mktemp("cifar") / "cifar.npz"
    np.savez(file, images=images, labels=labels)
    return file, images, labels


@pytest.fixture(scope="module")
def made(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("made")
    return {
        layout: windtunnel.make_set("imagenet-p", cifar[0], root / layout, layout=layout, only=SOME)
        for layout in LAYOUTS
    }


def rows(run: windtunnel.Run) -> dict[tuple[str, str, int], tuple[object, ...]]:
    """By image, condition id and frame, the five best classes and their scores."""
    ids = {condition.name: condition.id for condition in run.conditions}
    table = run.predictions(["condition", "frame", "top", "top_score", "status"]).to_pylist()
    return {
        (row["sample_id"], ids[row["condition"]], row["frame"]): (
            tuple(row["top"]),
            tuple(row["top_score"]),
            row["status"],
        )
        for row in table
    }


def frames_in_memory(images: np.ndarray, unit: str, row: int, difficulty: int = 1) -> list[np.ndarray]:
    made = windtunnel.perturb(
        images[row], unit, seed=0, sample_id=f"{row:08d}", edition=32, difficulty=difficulty
    )
    return list(made)


def video_frames(path: Path) -> np.ndarray:
    """As the reference's loader reads the published set."""
    video, frames = cv2.VideoCapture(str(path)), []
    while True:
        more, frame = video.read()
        if not more:
            return np.stack(frames)
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_and_memory_give_the_same_rows(
    cifar: tuple[Path, np.ndarray, np.ndarray], made: dict[str, Path], layout: str, tmp_path: Path
) -> None:
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    codec = "h264" if layout == "videos" else None
    memory = windtunnel.run(model, cifar[0], "imagenet-p", only=SOME, codec=codec, out=tmp_path / "memory")
    files = windtunnel.run(model, made[layout], out=tmp_path / "files")
    expected, found = rows(memory), rows(files)
    assert len(found) == 6 * (1 + sum(FRAMES.values()))
    # A precomputed set has no native images.
    assert {key: expected[key] for key in found} == found
    for metric in ("flip_probability", "mfp", "ut5d"):
        assert [score.value for score in memory.scores([metric])] == [
            score.value for score in files.scores([metric])
        ]
    assert not windtunnel.compare(memory, files).unpaired_because


def test_photographs_as_frames_and_videos_are_scored_as_in_memory(tmp_path: Path) -> None:
    """At 224 pixels tilt acts before the crop, in files as in memory."""
    data = photographs(tmp_path / "val", 2)
    model = write_colour_model(tmp_path / "model.onnx", classes=1000, side=224)
    out = windtunnel.make_set("imagenet-p", data, tmp_path / "made", only=["tilt"])
    memory = rows(windtunnel.run(model, data, "imagenet-p", only=["tilt"], out=tmp_path / "memory"))
    files = rows(windtunnel.run(model, out, out=tmp_path / "files"))
    assert len(files) == 2 * (1 + 31)
    assert {key: memory[key] for key in files} == files
    frame = out / "tilt" / "n01440764" / "photo0" / "030.png"
    with Image.open(frame) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (224, 224), "RGB")


@pytest.mark.parametrize("name", sorted(FOURTEEN))
def test_frames_of_runs_can_be_made_in_python_as_documented(tmp_path: Path, name: str) -> None:
    """Short side 256, edition 224; the middle 224x224 of every frame, or of the image."""
    data = photographs(tmp_path / "val", 1)
    out = windtunnel.make_set("imagenet-p", data, tmp_path / "made", only=[name])
    with Image.open(data / "n01440764" / "photo0.png") as image:  # 300x260
        canvas = np.asarray(
            image.convert("RGB").resize((int(256 * 300 / 260), 256), Image.Resampling.BILINEAR)
        )
    left, top = round((canvas.shape[1] - 224) / 2), round((256 - 224) / 2)
    middle = np.s_[top : top + 224, left : left + 224]
    given = canvas if name in MOVED_BEFORE_THE_CROP else canvas[middle]
    frames = windtunnel.perturb(given, name, seed=0, sample_id="n01440764/photo0.png", edition=224)
    files = sorted((out / name / "n01440764" / "photo0").iterdir())
    for path, frame in zip(files, frames, strict=True):
        expected = frame[middle] if name in MOVED_BEFORE_THE_CROP else frame
        assert np.array_equal(np.asarray(Image.open(path)), expected)


def test_the_docs_name_the_sequences_that_take_the_whole_image() -> None:
    acting = {name for name in FOURTEEN if REGISTRY.get(name).table(224).stage == "resized"}
    assert acting == MOVED_BEFORE_THE_CROP
    guide = (Path(__file__).parents[2] / "docs" / "howto" / "sequences.md").read_text()
    for text in (guide, windtunnel.perturb.__doc__ or ""):
        assert "tilt, rotate, scale, translate, shear and zoom_blur" in " ".join(text.split())


def test_frames_are_laid_out_by_sequence_class_and_image(
    cifar: tuple[Path, np.ndarray, np.ndarray], made: dict[str, Path]
) -> None:
    _, images, labels = cifar
    root = made["frames"]
    assert {entry.name for entry in root.iterdir()} == {*SOME, "clean", "manifest.json", ".windtunnel"}
    for unit in SOME:
        for row, label in enumerate(labels):
            files = sorted((root / unit / str(label) / f"{row:08d}").iterdir())
            stored = np.stack([np.asarray(Image.open(path)) for path in files])
            assert np.array_equal(stored, frames_in_memory(images, unit, row))
            clean = np.asarray(Image.open(root / "clean" / str(label) / f"{row:08d}.png"))
            assert np.array_equal(clean, images[row])


def test_arrays_are_laid_out_as_cifar_10_p_is_published(
    cifar: tuple[Path, np.ndarray, np.ndarray], made: dict[str, Path]
) -> None:
    _, images, labels = cifar
    root = made["arrays"]
    assert {path.stem for path in root.glob("*.npy")} == {*SOME, "labels", "clean"}
    for unit in SOME:
        array = np.load(root / f"{unit}.npy")
        assert (array.dtype, array.shape) == (np.uint8, (6, FRAMES[unit], 32, 32, 3))
        for row in range(6):
            assert np.array_equal(array[row], frames_in_memory(images, unit, row))
    assert np.array_equal(np.load(root / "labels.npy"), labels)
    assert np.array_equal(np.load(root / "clean.npy"), images)


def test_videos_are_laid_out_as_imagenet_p_is_published(
    cifar: tuple[Path, np.ndarray, np.ndarray], made: dict[str, Path]
) -> None:
    _, images, labels = cifar
    for unit in SOME:
        files = sorted((made["videos"] / unit).rglob("*"))
        assert len([path for path in files if path.is_file()]) == 6
        clips = [
            video_frames(made["videos"] / unit / str(label) / f"{row:08d}.mp4")
            for row, label in enumerate(labels)
        ]
        for row, clip in enumerate(clips):
            frames = frames_in_memory(images, unit, row)
            assert clip.shape == (FRAMES[unit], 32, 32, 3)
            difference = np.abs(clip.astype(int) - frames)
            assert 0 < difference.mean() < 12
        type_ = {"gaussian_noise": "noise"}.get(unit, "temporal")
        written = (made["videos"] / unit / str(labels[5]) / "00000005.mp4").read_bytes()
        assert written == encode_clip(frames_in_memory(images, unit, 5), type_)


def test_by_default_all_fourteen_sequences_are_made_lossless(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    out = windtunnel.make_set("imagenet-p", cifar[0], tmp_path / "p", subset=1)
    assert {path.stem for path in out.glob("*.npy")} == {*FOURTEEN, "labels", "clean"}
    extra = windtunnel.make_set("imagenet-p-extra", cifar[0], tmp_path / "extra", subset=1)
    assert len(windtunnel.open_dataset(extra).stored) == 4


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_difficulties_of_noise_stand_beside_the_first(
    cifar: tuple[Path, np.ndarray, np.ndarray], layout: str, tmp_path: Path
) -> None:
    file, images, _ = cifar
    out = tmp_path / "made"
    for difficulty in (1, 3):
        windtunnel.make_set(
            "imagenet-p", file, out, layout=layout, only=["gaussian_noise", "scale"], difficulty=difficulty
        )
    names = {path.stem for path in out.iterdir()}
    assert {"gaussian_noise", "gaussian_noise_3", "scale"} <= names
    assert not {"scale_3", "gaussian_noise_1"} & names
    assert verify(out).sound
    if layout == "arrays":
        assert np.array_equal(
            np.load(out / "gaussian_noise_3.npy")[2], frames_in_memory(images, "gaussian_noise", 2, 3)
        )
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    hard = windtunnel.run(model, out, difficulty=3, out=tmp_path / "run")
    suffix = "+h264" if layout == "videos" else ""
    assert [condition.name for condition in hard.conditions] == [
        "clean", f"seq/gaussian_noise:3{suffix}", f"seq/scale{suffix}",
    ]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_kill_costs_nothing_and_leaves_the_same_tree(layout: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (32, 32, 32, 3), dtype=np.uint8)
    file = tmp_path / "cifar.npz"
    np.savez(file, images=images, labels=np.arange(32) % 10)
    only = ["--only", "gaussian_noise", "--only", "tilt"]
    arguments = ["make", "imagenet-p", file, tmp_path / "killed", "--layout", layout, *only]
    command = [sys.executable, "-m", "windtunnel", *map(str, arguments), "--workers", "2"]
    chunks = tmp_path / "killed" / ".windtunnel" / "chunks"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not any(chunks.glob("*.parquet")):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 0 < len(list(chunks.glob("*.parquet"))) < 16
    again = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert again.returncode == 0, again.stderr
    windtunnel.make_set("imagenet-p", file, tmp_path / "whole", layout=layout, only=only[1::2])
    assert tree_checksum(tmp_path / "killed") == tree_checksum(tmp_path / "whole")


@pytest.mark.parametrize(
    ("layout", "victim"),
    [("frames", "tilt/3/00000000/007.png"), ("arrays", "tilt.npy"), ("videos", "tilt/3/00000000.mp4")],
)
def test_damage_is_found_by_verify_and_repaired_by_making_again(
    cifar: tuple[Path, np.ndarray, np.ndarray],
    tmp_path: Path,
    windtunnel_command: Command,
    layout: str,
    victim: str,
) -> None:
    arguments = ["make", "imagenet-p", cifar[0], "made", "--layout", layout, "--only", "tilt", "--workers", 1]
    first = windtunnel_command(*arguments)
    assert first.returncode == 0 and "1 sequence," in first.stderr
    before = tree_checksum(tmp_path / "made")
    path = tmp_path / "made" / victim
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    found = windtunnel_command("data", "verify", "made", "--json")
    assert found.returncode == 1
    assert list(json.loads(found.stdout)["damaged"]) == [victim]
    assert windtunnel_command(*arguments).returncode == 0
    assert tree_checksum(tmp_path / "made") == before
    if layout != "arrays":
        (tmp_path / "made" / "tilt" / "3" / "mine.png").write_bytes(b"")
        assert list(verify(tmp_path / "made").damaged) == ["tilt"]


def test_a_repaired_set_is_scored_again_where_it_failed(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path, windtunnel_command: Command
) -> None:
    made = ("make", "imagenet-p", cifar[0], "made", "--layout", "videos", "--only", "tilt", "--workers", 1)
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    scored = ("run", model, "made", "--chunk", 2, "--out", "run", "--workers", 1)
    assert windtunnel_command(*made).returncode == 0
    clip = tmp_path / "made" / "tilt" / "3" / "00000000.mp4"
    content = clip.read_bytes()
    clip.write_bytes(b"no video")
    assert windtunnel_command(*scored).returncode == 0
    assert windtunnel.load_run(tmp_path / "run").scoring.observed.left_out == 1
    again = windtunnel_command(*scored)
    assert "192 already done" in again.stderr and "scored again" not in again.stderr, "nothing was repaired"
    shards = sorted((tmp_path / "run" / "shards").iterdir())
    before = {path: path.stat().st_mtime_ns for path in shards}
    assert windtunnel_command(*made).returncode == 0 and clip.read_bytes() == content
    again = windtunnel_command(*scored, "--strict")
    assert again.returncode == 0, again.stderr
    assert "128 already done" in again.stderr
    assert "1 image that failed earlier can be read now and will be scored again." in again.stderr
    assert sum(path.stat().st_mtime_ns != time for path, time in before.items()) == 1
    run = windtunnel.load_run(tmp_path / "run")
    assert run.scoring.observed.left_out == 0
    whole = windtunnel.run(model, tmp_path / "made", out=tmp_path / "whole")
    assert rows(run) == rows(whole)


def test_rows_that_are_not_made_are_failures_not_black_clips(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    out = windtunnel.make_set("imagenet-p", cifar[0], tmp_path / "made", only=["tilt"])
    tables = sorted((out / ".windtunnel" / "chunks").glob("*.parquet"))
    tables[-1].unlink()
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    run = windtunnel.run(model, out, out=tmp_path / "run")
    failed = [row for row in run.predictions(["status"]).to_pylist() if row["status"] != "ok"]
    assert {row["sample_id"] for row in failed} == {"00000005"} and len(failed) == 31
    assert [(one.image, one.condition) for one in run.scoring.observed.unscored] == [("00000005", "seq/tilt")]
    assert "<td>seq/tilt</td><td>unreadable</td>" in run.report().read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("imagenet-p", "--layout", "folders"), "sequences are stored as frames, arrays, videos"),
        (("imagenet-c", "--layout", "videos"), "images are stored as folders, arrays"),
        (("imagenet-p", "--layout", "frames", "--codec", "h264"), "videos are stored as h264"),
        (("imagenet-p", "--layout", "videos", "--codec", "jpeg:85"), "videos are stored as h264"),
        (("imagenet-p", "--difficulty", "4"), "give 1, 2, 3"),
        (("imagenet-c", "--difficulty", "2"), "contains no sequences"),
        (("imagenet-p", "--only", "tilted"), "tilted"),
    ],
)
def test_mistakes_are_told_in_one_line_before_any_work(
    cifar: tuple[Path, np.ndarray, np.ndarray],
    tmp_path: Path,
    windtunnel_command: Command,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    suite, *options = arguments
    done = windtunnel_command("make", suite, cifar[0], "out", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("error:")
    assert not (tmp_path / "out").exists()


def test_making_again_counts_every_chunk_once(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    plan = plan_make("imagenet-p", open_dataset(cifar[0]), MakeOptions(only=["tilt"]))
    make(plan, tmp_path / "made")
    looked: list[tuple[int, int]] = []
    make(plan, tmp_path / "made", checking=lambda done, total, _failed=0: looked.append((done, total)))
    assert len(plan.chunks) > 1
    assert looked == [(1, len(plan.chunks))] * len(plan.chunks)


def test_another_seed_is_called_that_though_it_chooses_other_images(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    for seed, told in ((0, ""), (1, "another seed")):
        plan = plan_make(
            "imagenet-p", open_dataset(cifar[0]), MakeOptions(only=["tilt"], subset=2, seed=seed)
        )
        if told:
            with pytest.raises(windtunnel.UserError, match=told):
                make(plan, tmp_path / "made")
        else:
            make(plan, tmp_path / "made")


def test_what_is_made_is_inspected_and_not_made_twice(
    made: dict[str, Path], tmp_path: Path, windtunnel_command: Command
) -> None:
    said = windtunnel_command("data", "inspect", made["videos"])
    assert "3 conditions of 3 sequences: seq/gaussian_noise, seq/translate, seq/tilt" in said.stdout
    with pytest.raises(windtunnel.UserError, match="already"):
        windtunnel.make_set("imagenet-p", made["frames"], tmp_path / "again")


@pytest.mark.parametrize("clips", [0, 1])
def test_a_set_that_was_hardly_begun_is_unfinished_and_not_damaged(
    cifar: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path, clips: int
) -> None:
    """Killed in its first chunk: some files are there, and no table says so yet."""
    made = windtunnel.make_set("imagenet-p", cifar[0], tmp_path / "made", layout="videos", only=["tilt"])
    for table in (made / ".windtunnel" / "chunks").iterdir():
        table.unlink()
    for folder, kept in (("clean", 1), ("tilt", clips)):
        for file in sorted(path for path in (made / folder).rglob("*") if path.is_file())[kept:]:
            file.unlink()
    found = verify(made)
    assert found.missing and not found.damaged and not found.sound
    said = CliRunner().invoke(cli, ["data", "verify", str(made)])
    assert said.exit_code == 1 and "unfinished: run the same make command to continue" in said.output
    with pytest.raises(
        windtunnel.UserError, match=r"is unfinished: .* run the same make command to continue"
    ):
        windtunnel.plan("demo", made)
    for number in range(20):
        (made / "clean" / f"stranger{number}.png").write_bytes(b"")
    assert "not made here" in verify(made).damaged["clean"]
