"""Predictions of whole folders: rows of images that are not scored are ignored and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.natural_sets import WNIDS, clean_folder, put, video_set, write_csv
from windtunnel.api import score_predictions
from windtunnel.data import is_image_name
from windtunnel.published.natural_sets import masked_classes

IN_A = list(masked_classes("in_imagenet_a"))
OUTSIDE = next(label for label in range(1000) if label not in IN_A)


def images(root: Path, before: str = "") -> list[str]:
    """The ids of every image below a folder."""
    files = sorted(one for one in root.rglob("*") if is_image_name(one.name))
    return [before + one.relative_to(root).as_posix() for one in files]


def write_logits(path: Path, said: Mapping[str, int], count: int = 1000) -> Path:
    """A JSON object from id to scores, in which a class wins."""
    path.write_text(json.dumps({one: np.eye(count)[label].tolist() for one, label in said.items()}))
    return path


def errors(run: windtunnel.Run) -> dict[str, float]:
    return {one.condition: one.value for one in run.scores(["top1_error"])}


@pytest.fixture
def imagenet_a(tmp_path: Path) -> Path:
    for number, label in enumerate(IN_A[:4]):
        put(tmp_path / "imagenet-a" / WNIDS[label] / "one.png", label, shade=number)
    return tmp_path / "imagenet-a"


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """Four images of each of the four classes, and of one that ImageNet-A lacks."""
    return clean_folder(tmp_path / "val", [*IN_A[:4], OUTSIDE])


def test_clean_images_of_other_classes_are_ignored_and_counted(
    tmp_path: Path, imagenet_a: Path, clean: Path, windtunnel_command: Command
) -> None:
    said = dict.fromkeys([*images(imagenet_a), *images(clean, "clean/")], IN_A[0])
    file = write_logits(tmp_path / "whole.json", said)
    options = ["--data", imagenet_a, "--clean", clean, "--suite", "imagenet-a", "--outputs", "logits"]
    done = windtunnel_command("score", "--predictions", file, *options, "--out", "whole")
    assert done.returncode == 0, done.stderr
    example = f"clean/{WNIDS[OUTSIDE]}/ILSVRC2012_val_{OUTSIDE:05d}000.JPEG"
    remark = (
        "4 rows of predictions ignored, for images not scored: 4 of clean images of other classes (such as "
        f"'{example}')."
    )
    assert remark in " ".join(done.stderr.split())
    run = windtunnel.load_run(tmp_path / "whole")
    assert remark in run.info.remarks
    assert run.info.ignored_rows == {"clean images of other classes": 4}
    # Everything is called the first of four classes.
    assert errors(run) == {"imagenet-a": 3 / 4, "clean": 3 / 4}
    scored = {one: label for one, label in said.items() if WNIDS[OUTSIDE] not in one}
    alone = score_predictions(
        write_logits(tmp_path / "alone.json", scored), imagenet_a, "imagenet-a", clean=clean,
        outputs="logits", out=tmp_path / "alone",
    )  # fmt: skip
    assert alone.info.ignored_rows == {} and "ignored" not in str(alone.info.remarks)
    assert errors(alone) == errors(run)


def test_unknown_images_stay_an_error(tmp_path: Path, imagenet_a: Path, clean: Path) -> None:
    others = ["clean/n99999999/a.JPEG", "nobody.png", f"{WNIDS[OUTSIDE]}/one.png"]
    said = dict.fromkeys([*images(imagenet_a), *images(clean, "clean/"), *others], 0)
    file = write_logits(tmp_path / "whole.json", said)
    with pytest.raises(windtunnel.UserError, match=r"3 rows with unknown ids \(such as 'clean/n99999999/a"):
        score_predictions(file, imagenet_a, "imagenet-a", clean=clean, outputs="logits", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_rows_that_are_ignored_may_hold_anything_and_stand_twice(
    tmp_path: Path, imagenet_a: Path, clean: Path
) -> None:
    ids = [*images(imagenet_a), *images(clean, "clean/")]
    left_out = [one for one in ids if WNIDS[OUTSIDE] in one]
    values = np.zeros((len(ids) + 4, 1000), np.float32)
    values[[place for place, one in enumerate(ids) if one in left_out]] = np.nan
    np.savez(tmp_path / "logits.npz", id=np.array([*ids, *left_out]), logits=values)
    run = score_predictions(
        tmp_path / "logits.npz", imagenet_a, "imagenet-a", clean=clean, out=tmp_path / "run"
    )
    assert run.info.ignored_rows == {"clean images of other classes": 8}


def test_frames_of_no_scored_set_are_ignored(tmp_path: Path) -> None:
    root = video_set(tmp_path / "vid-robust", {"a": {0: ([4], 7), 1: ([4], 7)}, "b": {0: ([4], 7)}})
    # A frame that reviewers rejected is in no file but lies beside the others.
    put(root / "val" / "a" / "000105.JPEG", 7)
    file = write_logits(tmp_path / "whole.json", dict.fromkeys(images(root), 4), 30)
    run = score_predictions(file, root, "vid-robust", outputs="logits", out=tmp_path / "run")
    assert run.info.ignored_rows == {"frames of no scored frame set": 1}
    assert errors(run) == {"vid-robust": 0.0}
    for other in ("val/a/000999.JPEG", "metadata/labels.json", "../secret.jpg"):
        (tmp_path / "secret.jpg").write_bytes(b"")
        file = write_logits(tmp_path / "other.json", dict.fromkeys([*images(root), other], 4), 30)
        with pytest.raises(windtunnel.UserError, match="1 row with unknown ids"):
            score_predictions(file, root, "vid-robust", outputs="logits", out=tmp_path / "never")


def test_ytbb_frames_that_reviewers_rejected_are_ignored(tmp_path: Path) -> None:
    root, folder = tmp_path / "ytbb-robust", tmp_path / "ytbb-robust" / "metadata"
    folder.mkdir(parents=True)
    anchors = {"a_1000/frame-30.jpg": [0], "b_2000/frame-60.jpg": [2]}
    pairs = {"a_1000/frame-31.jpg": [0], "a_1000/frame-32.jpg": [1]}
    for name, rows, words in (
        ("anchor_labels.json", anchors, ["good", "unsure", "bad"]),
        ("pmk_labels.json", {f"a_1000/frame-30.jpg,{one}": said for one, said in pairs.items()},
         ["similar", "dissimilar"]),
    ):  # fmt: skip
        noted = [
            {"key": f"/home/them/{key}" if name[0] == "a" else key, "labels": said}
            for key, said in rows.items()
        ]
        (folder / name).write_text(json.dumps({"annotations": noted, "labels": words}))
    write_csv(
        folder / "x_test_anchors_full.csv", ["ytid", "time_ms", "label"], [["a", 1000, 1], ["b", 2000, 1]]
    )
    for place, key in enumerate(("a_1000/frame-30.jpg", "a_1000/frame-31.jpg")):
        put(root / "ytbb_videos" / key, 7, shade=place)
    # The rejected frames are known from the annotations, whether their files are there or not.
    file = write_logits(tmp_path / "whole.json", dict.fromkeys([*anchors, *pairs], 1), 24)
    run = score_predictions(file, root, "ytbb-robust", outputs="logits", out=tmp_path / "run")
    assert run.info.ignored_rows == {"frames of no scored frame set": 2}
    assert errors(run) == {"ytbb-robust": 0.0}


def test_objectnet_folders_that_are_not_scored_are_ignored(tmp_path: Path) -> None:
    root = tmp_path / "objectnet"
    for place, name in enumerate(("Backpack", "Banana", "Air freshener")):
        put(root / name / "a.png", 414, border=2, shade=place)
    file = write_logits(tmp_path / "whole.json", dict.fromkeys(images(root), 414))
    run = score_predictions(file, root, "objectnet", outputs="logits", out=tmp_path / "run")
    assert run.info.ignored_rows == {"images of folders that are not scored": 1}
    assert errors(run) == {"objectnet": 0.5}


def test_images_that_a_corrupted_set_leaves_out_are_ignored(tmp_path: Path) -> None:
    names = [f"{WNIDS[label]}/{place}.JPEG" for label in (0, 1) for place in range(5)]
    root, clean = tmp_path / "set", tmp_path / "clean"
    rare, other = f"{WNIDS[2]}/rare.JPEG", f"{WNIDS[3]}/other.JPEG"
    folders = {f"{unit}/{level}": names for unit in ("fog", "snow") for level in range(1, 6)}
    folders["fog/1"] = [*names, rare]
    for number, (folder, held) in enumerate(folders.items()):
        for place, name in enumerate(held):
            path = root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (64, 64), (20 * place, number, 9)).save(path)
    for place, name in enumerate([*names, other]):
        path = clean / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 64), (20 * place, 77, 9)).save(path)
    ids, conditions = [], []
    for condition, held in {**{one.replace("/", ":"): all_ for one, all_ in folders.items()},
                            "clean": [*names, other]}.items():  # fmt: skip
        ids += held
        conditions += [condition] * len(held)
    np.savez(
        tmp_path / "logits.npz",
        id=np.array(ids),
        condition=np.array(conditions),
        logits=np.tile(np.eye(1000, dtype=np.float32)[0], (len(ids), 1)),
    )
    run = score_predictions(tmp_path / "logits.npz", root, clean=clean, out=tmp_path / "run")
    assert run.info.ignored_rows == {
        "images that under half of the corruptions have": 1,
        "clean images without a corrupted copy": 1,
    }
    assert set(errors(run).values()) == {0.5}
