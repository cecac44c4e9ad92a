"""`windtunnel curate video`: frame sets from videos, exported and scored by pm-k."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import colour_weights, write_colour_model
from tests.video_clips import numbered_frames, turn, write_bad_videos, write_clip, write_h264

SIZE = 32


def table(path: Path, *rows: dict[str, object]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def curate(command: Command, *arguments: object) -> dict[str, Any]:
    """The JSON output of `curate video` in the project `p`."""
    done = command("curate", "video", "p", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def frames_of(project: Path) -> list[dict[str, Any]]:
    return pq.read_table(project / "frames" / "sets.parquet").to_pylist()


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


def csv_rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def everything(folder: Path) -> dict[str, bytes]:
    """All files of a folder except locks."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


def test_a_set_has_the_frames_and_times_of_the_video(tmp_path: Path, windtunnel_command: Command) -> None:
    written = numbered_frames(60)
    write_clip(tmp_path / "a.mkv", written)
    made = curate(windtunnel_command, "a.mkv", "--frames", 4)
    assert (made["sets"], made["frames"], made["cut_off"]) == (1, 9, 0)
    rows = frames_of(tmp_path / "p")
    assert [row["offset"] for row in rows] == list(range(-4, 5))
    for row in rows:
        assert np.array_equal(pixels(tmp_path / "p" / row["file"]), written[row["index"]])
        assert row["time"] == pytest.approx(row["index"] / 25)
        assert row["set"].endswith(f"/{rows[4]['index']:06d}")


def test_seconds_reach_to_the_nearest_presentation_time(tmp_path: Path, windtunnel_command: Command) -> None:
    rng = np.random.default_rng(3)
    milliseconds = np.cumsum(rng.integers(5, 120, 80)).tolist()
    write_clip(tmp_path / "a.mkv", numbered_frames(80), milliseconds=milliseconds)
    made = curate(windtunnel_command, "a.mkv", "--seconds", "0.5")
    assert made["videos"][0]["variable_rate"]
    rows = frames_of(tmp_path / "p")
    times = np.array(milliseconds) / 1000 - milliseconds[0] / 1000
    (anchor,) = (row["index"] for row in rows if row["offset"] == 0)
    assert rows[0]["index"] == np.abs(times - (times[anchor] - 0.5)).argmin()
    assert rows[-1]["index"] == np.abs(times - (times[anchor] + 0.5)).argmin()
    assert [row["time"] for row in rows] == pytest.approx(times[rows[0]["index"] : rows[-1]["index"] + 1])


@pytest.mark.parametrize("rate", [24, 30, 60, 120])
def test_rounded_times_are_a_constant_rate_and_a_gap_is_not(
    tmp_path: Path, windtunnel_command: Command, rate: int
) -> None:
    """Matroska has milliseconds."""
    times = [round(number * 1000 / rate) for number in range(31)]
    write_clip(tmp_path / "even.mkv", numbered_frames(30), milliseconds=times[:30])
    write_clip(tmp_path / "gap.mkv", numbered_frames(30), milliseconds=times[:20] + times[21:])
    made = curate(windtunnel_command, "even.mkv", "gap.mkv", "--frames", 2)
    found = {Path(video["path"]).stem: video["variable_rate"] for video in made["videos"]}
    assert found == {"even": False, "gap": True}


def test_rotated_frames_are_stored_upright(tmp_path: Path, windtunnel_command: Command) -> None:
    turn(write_h264(tmp_path / "a.mp4", numbered_frames(30)), "clockwise")
    (video,) = curate(windtunnel_command, "a.mp4", "--frames", 2)["videos"]
    assert (video["width"], video["height"], video["rotation"]) == (48, 64, 90)
    image = pixels(tmp_path / "p" / frames_of(tmp_path / "p")[0]["file"])
    assert image.shape == (64, 48, 3)
    # The bar is at the top of the stored frame, from its left: now at the right, from the top.
    assert image[2, -4, 0] > 150 > image[2, 4, 0]


def test_of_two_equal_videos_the_labelled_one_is_used(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "named.mkv", numbered_frames(30))
    (tmp_path / "copy.mkv").write_bytes((tmp_path / "named.mkv").read_bytes())
    labels = table(tmp_path / "labels.csv", {"video": "named.mkv", "label": "cat"})
    made = curate(windtunnel_command, "copy.mkv", "named.mkv", "--frames", 2, "--labels", labels)
    status = {Path(video["path"]).name: video["status"] for video in made["videos"]}
    assert status == {"copy.mkv": "duplicate", "named.mkv": "ok"}
    assert {tuple(row["labels"]) for row in frames_of(tmp_path / "p")} == {("cat",)}


def test_status_counts_frames_and_a_misspelt_step_is_corrected(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    curate(windtunnel_command, "a.mkv", "--frames", 2)
    status = windtunnel_command("curate", "status", "p").stdout
    assert "videos 1 (ok 1), sets 1, frames 5, cut off 0" in status and "candidates" not in status
    done = windtunnel_command("curate", "export", "p", "--step", "vidoe", "--out", "set")
    assert done.returncode == 2
    assert "Unknown step 'vidoe'. Did you mean video?" in done.stderr


def test_anchors_keep_their_distance_and_stay_in_labelled_segments(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(250))
    labels = table(
        tmp_path / "labels.csv",
        {"video": "a.mkv", "start": 1, "end": 4, "label": "cat"},
        {"video": "a.mkv", "start": "0:06", "end": "0:09", "label": "dog"},
    )
    options = ("--labels", labels, "--anchors", 4, "--gap", "1s", "--frames", 3)
    curate(windtunnel_command, "a.mkv", *options)
    rows = frames_of(tmp_path / "p")
    anchors = [row for row in rows if not row["offset"]]
    assert len(anchors) == 4
    assert all(b["time"] - a["time"] >= 1 for a, b in pairwise(anchors))
    for row in rows:
        label = "cat" if 1 <= row["time"] < 4 else "dog" if 6 <= row["time"] < 9 else None
        assert row["labels"] == [label]
        assert row["label_status"] == ("propagated" if row["offset"] else "weak")


def test_labels_of_single_moments_are_propagated(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(50))
    moment = {"video": "a", "start": 0.81, "end": "", "label": "cat", "x1": 4, "y1": 5, "x2": 20, "y2": 60}
    labels = table(tmp_path / "labels.csv", moment)
    curate(windtunnel_command, "a.mkv", "--labels", labels, "--frames", 2)
    rows = frames_of(tmp_path / "p")
    assert [row["index"] for row in rows] == [18, 19, 20, 21, 22]
    assert {row["label_status"] for row in rows if row["offset"]} == {"propagated"}
    assert all(row["labels"] == ["cat"] for row in rows)
    assert [row["boxes"] for row in rows] == ["", "", '[["cat", 4.0, 5.0, 20.0, 60.0]]', "", ""]
    assert "box_outside" in rows[2]["flags"]  # frames are 48 pixels high
    assert ["outside_segment" in row["flags"] for row in rows] == [True, True, False, True, True]


def test_repeats_and_cuts_are_flagged_and_kept(tmp_path: Path, windtunnel_command: Command) -> None:
    scene, other = numbered_frames(12), [255 - frame for frame in numbered_frames(9)]
    scene[7] = scene[6]
    labels = table(tmp_path / "labels.csv", {"video": "a.mkv", "start": 0.4, "label": "x"})
    write_clip(tmp_path / "a.mkv", [*scene, *other])
    made = curate(windtunnel_command, "a.mkv", "--labels", labels, "--frames", 10)
    flags = {row["offset"]: set(row["flags"]) - {"outside_segment"} for row in frames_of(tmp_path / "p")}
    assert made["cut_off"] == 0
    assert sorted(flags) == list(range(-10, 11))
    assert flags[-4] == {"duplicate"} and flags[-3] == set()
    assert flags[1] == set() and flags[2] == {"cut", "beyond_cut"} and flags[10] == {"beyond_cut"}


def test_sets_that_the_video_cuts_off_are_marked(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "short.mkv", numbered_frames(8))
    made = curate(windtunnel_command, "short.mkv")
    assert made["cut_off"] == 1 and made["frames"] == 8
    assert {row["cut_off"] for row in frames_of(tmp_path / "p")} == {"both"}


def test_bad_videos_are_rows_and_the_step_continues(tmp_path: Path, windtunnel_command: Command) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    expected = write_bad_videos(folder)
    write_clip(folder / "good.mkv", numbered_frames(40))
    (folder / "twin.mkv").write_bytes((folder / "good.mkv").read_bytes())
    (folder / "notes.txt").write_text("not a video by its name")
    made = curate(windtunnel_command, "videos")
    status = {Path(video["path"]).name: video["status"] for video in made["videos"]}
    assert status == expected | {"good.mkv": "ok", "twin.mkv": "duplicate"}
    assert all(video["reason"] for video in made["videos"] if video["status"] != "ok")
    used = {Path(video["path"]).name for video in made["videos"] if video["sets"]}
    assert used == {"good.mkv", "cut.mkv", "cut_frames.mp4"}


def test_sets_before_the_end_of_a_truncated_video_are_made_and_flagged(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    written = numbered_frames(60)
    whole = write_clip(tmp_path / "a.mkv", written).read_bytes()
    (tmp_path / "a.mkv").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.mkv").write_bytes(whole[: len(whole) // 10])
    rows = [{"video": name, "start": 0, "end": 3, "label": "cat"} for name in ("a.mkv", "b.mkv")]
    # The moment is after the end; the frame nearest to it must not get its label.
    table(tmp_path / "labels.csv", *rows, {"video": "a.mkv", "start": 1.5, "end": "", "label": "dog"})
    options = ("--labels", "labels.csv", "--anchors", 9, "--gap", 0, "--frames", 10, "--out", "set")
    made = curate(windtunnel_command, "a.mkv", "b.mkv", *options)
    first, second = made["videos"]
    assert (first["status"], second["status"], second["sets"]) == ("truncated", "truncated", 0)
    assert 20 < first["frames"] < 40 and "missing at the end of the file" in first["reason"]
    assert 1 <= first["sets"] == made["sets"] <= first["frames"] - 10
    for row in frames_of(tmp_path / "p"):
        assert "truncated_video" in row["flags"] and row["index"] < first["frames"]
        assert row["cut_off"] in ("", "start") and row["labels"] == ["cat"]
        assert np.array_equal(pixels(tmp_path / "p" / row["file"]), written[row["index"]])
    assert "truncated_video" in (tmp_path / "set" / "datasheet.html").read_text()


def test_names_of_videos_do_not_become_paths(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "..  $(touch x) é.mkv", numbered_frames(30))
    table(tmp_path / "labels.csv", {"video": "..  $(touch x) é.mkv", "label": "../../up"})
    made = curate(windtunnel_command, "..  $(touch x) é.mkv", "--labels", "labels.csv", "--out", "set")
    assert made["videos"][0]["name"].startswith("touch_x-")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".mkv") == [
        *("labels.csv", "p", "set")
    ]


def test_the_same_command_changes_nothing_and_workers_do_not_matter(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    for name in "abc":
        write_clip(tmp_path / f"{name}.mkv", numbered_frames(40 + ord(name)))
    videos = ("a.mkv", "b.mkv", "c.mkv")
    first = curate(windtunnel_command, *videos, "--workers", 1)
    files = everything(tmp_path / "p")
    again = curate(windtunnel_command, *videos, "--workers", 1)
    assert again["unchanged"] == 3 and again | {"unchanged": 0} == first
    assert everything(tmp_path / "p") == files
    (tmp_path / "p").rename(tmp_path / "before")
    curate(windtunnel_command, "a.mkv", "--workers", 1)
    curate(windtunnel_command, *videos, "--workers", 2)
    assert everything(tmp_path / "p") == files
    other = curate(windtunnel_command, *videos, "--seed", 5)
    assert other["unchanged"] == 0 and everything(tmp_path / "p") != files


def test_a_killed_command_continues_with_the_same_result(tmp_path: Path, windtunnel_command: Command) -> None:
    for number in range(6):
        write_clip(tmp_path / f"{number}.mkv", numbered_frames(60 + number, 640, 480))
    videos = [f"{number}.mkv" for number in range(6)]
    curate(windtunnel_command, *videos, "--workers", 1)
    whole = everything(tmp_path / "p")
    (tmp_path / "p").rename(tmp_path / "before")
    command = [sys.executable, "-m", "windtunnel", "curate", "video", "p", *videos, "--workers", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = tmp_path / "p" / "frames" / "videos"
    deadline = time.monotonic() + 60
    while len(list(parts.glob("*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "p" / "steps").exists()
    status = json.loads(windtunnel_command("curate", "status", "p", "--json").stdout)
    assert (status["unfinished"], status["next"]) == (["video"], "windtunnel curate video p VIDEO")
    assert 2 <= curate(windtunnel_command, *videos, "--workers", 1)["unchanged"] < 6
    assert everything(tmp_path / "p") == whole


def test_a_command_that_stops_while_videos_are_hashed_leaves_no_unfinished_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windtunnel.curate import video
    from windtunnel.curate.anchor_sampling import Sampling
    from windtunnel.curate.project import Project

    def stopped(path: Path) -> str:
        raise KeyboardInterrupt

    write_clip(tmp_path / "a.mkv", numbered_frames(5))
    monkeypatch.setattr(video, "file_digest", stopped)
    with pytest.raises(KeyboardInterrupt):
        video.make_frame_sets(Project(tmp_path / "p"), [tmp_path / "a.mkv"], Sampling())
    assert Project(tmp_path / "p").unfinished() == []


def test_frame_sets_of_an_unfinished_command_are_not_exported(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    table(tmp_path / "labels.csv", {"video": "a.mkv", "label": "cat"})
    arguments = "a.mkv", "--labels", "labels.csv", "--frames", 1
    curate(windtunnel_command, *arguments)
    (tmp_path / "p" / "started").mkdir(exist_ok=True)
    (tmp_path / "p" / "started" / "video").touch()  # as a killed command leaves it
    export = "curate", "export", "p", "--out", "set"
    for command in (export, (*export, "--step", "video"), ("review", "create", "p", "t", "--kind", "pairs")):
        done = windtunnel_command(*command)
        assert done.returncode == 2, command
        assert "windtunnel curate video was started" in done.stderr
    curate(windtunnel_command, *arguments)
    assert windtunnel_command(*export).returncode == 0


# Export


def colour_videos(folder: Path, count: int = 12) -> dict[str, np.ndarray]:
    """Videos of plain frames of random colours, some of them changing; returns the colours of each."""
    rng = np.random.default_rng(7)
    colours = {}
    for number in range(count):
        shades = np.tile(rng.integers(0, 256, 3), (21, 1))
        changing = rng.random(21) < 0.1
        shades[changing] = rng.integers(0, 256, (int(changing.sum()), 3))
        frames = [np.full((SIZE, SIZE, 3), shade, np.uint8) for shade in shades]
        write_clip(folder / f"v{number}.mkv", frames)
        colours[f"v{number}"] = shades
    return colours


def predicted(shades: np.ndarray, classes: int) -> np.ndarray:
    """What the model of mean colours predicts, whose preprocessing only divides by 255."""
    return (shades / 255.0 @ colour_weights(classes, 3)).argmax(axis=1)


@pytest.fixture
def exported(tmp_path: Path, windtunnel_command: Command) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """The set `set` of twelve videos with their anchors at frame 10; the colours and the label of each."""
    colours = colour_videos(tmp_path)
    labels = {name: int(predicted(shades, 4)[0]) for name, shades in colours.items()}
    rows = [{"video": name, "start": 0.4, "label": label} for name, label in labels.items()]
    table(tmp_path / "labels.csv", *rows)
    videos = [f"{name}.mkv" for name in colours]
    made = curate(windtunnel_command, *videos, "--labels", "labels.csv", "--out", "set")
    assert not made["export"]["reviewed"]
    assert (made["export"]["sets"], made["export"]["frames"]) == (12, 240)
    return colours, labels


def scores_of(folder: Path, windtunnel_command: Command, name: str) -> dict[str, float]:
    """pm-k by its name, after a run through the command line."""
    model = write_colour_model(folder / "m.onnx", classes=4, side=SIZE)
    (folder / "m.onnx.toml").write_text(
        f'[geometry]\nrule = "exact"\ncrop_px = {SIZE}\n[tensor]\nmean = [0, 0, 0]\nstd = [1, 1, 1]\n'
    )
    done = windtunnel_command("run", model, name, "--labels-are-outputs", "--out", f"run-{name}")
    assert done.returncode == 0, done.stderr
    run = windtunnel.load_run(folder / f"run-{name}")
    return {score.condition: score.value for score in run.scores() if score.metric == "pm_k"}


def test_an_export_is_read_back_and_scored_by_pm_k(
    tmp_path: Path,
    windtunnel_command: Command,
    exported: tuple[dict[str, np.ndarray], dict[str, int]],
) -> None:
    colours, labels = exported
    right = {name: predicted(shades, 4) == labels[name] for name, shades in colours.items()}
    expected = {
        f"pm-{k}": np.mean([hits[10 - k : 11 + k].all() for hits in right.values()]) for k in range(11)
    }
    assert 0 < expected["pm-10"] < expected["pm-0"]
    assert scores_of(tmp_path, windtunnel_command, "set") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (({"judged_labels": "other"},), "judges the label 'other', but the frame has '"),
        (({"judged_labels": "other"}, {"reviewer": "ben"}), "row 1 judges the label 'other', but"),
        # The labels of a set that were corrected do not permit any others.
        (
            ({"judged_labels": "other"}, {"reviewer": "ben", "labels": "corrected"}),
            "judges the label 'other'",
        ),
        (({"reviewer": ""}, {"reviewer": ""}), "row 1 has no reviewer, but the same item has 2 verdicts"),
        (({"reviewer": ""}, {}), "row 1 has no reviewer"),
        (({}, {"reviewer": ""}), "row 2 has no reviewer"),
    ],
)
def test_verdicts_on_other_labels_or_of_nobody_are_refused(
    tmp_path: Path,
    windtunnel_command: Command,
    exported: tuple[dict[str, np.ndarray], dict[str, int]],
    changes: tuple[dict[str, str], ...],
    message: str,
) -> None:
    frame = next(row for row in frames_of(tmp_path / "p") if not row["offset"])
    row = {"set": frame["set"], "frame": frame["index"], "verdict": "accept", "reviewer": "ann"}
    empty = {"labels": "", "judged_labels": ""}
    table(tmp_path / "verdicts.csv", *({**row, **empty, **change} for change in changes))
    export = "curate", "export", "p", "--step", "video", "--out", "reviewed", "--reviewed", "verdicts.csv"
    done = windtunnel_command(*export)
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "reviewed").exists()


def test_verdicts_on_the_labels_of_now_or_on_corrected_ones_count(
    tmp_path: Path,
    windtunnel_command: Command,
    exported: tuple[dict[str, np.ndarray], dict[str, int]],
) -> None:
    """Of each reviewer the last row counts: an earlier one may have judged other labels."""
    anchor = next(row for row in frames_of(tmp_path / "p") if not row["offset"])
    row = {"set": anchor["set"], "verdict": "accept", "labels": "", "reviewer": "ann"}
    now = ";".join(anchor["labels"])
    table(
        tmp_path / "verdicts.csv",
        {**row, "frame": anchor["index"], "judged_labels": "older"},
        {**row, "frame": anchor["index"], "judged_labels": now, "labels": "corrected"},
        {**row, "frame": anchor["index"] + 1, "judged_labels": now},
        {**row, "frame": anchor["index"] - 1, "judged_labels": "corrected"},
    )
    export = "curate", "export", "p", "--step", "video", "--out", "reviewed", "--reviewed", "verdicts.csv"
    done = windtunnel_command(*export, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcomes"]["exported"] == 3


def test_a_reviewed_export_has_only_what_most_reviewers_accept(
    tmp_path: Path,
    windtunnel_command: Command,
    exported: tuple[dict[str, np.ndarray], dict[str, int]],
) -> None:
    colours, labels = exported
    sets = sorted({row["set"] for row in frames_of(tmp_path / "p")})
    rejected_set, _unseen_set, split_set, *others = sets
    rows: list[dict[str, object]] = [
        {"set": rejected_set, "frame": 10, "verdict": "reject", "reviewer": "ann"},
        {"set": rejected_set, "frame": 11, "verdict": "accept", "reviewer": "ann"},
        # Half of the votes are no majority; unsure is a vote; a later vote replaces an earlier one.
        {"set": split_set, "frame": 9, "verdict": "accept", "reviewer": "ann"},
        {"set": split_set, "frame": 9, "verdict": "unsure", "reviewer": "ben", "note": "blurred"},
        {"set": split_set, "frame": 11, "verdict": "reject", "reviewer": "ann"},
        {"set": split_set, "frame": 11, "verdict": "accept", "reviewer": "ann"},
    ]
    rows += [
        {"set": name, "frame": frame, "verdict": "accept", "reviewer": "ann"}
        for name in others
        for frame in range(21)
        if frame not in (0, 10)
    ]
    table(tmp_path / "verdicts.csv", *rows)
    done = windtunnel_command(
        "curate",
        "export",
        "p",
        "--step",
        "video",
        "--out",
        "reviewed",
        "--reviewed",
        "verdicts.csv",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["reviewed"]
    assert made["outcomes"] == {
        "exported": 12 * 21 - 21 - 21 - 1 - 18 - len(others),
        "anchor_rejected": 21,
        "set_not_reviewed": 21,
        "no_majority": 1,
        "not_reviewed": 18 + len(others),
    }
    root = tmp_path / "reviewed"
    pmsets = json.loads((root / "metadata" / "pmsets.json").read_text())
    assert {len(near) for near in pmsets.values()} == {1, 19} and len(pmsets) == 10
    files = sorted(path.relative_to(root).as_posix() for path in (root / "val").rglob("*.png"))
    assert files == sorted({key for anchor, near in pmsets.items() for key in (anchor, *near)})
    manifest = csv_rows(root / "manifest.csv")
    assert len(manifest) == 12 * 21
    left_out = {row["label_status"] for row in manifest if row["outcome"] != "exported"}
    assert {row["label_status"] for row in manifest if row["outcome"] == "exported"} == {"confirmed"}
    assert left_out == {"weak", "propagated"}
    assert {row["votes"] for row in manifest if row["outcome"] == "no_majority"} == {
        "ann: accept; ben: unsure"
    }
    assert {row["review_notes"] for row in manifest} == {"", "ben: blurred"}
    assert {row["verdict"] for row in manifest if row["outcome"] == "no_majority"} == {"no_majority"}
    assert {row["verdict"] for row in manifest if row["outcome"] == "not_reviewed"} == {""}
    # Both versions list the same candidates, and give classes the same numbers.
    decided = ("outcome", "file", "label_status", "verdict", "votes", "review_notes")
    facts, plain = (
        [{key: value for key, value in row.items() if key not in decided} for row in rows]
        for rows in (manifest, csv_rows(tmp_path / "set" / "manifest.csv"))
    )
    assert facts == plain
    every, accepted = (
        json.loads((tmp_path / name / "metadata" / "labels.json").read_text()) for name in ("set", "reviewed")
    )
    assert accepted.items() < every.items()
    right = {name: predicted(shades, 4) == labels[name] for name, shades in colours.items()}
    kept = {name.split("-")[0]: name for name in [split_set, *others]}
    judged = [
        right[name][[10, 11]].all() if whole == split_set else right[name][1:].all()
        for name, whole in kept.items()
    ]
    scores = scores_of(tmp_path, windtunnel_command, "reviewed")
    assert scores["pm-0"] == pytest.approx(np.mean([right[name][10] for name in kept]))
    assert scores["pm-10"] == pytest.approx(np.mean(judged))


def test_an_export_is_a_product_with_origins_and_checksums(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    for number, name in enumerate(("a", "b", "c<i>")):
        write_clip(tmp_path / f"{name}.mkv", numbered_frames(30 + number))
    (tmp_path / "d.mkv").write_text("no video")
    labels = table(
        tmp_path / "labels.csv",
        {"video": "a.mkv", "label": "cat", "licence": "CC0", "source": "<b>zoo"},
        {"video": "a.mkv", "start": 0, "end": 1, "label": "cat", "licence": ""},
        {"video": "b.mkv", "label": "dog", "license": "CC-BY-4.0"},
        {"video": "c<i>.mkv", "label": "dog"},
        {"video": "d.mkv", "label": "dog"},
    )
    videos = ("a.mkv", "b.mkv", "c<i>.mkv", "d.mkv", "--labels", labels, "--source", "roof camera")
    curate(windtunnel_command, *videos, "--licence", "wrong", "--frames", 2)
    again = curate(windtunnel_command, *videos, "--licence", "own", "--frames", 2, "--out", "set")
    assert again["unchanged"] == 4  # another licence does not decode again
    root = tmp_path / "set"
    origins = {"a.mkv": ("CC0", "<b>zoo"), "b.mkv": ("CC-BY-4.0", "roof camera")}
    origins |= dict.fromkeys(("c<i>.mkv", "d.mkv"), ("own", "roof camera"))
    videos_listed = csv_rows(root / "videos.csv")
    assert {row["file"]: (row["licence"], row["source"]) for row in videos_listed} == origins
    assert {row["file"]: row["status"] for row in videos_listed if row["reason"]} == {"d.mkv": "unreadable"}
    rows = csv_rows(root / "manifest.csv")
    assert len(rows) == 3 * 5
    assert all((row["licence"], row["source"]) == origins[row["video_file"]] for row in rows)
    assert [row["time"] for row in pq.read_table(root / "manifest.parquet").to_pylist()] == [
        float(row["time"]) for row in rows
    ]
    check_sums(root)
    page = (root / "datasheet.html").read_text()
    for text in (
        "CC-BY-4.0",
        "roof camera",
        "Without review",
        "up to 1 anchor, 2 frames on each side, seed 0",
    ):
        assert text in page
    assert "&lt;b&gt;zoo" in page and "<b>zoo" not in page
    shown = json.loads(windtunnel_command("curate", "status", "p", "--json").stdout)
    assert shown["steps"]["export-p-frames-unreviewed"]["sets"] == 3
    table(
        tmp_path / "two.csv",
        {"video": "a.mkv", "label": "cat", "licence": "CC0"},
        {"video": "a.mkv", "label": "cat", "licence": "CC-BY-4.0"},
    )
    done = windtunnel_command("curate", "video", "p", "a.mkv", "--labels", "two.csv")
    assert done.returncode == 2
    assert "row 2 gives a.mkv the licence 'CC-BY-4.0', another row 'CC0'" in done.stderr


def check_sums(folder: Path) -> None:
    """Every file of a set has a checksum, and it is right."""
    checked = subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=folder)
    assert checked.returncode == 0
    named = {line.split("  ", 1)[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert named | {"SHA256SUMS"} == set(everything(folder))


def test_reviewers_may_correct_the_labels_of_a_set(tmp_path: Path, windtunnel_command: Command) -> None:
    for number, name in enumerate("ab"):
        write_clip(tmp_path / f"{name}.mkv", numbered_frames(30 + number))
    table(tmp_path / "labels.csv", {"video": "a.mkv", "label": "cat"}, {"video": "b.mkv", "label": "dog"})
    curate(windtunnel_command, "a.mkv", "b.mkv", "--labels", "labels.csv", "--frames", 1)
    rows = [
        {"set": row["set"], "frame": row["index"], "verdict": "accept", "labels": ""}
        for row in frames_of(tmp_path / "p")
    ]
    rows[1]["labels"] = "dog;bird"
    table(tmp_path / "verdicts.csv", *rows)
    done = windtunnel_command("curate", "export", "p", "--out", "set", "--reviewed", "verdicts.csv")
    assert done.returncode == 0, done.stderr
    names = json.loads((tmp_path / "set" / "misc" / "class_index.json").read_text())
    labels = json.loads((tmp_path / "set" / "metadata" / "labels.json").read_text())
    assert {(key.split("/")[1][0], *(names[str(place)] for place in labels[key])) for key in labels} == {
        ("a", "dog", "bird"),
        ("b", "dog"),
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Rows of an anchor: reviewer, verdict, labels.
        ([("ann", "accept", "dog")], {"dog"}),
        (
            [("ann", "accept", "cat"), ("ben", "accept", "cat;dog"), ("cy", "accept", "cat;dog")],
            {"cat", "dog"},
        ),
        ([("ann", "accept", ""), ("ben", "accept", ""), ("cy", "accept", "dog")], {"cat"}),
        ([("ann", "accept", ""), ("ben", "accept", ""), ("cy", "reject", "dog")], {"cat"}),
        ([("ann", "accept", "dog"), ("ben", "accept", "bird")], {"cat"}),
        ([("ann", "accept", "dog"), ("ann", "accept", "bird")], {"bird"}),
    ],
)
def test_labels_of_a_set_are_those_of_most_reviewers_who_accept_its_anchor(
    tmp_path: Path, windtunnel_command: Command, given: list[tuple[str, str, str]], expected: set[str]
) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    table(tmp_path / "labels.csv", {"video": "a.mkv", "label": "cat"})
    curate(windtunnel_command, "a.mkv", "--labels", "labels.csv", "--frames", 1)
    before, anchor, after = frames_of(tmp_path / "p")
    rows = [
        {
            "set": anchor["set"],
            "frame": anchor["index"],
            "reviewer": name,
            "verdict": verdict,
            "labels": names,
        }
        for name, verdict, names in given
    ]
    for row, verdict in ((before, "accept"), (after, "reject")):  # labels of other frames do not count
        rows.append(
            {
                "set": row["set"],
                "frame": row["index"],
                "reviewer": "zoe",
                "verdict": verdict,
                "labels": "person",
            }
        )
    table(tmp_path / "verdicts.csv", *rows)
    done = windtunnel_command("curate", "export", "p", "--out", "set", "--reviewed", "verdicts.csv")
    assert done.returncode == 0, done.stderr
    exported = [row for row in csv_rows(tmp_path / "set" / "manifest.csv") if row["outcome"] == "exported"]
    assert [set(row["labels"].split(";")) for row in exported] == [expected] * 2


def test_a_frame_of_two_sets_has_the_labels_of_both(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(7))
    table(tmp_path / "labels.csv", {"video": "a.mkv", "label": "cat"})
    curate(windtunnel_command, "a.mkv", "--labels", "labels.csv", "--frames", 2, "--anchors", 2, "--gap", 0)
    frames = frames_of(tmp_path / "p")
    first, second = sorted({row["set"] for row in frames})
    shared = {row["index"] for row in frames if row["set"] == first} & {
        row["index"] for row in frames if row["set"] == second
    }
    assert shared
    given = {first: "cat;dog", second: "cat;bird"}
    rows = [
        {"set": row["set"], "frame": row["index"], "verdict": "accept", "labels": given[row["set"]]}
        for row in frames
    ]
    table(tmp_path / "verdicts.csv", *rows)
    done = windtunnel_command("curate", "export", "p", "--out", "set", "--reviewed", "verdicts.csv")
    assert done.returncode == 0, done.stderr
    names = json.loads((tmp_path / "set" / "misc" / "class_index.json").read_text())
    stored = json.loads((tmp_path / "set" / "metadata" / "labels.json").read_text())
    labels = {int(Path(key).stem): {names[str(place)] for place in found} for key, found in stored.items()}
    assert {index for index, found in labels.items() if found == {"cat", "dog", "bird"}} == shared
    for row in csv_rows(tmp_path / "set" / "manifest.csv"):
        assert set(row["labels"].split(";")) == labels[int(row["index"])]


def test_boxes_are_exported_as_coco_reads_them(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(50))
    box = {"x1": 4, "y1": 5, "x2": 20.5, "y2": 30}
    table(
        tmp_path / "labels.csv",
        {"video": "a.mkv", "start": 0.8, "label": "dog", **box},
        {"video": "a.mkv", "start": 0.8, "label": "cat", "x1": 0, "y1": 0, "x2": 64, "y2": 48},
        {"video": "a.mkv", "start": 0.84, "label": "cat;dog"},
        {"video": "a.mkv", "start": 0.88, "label": "dog", **box},
    )
    curate(windtunnel_command, "a.mkv", "--labels", "labels.csv", "--frames", 2, "--out", "set")
    coco = json.loads((tmp_path / "set" / "metadata" / "boxes.json").read_text())
    keys = json.loads((tmp_path / "set" / "metadata" / "labels.json").read_text())
    images = coco["images"]
    # Only frames for which the table has boxes: an object does not stay where it was.
    assert [image["frame_index"] for image in images] == [20, 22]
    assert {image["file_name"] for image in images} < set(keys)
    assert {(image["width"], image["height"]) for image in images} == {(64, 48)}
    names = {category["id"]: category["name"] for category in coco["categories"]}
    first = [row for row in coco["annotations"] if row["image_id"] == images[0]["id"]]
    assert len({row["id"] for row in coco["annotations"]}) == 3
    assert {names[row["category_id"]]: row["bbox"] for row in first} == {
        "cat": [0, 0, 64, 48],
        "dog": [4, 5, 16.5, 25],
    }
    assert {row["area"] for row in first} == {64 * 48, 16.5 * 25}
    check_sums(tmp_path / "set")


def test_a_killed_export_continues_with_the_same_bytes(
    tmp_path: Path, windtunnel_command: Command, exported: object
) -> None:
    """Also a damaged file is repaired, and another recipe is refused."""
    whole = everything(tmp_path / "set")
    check_sums(tmp_path / "set")
    arguments = ["curate", "export", "p", "--out", "killed"]  # the project has only frame sets
    killed = tmp_path / "killed"
    for frames in (0, 60, 200):
        process = subprocess.Popen(
            [sys.executable, "-m", "windtunnel", *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if killed.is_dir() and len(list(killed.glob("val/*/*.png"))) >= frames:
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait() == -signal.SIGKILL
        assert not (killed / "SHA256SUMS").exists()
    next(killed.glob("val/*/*.png")).write_bytes(b"half")
    assert windtunnel_command(*arguments).returncode == 0
    assert everything(killed) == whole
    assert windtunnel_command(*arguments).returncode == 0
    assert everything(killed) == whole
    done = windtunnel_command(*arguments, "--title", "Other")
    assert done.returncode == 2 and "contains a set with other options" in done.stderr


REFUSALS: list[tuple[list[object], str]] = [
    (["missing.mkv"], "No such video: missing.mkv"),
    (["empty"], "empty contains no video"),
    (["a.mkv", "--frames", 3, "--seconds", "1s"], "--frames and --seconds exclude each other"),
    (["a.mkv", "--gap", "soon"], "--gap is soon; give a length of time"),
    (["a.mkv", "--seconds", "-1"], "--seconds is -1"),
    (["a.mkv", "--reviewed", "v.csv"], "--reviewed is given without --out"),
    (["a.mkv", "--labels", "missing.csv"], "No such table: missing.csv"),
    (["a.mkv", "--labels", "columns.csv"], "it needs the columns video and label"),
    (["a.mkv", "--labels", "header.csv"], "header.csv has a header and no rows"),
    (["a.mkv", "--labels", "others.csv"], "but none of the given videos (a.mkv)"),
    (["a.mkv", "--labels", "times.csv"], "row 1 has the start 'noon'; give seconds"),
    (["a.mkv", "--labels", "backwards.csv"], "ends at 1 s, before its start"),
    (["a.mkv", "--labels", "box.csv"], "with x1 < x2 and y1 < y2"),
    (["a.mkv", "--labels", "nothing.csv"], "has no label"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSALS)
def test_wrong_input_is_one_line_before_any_work(
    tmp_path: Path, windtunnel_command: Command, arguments: list[object], message: str
) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(5))
    (tmp_path / "empty").mkdir()
    table(tmp_path / "columns.csv", {"file": "a.mkv", "label": "x"})
    (tmp_path / "header.csv").write_text("video,start,end,label\n")
    table(tmp_path / "others.csv", {"video": "b.mkv", "label": "x"})
    table(tmp_path / "times.csv", {"video": "a.mkv", "start": "noon", "label": "x"})
    table(tmp_path / "backwards.csv", {"video": "a.mkv", "start": 2, "end": 1, "label": "x"})
    table(tmp_path / "box.csv", {"video": "a.mkv", "label": "x", "x1": 9, "y1": 0, "x2": 3, "y2": 4})
    table(tmp_path / "nothing.csv", {"video": "a.mkv", "label": ""})
    done = windtunnel_command("curate", "video", "p", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "p").exists()


def test_sets_without_labels_are_made_but_not_exported(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    done = windtunnel_command("curate", "video", "p", "a.mkv", "--out", "set")
    assert done.returncode == 2
    assert "without a label" in done.stderr and "with --labels" in done.stderr
    assert not (tmp_path / "set").exists() and len(frames_of(tmp_path / "p")) == 21


def test_a_video_that_the_table_leaves_out_is_a_row(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    write_clip(tmp_path / "b.mkv", numbered_frames(31))
    labels = table(tmp_path / "labels.csv", {"video": "a.mkv", "label": "x"})
    made = curate(windtunnel_command, "a.mkv", "b.mkv", "--labels", labels)
    status = {video["path"]: (video["status"], video["reason"]) for video in made["videos"]}
    assert status["a.mkv"] == ("ok", "") and status["b.mkv"] == ("unlabelled", "the table has no row for it")
