"""pm-k of detectors on frames with annotated objects, and detectors that are Python code or classifiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windtunnel
from tests.annotated_videos import CATEGORIES, Frame, draw_frames, write_detector, write_videos
from tests.coco_evaluator import category_precisions
from tests.conftest import Command
from windtunnel.core.errors import UserError

VIDEOS, LENGTH = 3, 9


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Frame]]:
    """A COCO file of three videos, a detector, and what each frame has."""
    folder = tmp_path_factory.mktemp("videos")
    frames = draw_frames(VIDEOS * LENGTH, seed=9)
    return (
        write_videos(folder, frames, VIDEOS),
        write_detector(folder, [found for _, found in frames]),
        frames,
    )


def frame_precision(frame: Frame, iou: float, *, localisation: bool, counted: bool) -> float:
    """AP of one frame by COCO's evaluator; NaN without objects."""
    precisions = category_precisions([frame], len(CATEGORIES), iou, localisation=localisation)
    if counted and not localisation:
        absent = {box["category"] for box in frame[1]} - {thing["category"] for thing in frame[0]}
        precisions |= dict.fromkeys(absent, 0.0)
    elif counted and frame[1] and not frame[0]:
        precisions = {0: 0.0}
    return float(np.mean([*precisions.values()])) if precisions else np.nan


CHOICES = [
    ("k=2, anchors=every:1", {}),
    ("k=3, anchors=every:2, iou=0.7, absent=counted, ties=earliest", {"iou": 0.7, "counted": True}),
    ("k=2, anchors=ANCHORS, anchor=excluded", {"excluded": True}),
]


@pytest.mark.parametrize(("written", "rules"), CHOICES)
def test_pm_k_equals_a_search_for_the_worst_frame(
    videos: tuple[Path, Path, list[Frame]], tmp_path: Path, written: str, rules: dict[str, Any]
) -> None:
    file, detector, frames = videos
    listed = tmp_path / "anchors.txt"
    listed.write_text("".join(f"{place:03}.png\n" for place in (2, 13, 26)))
    run = windtunnel.run(
        f"{detector}:dicts",
        file,
        "pm-k",
        frame_sets=written.replace("ANCHORS", str(listed)),
        out=tmp_path / "run",
    )
    scores = {(score.metric, score.condition): score for score in run.scores()}
    k = int(written[2])
    step = 2 if "every:2" in written else 1
    anchors = [(video * LENGTH, place) for video in range(VIDEOS) for place in range(k, LENGTH - k, step)]
    if "ANCHORS" in written:
        anchors = [(0, 2), (9, 4), (18, 8)]
    iou, counted = rules.get("iou", 0.5), rules.get("counted", False)
    for localisation, metric in ((False, "pm_k_ap"), (True, "pm_k_localisation_ap")):
        alone = [frame_precision(frame, iou, localisation=localisation, counted=counted) for frame in frames]
        for reach in range(k + 1):
            swapped = []
            for start, place in anchors:
                offsets = [offset for offset in range(-reach, reach + 1) if 0 <= place + offset < LENGTH]
                if rules.get("excluded") and reach:
                    offsets.remove(0)
                if "earliest" not in written:
                    offsets.sort(key=abs)
                worst = None
                for offset in offsets:
                    value = alone[start + place + offset]
                    if not np.isnan(value) and (worst is None or value < worst[0]):
                        worst = value, offset
                nearest = min(offsets, key=abs)
                swapped.append(frames[start + place + (nearest if worst is None else worst[1])])
            expected = category_precisions(swapped, len(CATEGORIES), iou, localisation=localisation)
            score = scores[metric, f"pm-{reach}"]
            assert score.value == pytest.approx(np.mean([*expected.values()]), abs=1e-12)
            assert score.low <= score.value <= score.high
            assert score.n == len(anchors)
        near = [alone[start + place + 1] for start, place in anchors if place + 1 < LENGTH]
        name = "offset_localisation_error" if localisation else "offset_ap_error"
        assert scores[name, "+1"].value == pytest.approx(1 - np.nanmean(near), abs=1e-12)
    drop = scores["pm_k_ap", "pm-0"].value - scores["pm_k_ap", f"pm-{k}"].value
    assert scores["pm_ap_drop", f"pm-{k}"].value == pytest.approx(drop, abs=1e-12)
    assert run.scoring.group == "video"
    choices = json.loads((run.path / "run.json").read_text())["recipe"]["data"]["natural"]["choices"]
    assert choices.get("iou", 0.5) == iou


@pytest.mark.parametrize(("ties", "expected"), [("nearest", 51 / 101), ("earliest", 51 / 101 / 2)])
def test_of_equally_bad_frames_the_nearest_or_the_earliest_counts(
    tmp_path: Path, ties: str, expected: float
) -> None:
    cat = {"category": 0, "bbox": [10.0, 10.0, 20.0, 20.0]}
    found, elsewhere = {**cat, "score": 0.5}, {**cat, "bbox": [40.0, 40.0, 9.0, 9.0], "score": 0.9}
    # Frames 0 and 1 of the first video have AP 0. The wrong box of frame 0 comes before the box that is found
    # in the other video, so that precision is 1/2 instead of 1 at the recall points 0 to 0.5.
    frames: list[Frame] = [([cat], [elsewhere]), ([cat], []), *[([cat], [found])] * 8]
    detector = write_detector(tmp_path, [boxes for _, boxes in frames])
    file = write_videos(tmp_path / "data", frames, 2)
    run = windtunnel.run(
        f"{detector}:arrays", file, "pm-k", frame_sets=f"k=2, ties={ties}", out=tmp_path / "run"
    )
    scores = {(score.metric, score.condition): score.value for score in run.scores()}
    assert scores["pm_k_ap", "pm-0"] == pytest.approx(1)
    assert scores["pm_k_ap", "pm-2"] == pytest.approx(expected)


def test_python_detectors_of_every_form_predict_the_same(
    videos: tuple[Path, Path, list[Frame]], tmp_path: Path, windtunnel_command: Command
) -> None:
    file, detector, _ = videos
    runs = {
        name: windtunnel.run(
            f"{detector}:{name}", file, "pm-k", frame_sets="k=0, anchors=every:1", out=tmp_path / name
        )
        for name in ("dicts", "arrays", "module")
    }
    done = windtunnel_command(
        "run", f"{detector}:dicts", file, "--suite", "pm-k", "--frame-sets", "k=0, anchors=every:1",
        "--workers", 2, "--chunk", 5, "--out", tmp_path / "workers",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs["workers"] = windtunnel.load_run(tmp_path / "workers")
    clean = {
        name: run.predictions(["boxes", "scores", "categories"]).to_pylist() for name, run in runs.items()
    }
    assert clean["arrays"] == clean["module"] == clean["workers"] == clean["dicts"]
    assert len({run.recipe.model.kind for run in runs.values()}) == 2


class Returns:
    """A live detector that always returns the same."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def __call__(self, batch: np.ndarray) -> Any:
        return [self.returned] * len(batch)


WRONG_DETECTORS = [
    ({"boxes": [[1, 2, 3, 4]], "scores": [0.5]}, "a dict without labels"),
    ({"boxes": [[1, 2, 3, 4]], "scores": [0.5, 0.4], "labels": [0]}, "(1, 4) with 2 scores and 1 labels"),
    ({"boxes": [[1, 2, 3, 4]], "scores": [0.5], "labels": [3]}, "the label 3.0, but 3 labels"),
    ([[1, 2, 3, 4, 0.5]], "an array of shape (1, 5)"),
]


@pytest.mark.parametrize(("returned", "message"), WRONG_DETECTORS)
def test_a_trial_refuses_detectors_of_other_forms(
    videos: tuple[Path, Path, list[Frame]], returned: Any, message: str
) -> None:
    declaration = videos[1].with_name("detector.py.toml")
    with pytest.raises(UserError) as refused:
        windtunnel.load_model(Returns(returned), declaration)
    assert message in str(refused.value)


def test_detectors_declare_labels_and_do_not_crop(tmp_path: Path) -> None:
    for declared, message in (
        ('task = "detection"\n[geometry]\nrule = "none"', "declare labels"),
        ('task = "detection"\nlabels = ["cat"]\npreset = "imagenet"', "crops"),
    ):
        (tmp_path / "it.toml").write_text(declared)
        with pytest.raises(UserError, match=message):
            windtunnel.load_model(Returns([]), tmp_path / "it.toml")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("k=4, anchor=never", "anchor is 'never'; give included or excluded"),
        ("k=-1", "k is '-1'; give a whole number from 0"),
        ("iuo=0.5", "Did you mean iou?"),
        ("k=2 anchors=apart", "k is '2 anchors=apart'"),
        ("k=5", 'give a smaller k, such as frame_sets="k=4"'),
        ("anchors=none.txt", "which is no file"),
    ],
)
def test_wrong_choices_are_refused(
    videos: tuple[Path, Path, list[Frame]], written: str, message: str
) -> None:
    file, detector, _ = videos
    with pytest.raises(UserError) as refused:
        windtunnel.plan(f"{detector}:dicts", file, "pm-k", frame_sets=written)
    assert message in str(refused.value)


def test_frame_sets_need_numbered_frames(
    videos: tuple[Path, Path, list[Frame]], tmp_path: Path, windtunnel_command: Command
) -> None:
    file, detector, _ = videos
    content = json.loads(file.read_text())
    for change, message in (
        ({"frame_index": None}, "has no frames of videos"),
        ({"frame_index": 5, "video_id": 1}, "are both frame 5 of video 1"),
    ):
        other = file.with_name("other.json")
        images = [{**image, **change} for image in content["images"]]
        other.write_text(json.dumps({**content, "images": images}))
        done = windtunnel_command("plan", f"{detector}:dicts", other, "--suite", "pm-k")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr
    done = windtunnel_command("plan", f"{detector}:dicts", file, "--suite", "coco-c", "--frame-sets", "k=1")
    assert done.returncode == 2
    assert "--frame-sets makes frame sets of annotated frames" in done.stderr


def test_a_detector_classifies_by_its_most_confident_box(tmp_path: Path) -> None:
    box = [10.0, 10.0, 20.0, 20.0]
    cat, dog, bird = ({"category": number, "bbox": box} for number in range(3))
    frames: list[Frame] = [
        ([cat], [{**cat, "score": 0.9}, {**dog, "score": 0.8}]),  # right
        ([cat], [{**cat, "score": 0.3}, {**dog, "score": 0.8}]),  # the best box is a dog
        ([cat, dog], [{**dog, "score": 0.6}]),  # right: any label
        ([bird], []),  # no box is wrong
        ([bird], [{**bird, "score": 0.2}]),  # right
        ([bird], [{**bird, "score": 0.2}]),  # right
    ]
    detector = write_detector(tmp_path, [found for _, found in frames])
    file = write_videos(tmp_path / "data", frames, 1)
    run = windtunnel.run(
        f"classify|{detector}:dicts", file, "pm-k", frame_sets="k=1, anchors=every:1", out=tmp_path / "run"
    )
    scores = {(score.metric, score.condition): score.value for score in run.scores()}
    assert scores["top1_error", "frames"] == pytest.approx(2 / 6)
    assert scores["pm_k", "pm-0"] == pytest.approx(2 / 4)  # anchors are frames 1 to 4
    assert scores["pm_k", "pm-1"] == 0
    assert run.recipe.task == "classification"
    assert windtunnel.load_model(f"clahe|{detector}:dicts").task == "detection"
    assert windtunnel.load_model(f"flip|classify|{detector}:dicts").task == "classification"
    for model, message in (
        (f"flip|{detector}:dicts", "write flip|classify|MODEL"),
        ("classify|demo", "is no detector"),
    ):
        with pytest.raises(UserError) as refused:
            windtunnel.load_model(model)
        assert message in str(refused.value)
