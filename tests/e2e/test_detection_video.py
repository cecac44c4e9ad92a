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
    frames = draw_frames(VIDEOS * LENGTH, seed=4)
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
        f"{detector}:dicts", file, "pm-k", frame_sets=written.replace("ANCHORS", str(listed)), out=tmp_path / "run"
    )
    scores = {(score.metric, score.condition): score for score in run.scores()}
    k = int(written[2])
    step = 2 if "every:2" in written else 1
    anchors = [
        (video * LENGTH, place)
        for video in range(VIDEOS)
        for place in range(k, LENGTH - k, step)
    ]
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
