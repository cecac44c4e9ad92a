"""Runs over frames of videos: pm-k from files to scores, comparisons and reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binomtest

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.multi_run import several
from windtunnel.core.scores import Score
from windtunnel.report.sections.confusions import confusion_tables
from windtunnel.report.sections.notes import run_notes

CLASSES = 30
STEP = 8


def reads_colour(batch: np.ndarray) -> np.ndarray:
    """Thirty outputs: how red an image is says which class it is."""
    red = batch[..., 0].mean(axis=(1, 2))[:, None]
    return -np.abs(red - (STEP * np.arange(CLASSES) + STEP / 2)) / STEP


def fails_on_class_29(batch: np.ndarray) -> np.ndarray:
    """The same, which cannot answer for the reddest images."""
    scores = reads_colour(batch)
    if (scores.argmax(axis=1) == CLASSES - 1).any():
        raise ValueError("too red")
    return scores


Video = dict[int, int]


def write_video(root: Path, name: str, shown: Video) -> None:
    """Frames by number, each in the colour of the class that the model will say."""
    (root / name).mkdir(parents=True)
    for number, said in shown.items():
        colour = (STEP * said + STEP // 2, 60, 60)
        Image.new("RGB", (48, 40), colour).save(root / name / f"{number:06}.JPEG", quality=98)


def write_sets(root: Path, sets: dict[str, list[str]], labels: dict[str, list[int]]) -> Path:
    (root / "metadata").mkdir(parents=True, exist_ok=True)
    (root / "metadata" / "pmsets.json").write_text(json.dumps(sets))
    (root / "metadata" / "labels.json").write_text(json.dumps(labels))
    return root


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, dict, dict]:
    """Forty videos; some have two anchors whose frames overlap, some anchors have no frame beside them."""
    root = tmp_path_factory.mktemp("frames") / "imagenet-vid-robust"
    rng = np.random.default_rng(0)
    sets: dict[str, list[str]] = {}
    labels: dict[str, list[int]] = {}
    said: dict[str, int] = {}
    for video in range(40):
        label = int(rng.integers(0, CLASSES - 1))
        shown = {
            number: label if rng.random() < 0.85 else int(rng.integers(0, CLASSES - 1))
            for number in range(100, 120)
        }
        name = f"val/video_{video:02}"
        write_video(root, name, shown)
        keys = {number: f"{name}/{number:06}.JPEG" for number in shown}
        said |= {keys[number]: one for number, one in shown.items()}
        for anchor in (107, 112) if video % 4 == 0 else (109,):
            near = [one for one in shown if one != anchor and abs(one - anchor) <= 7 and rng.random() < 0.8]
            sets[keys[anchor]] = [] if video % 10 == 3 else [keys[one] for one in near]
        for key in keys.values():
            # Some frames show a second thing too, which is as right.
            labels[key] = [label] if rng.random() < 0.9 else [label, int(said[key])]
    return write_sets(root, sets, labels), sets, labels, said


@pytest.fixture(scope="module")
def run(drawn: tuple[Path, dict, dict, dict], tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    return windtunnel.run(reads_colour, drawn[0], out=tmp_path_factory.mktemp("runs") / "run")


def by_name(scores: list[Score]) -> dict[tuple[str, str], Score]:
    return {(one.metric, one.condition): one for one in scores}


def offset(frame: str, anchor: str) -> int:
    return int(Path(frame).stem) - int(Path(anchor).stem)


def test_pm_k_from_files_is_its_definition(run: windtunnel.Run, drawn: tuple[Path, dict, dict, dict]) -> None:
    _, sets, labels, said = drawn
    right = {key: said[key] in labels[key] for key in said}
    scores = by_name(run.scores())
    # The farthest frame of any set decides the largest k.
    ks = range(8)
    assert [condition for metric, condition in scores if metric == "pm_k"] == [f"pm-{k}" for k in ks]
    for k in ks:
        near = {a: [right[f] for f in frames if abs(offset(f, a)) <= k] for a, frames in sets.items()}
        wanted = np.mean([right[anchor] and all(found) for anchor, found in near.items()])
        found = scores["pm_k", f"pm-{k}"]
        assert found.value == pytest.approx(wanted) and found.n == len(sets)
        assert found.low < wanted < found.high
        if k:
            excluded = np.mean([all(found) for found in near.values()])
            assert scores["pm_k_anchor_excluded", f"pm-{k}"].value == pytest.approx(excluded)
            drop = scores["pm_drop", f"pm-{k}"]
            assert drop.value == pytest.approx(np.mean([right[a] for a in sets]) - wanted)
            assert drop.low <= drop.value <= drop.high


def test_means_over_frames_both_ways(run: windtunnel.Run, drawn: tuple[Path, dict, dict, dict]) -> None:
    _, sets, labels, said = drawn
    each = [[said[f] in labels[f] for f in (anchor, *frames)] for anchor, frames in sets.items()]
    scores = by_name(run.scores())
    assert scores["frame_accuracy", ""].value == pytest.approx(np.mean([np.mean(one) for one in each]))
    pooled = scores["frame_accuracy_pooled", ""]
    assert pooled.value == pytest.approx(np.mean([right for one in each for right in one]))
    assert f"{sum(map(len, each)):,} frames" in pooled.formula


def test_error_by_offset_given_a_right_anchor_and_of_all(
    run: windtunnel.Run, drawn: tuple[Path, dict, dict, dict]
) -> None:
    _, sets, labels, said = drawn
    right = {key: said[key] in labels[key] for key in said}
    scores = by_name(run.scores())
    for shift in (-7, -1, 3):
        at = [(right[a], right[f]) for a, frames in sets.items() for f in frames if offset(f, a) == shift]
        every, given = [f for _, f in at], [f for a, f in at if a]
        found = scores["offset_error_all", f"{shift:+d}"]
        assert (found.value, found.n) == (pytest.approx(1 - np.mean(every)), len(every))
        found = scores["offset_error", f"{shift:+d}"]
        assert (found.value, found.n) == (pytest.approx(1 - np.mean(given)), len(given))
    zero = scores["offset_error_all", "0"]
    assert zero.value == pytest.approx(1 - np.mean([right[a] for a in sets]))


def test_anchors_of_one_video_stay_together(run: windtunnel.Run) -> None:
    # Ten videos of forty have two anchors each.
    grouped = by_name(run.scores())["pm_k", "pm-0"]
    assert grouped.n == 50
    alone = by_name(run.scores(group="path"))["pm_k", "pm-0"]
    assert (grouped.value, (grouped.low, grouped.high) != (alone.low, alone.high)) == (alone.value, True)


def test_frames_want_no_clean_images(run: windtunnel.Run) -> None:
    assert not any("No clean images" in note for note in run_notes(run.scoring))


def test_a_confusion_is_seen_in_three_videos(tmp_path: Path) -> None:
    # By video: its class, and what is said of all its frames; three frames each are nine or six in all.
    videos = {"a": (3, 9), "b": (3, 9), "c": (3, 9), "d": (5, 9), "e": (5, 9)}
    sets: dict[str, list[str]] = {}
    labels: dict[str, list[int]] = {}
    for name, (label, said) in videos.items():
        write_video(tmp_path / "frames", f"val/{name}", dict.fromkeys((100, 101, 102), said))
        keys = [f"val/{name}/{number:06}.JPEG" for number in (100, 101, 102)]
        sets[keys[1]] = [keys[0], keys[2]]
        labels |= {key: [label] for key in keys}
    root = write_sets(tmp_path / "frames", sets, labels)
    run = windtunnel.run(reads_colour, root, suite="vid-robust", out=tmp_path / "run")
    (part,) = confusion_tables(run.scoring)
    assert (part["incorrect"], part["pairs"], part["group"]) == (15, 2, "video")
    assert [(row["n"], row["images"]) for row in part["rows"]] == [(9, 9)]
    assert "at least 3 different groups of images (video)" in run.report().read_text()


def test_what_the_frames_cost_stands_beside_other_shifts(
    run: windtunnel.Run,
    drawn: tuple[Path, dict, dict, dict],
    tmp_path: Path,
    windtunnel_command: Command,
) -> None:
    _, sets, labels, said = drawn
    right = {key: said[key] in labels[key] for key in said}
    held = [right[anchor] for anchor in sets]
    worst = [all(right[one] for one in (anchor, *frames)) for anchor, frames in sets.items()]
    other = windtunnel.run(fails_on_class_29, drawn[0], out=tmp_path / "other")
    found = several(run.scoring, other.scoring)
    one = found.shifts[0]
    assert one.clean is not None and one.shifted is not None and one.drop is not None
    assert one.frames == "pm-7" and {one.clean.n, one.shifted.n, one.drop.n} == {len(sets)}
    assert one.clean.value == pytest.approx(np.mean(held))
    assert one.shifted.value == pytest.approx(np.mean(worst))
    assert one.drop.value == pytest.approx(np.mean(held) - np.mean(worst))
    text = windtunnel_command("report", run.path, other.path, "--markdown").stdout
    row = next(line for line in text.partition("Accuracy drops")[2].splitlines() if "reads" in line)
    assert f"| pm-0 {100 * np.mean(held):.1f} % [" in row and f"| pm-7 {100 * np.mean(worst):.1f} % [" in row
    assert row.endswith(f"| {len(sets)} |")
    done = windtunnel_command("report", run.path, other.path, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Frame sets: clean accuracy is pm-0" in page
    assert "Natural sets: clean and shifted images are different" not in page


def test_frames_are_judged_by_their_own_labels_or_the_anchors(tmp_path: Path) -> None:
    sets = {"val/a/000010.JPEG": ["val/a/000011.JPEG"], "val/b/000010.JPEG": []}
    labels = {"val/a/000010.JPEG": [1], "val/a/000011.JPEG": [2], "val/b/000010.JPEG": [3]}
    for name, wanted in (("vid-robust", 1.0), ("ytbb-robust", 0.5)):
        root = write_sets(tmp_path / name, sets, labels)
        write_video(root, "val/a", {10: 1, 11: 2})
        write_video(root, "val/b", {10: 3})
        model = reads_colour if name == "vid-robust" else lambda batch: reads_colour(batch)[:, :24]
        found = windtunnel.run(model, root, name, out=tmp_path / f"run-{name}")
        assert by_name(found.scores())["pm_k", "pm-1"].value == wanted
        # An anchor alone scores as its anchor.
        assert by_name(found.scores())["pm_k", "pm-0"].value == 1.0


def test_ytbb_runs_with_and_without_review_stand_beside_each_other(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """Four anchors of two YouTube ids; reviewers rejected a wrong frame and a wrong anchor."""
    root = tmp_path / "ytbb-robust"
    (root / "metadata").mkdir(parents=True)
    said = {
        "ab_c_1000": {30: 1, 31: 1, 32: 2},
        "ab_c_2000": {60: 1, 61: 1},
        "xyz_500": {15: 1, 16: 3},
        "xyz_900": {27: 5, 28: 5},
    }
    for video, shown in said.items():
        write_video(root / "ytbb_videos", video, shown)
        for number in shown:
            folder = root / "ytbb_videos" / video
            (folder / f"{number:06}.JPEG").rename(folder / f"frame-{number}.jpg")
    anchors = {"ab_c_1000": (30, 0), "ab_c_2000": (60, 0), "xyz_500": (15, 0), "xyz_900": (27, 2)}
    rows = [
        {"key": f"/home/them/{one}/frame-{at}.jpg", "labels": [word]} for one, (at, word) in anchors.items()
    ]
    pairs = {("ab_c_1000", 31): [0], ("ab_c_1000", 32): [1], ("ab_c_2000", 61): [0], ("xyz_500", 16): [0]}
    judged = [
        {"key": f"{one}/frame-{anchors[one][0]}.jpg,{one}/frame-{at}.jpg", "labels": words}
        for (one, at), words in pairs.items()
    ]
    for name, noted, words in (
        ("anchor_labels.json", rows, ["good", "unsure", "bad"]),
        ("pmk_labels.json", judged, ["similar", "dissimilar"]),
    ):
        (root / "metadata" / name).write_text(json.dumps({"annotations": noted, "labels": words}))
    lines = ["ytid,time_ms,label", *(f"{one.rpartition('_')[0]},{one.rpartition('_')[2]},1" for one in said)]
    (root / "metadata" / "x_test_anchors_full.csv").write_text("\n".join(lines))

    def outputs(batch: np.ndarray) -> np.ndarray:
        return reads_colour(batch)[:, :24]

    runs = {
        name: windtunnel.run(outputs, root, name, out=tmp_path / "runs" / name)
        for name in ("ytbb-robust", "ytbb-robust-unreviewed")
    }
    # Worked by hand: right anchors, and anchors with all their frames right.
    for name, k, wanted, review in (
        ("ytbb-robust", 1, (3 / 3, 2 / 3), "With review: reviewers accepted 3 of 4 anchors"),
        ("ytbb-robust-unreviewed", 2, (3 / 4, 1 / 4), "Without review: all 4 annotated anchors"),
    ):
        run, scores = runs[name], by_name(runs[name].scores())
        assert (scores["pm_k", "pm-0"].value, scores["pm_k", f"pm-{k}"].value) == wanted
        assert run.scoring.natural.set == name and run.info.suite == f"{name}@1"
        assert (
            run.scoring.group == "video"
            and run.scoring.groups is not None
            and run.scoring.groups.max() + 1 == 2
        )
        assert ("top1_error", name) in scores
        assert any(review in note for note in run_notes(run.scoring))
    assert len({run.scoring.digest for run in runs.values()}) == 2
    text = windtunnel_command("report", *(run.path for run in runs.values()), "--markdown").stdout
    rows_shown = [line for line in text.splitlines() if line.startswith("| outputs")]
    assert [line.split(" | ")[1] for line in rows_shown] == list(runs)
    assert "pm-0 100.0 %" in rows_shown[0] and "pm-1 66.7 %" in rows_shown[0]
    assert "pm-0 75.0 %" in rows_shown[1] and "pm-2 25.0 %" in rows_shown[1]


def test_a_set_with_a_broken_frame_leaves_whole(tmp_path: Path) -> None:
    names = "abcd"
    sets = {f"val/{one}/000010.JPEG": [f"val/{one}/000011.JPEG"] for one in names}
    labels = {f"val/{one}/0000{number}.JPEG": [5] for one in names for number in (10, 11)}
    root = write_sets(tmp_path / "vid-robust", sets, labels)
    for one in names:
        write_video(root, f"val/{one}", {10: 5, 11: 5})
    (root / "val/a/000011.JPEG").write_bytes(b"no image")
    run = windtunnel.run(reads_colour, root, "vid-robust", out=tmp_path / "run")
    found = by_name(run.scores())["pm_k", "pm-0"]
    assert found.n == 3 and "1 sets left out" in found.formula


def test_a_frame_one_model_cannot_score_leaves_both_runs(tmp_path: Path) -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    sets = {f"val/{one}/000010.JPEG": [f"val/{one}/000011.JPEG"] for one in names}
    labels = {f"val/{one}/0000{number}.JPEG": [5] for one in names for number in (10, 11)}
    root = write_sets(tmp_path / "vid-robust", sets, labels)
    for one in names:
        write_video(root, f"val/{one}", {10: 5, 11: 29 if one == "c" else 7 if one in "pq" else 5})
    old = windtunnel.run(reads_colour, root, "vid-robust", out=tmp_path / "old")
    new = windtunnel.run(fails_on_class_29, root, "vid-robust", out=tmp_path / "new")
    alone = by_name(old.scores())["pm_k", "pm-1"]
    assert (alone.n, alone.value) == (26, pytest.approx(23 / 26))
    # One anchor per video: the exact interval of so many anchors; other scores draw whole videos.
    exact = binomtest(23, 26).proportion_ci(method="exact")
    assert (alone.low, alone.high) == pytest.approx((exact.low, exact.high))
    assert any("52 images in 26 groups by video" in note for note in run_notes(old.scoring))
    found = windtunnel.compare(old, new)
    ours, theirs = found.scores["pm_k", "pm-1"]
    assert ours.n == theirs.n == 25
    assert ours.value == theirs.value == pytest.approx(23 / 25)
    assert not any(metric == "offset_error" for metric, _ in found.scores)
    assert found.headline == ("pm_k", "pm-1")
    assert windtunnel.gate(new, old).checks[0].rule == "pm-1 pm_k >= -2"
    gate = windtunnel.gate(new, old, ["pm-1 pm_k >= -1", "pm-1 pm_drop <= +1"])
    assert [check.difference for check in gate.checks] == [0, 0]


def test_the_report_and_the_command_line_show_them(run: windtunnel.Run, windtunnel_command: Command) -> None:
    page = run.report().read_text()
    assert 'id="pm_k"' in page and 'id="offsets"' in page
    assert page.count('class="timeline"') == 6 and "frame at offset +1" in page
    frames = json.loads((run.path / "scores.json").read_text())["frames"]
    assert (frames["sets"], frames["largest"], frames["left_out"]) == (50, 7, 0)
    shares = [one["wrong"] / one["of"] for one in frames["worst"]]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0
    said = windtunnel_command("score", run.path).stdout
    assert all(title in said for title in ("pm-0 ", "pm-7 ", "pm-0 minus pm-7", "frame accuracy"))


def test_a_table_of_ones_own_frames(tmp_path: Path) -> None:
    write_video(tmp_path, "clips", {1: 0, 2: 0, 3: 1, 4: 0})
    rows = [("clips/000002.JPEG", 0), ("clips/000001.JPEG", -1), ("clips/000003.JPEG", 1)]
    lines = [f"{file},{offset},first,cat" for file, offset in rows]
    lines += ["clips/000004.JPEG,0,second,dog"]
    (tmp_path / "frames.csv").write_text("\n".join(["file,offset,set,label", *lines]))

    def cats_and_dogs(batch: np.ndarray) -> np.ndarray:
        return reads_colour(batch)[:, :2]

    run = windtunnel.run(cats_and_dogs, tmp_path / "frames.csv", "pm-k", out=tmp_path / "run")
    scores = by_name(run.scores())
    assert (scores["pm_k", "pm-0"].value, scores["pm_k", "pm-1"].value) == (0.5, 0.0)


def test_pm_k_stands_only_where_there_are_frames(tmp_path: Path) -> None:
    names = "abc"
    sets = {f"val/{one}/000100.JPEG": [f"val/{one}/000{n:03}.JPEG" for n in (70, 130, 160)] for one in names}
    labels = {key: [5] for anchor, near in sets.items() for key in (anchor, *near)}
    root = write_sets(tmp_path / "vid-robust", sets, labels)
    for one in names:
        write_video(
            root, f"val/{one}", {100: 5, 70: 5, 130: 7 if one == "a" else 5, 160: 5 if one == "c" else 9}
        )
    scores = by_name(windtunnel.run(reads_colour, root, out=tmp_path / "run").scores())
    values = {condition: one.value for (metric, condition), one in scores.items() if metric == "pm_k"}
    assert values == pytest.approx({"pm-0": 1, "pm-30": 2 / 3, "pm-60": 1 / 3})
    for metric in ("pm_k_anchor_excluded", "pm_drop"):
        assert [condition for name, condition in scores if name == metric] == ["pm-30", "pm-60"]


def test_what_frames_cost_is_a_share_of_anchors(tmp_path: Path) -> None:
    names = "abcdefghijkl"
    sets = {f"val/{one}/000010.JPEG": [f"val/{one}/0000{n}.JPEG" for n in (11, 12)] for one in names}
    labels = {key: [5] for anchor, near in sets.items() for key in (anchor, *near)}
    root = write_sets(tmp_path / "vid-robust", sets, labels)
    for one in names:
        # One anchor is lost at the second frame; another was wrong from the first.
        shown = {10: 7 if one == "b" else 5, 11: 5, 12: 7 if one in "ab" else 5}
        write_video(root, f"val/{one}", shown)
    scores = by_name(windtunnel.run(reads_colour, root, out=tmp_path / "run").scores())
    for k, lost in ((1, 0), (2, 1)):
        drop = scores["pm_drop", f"pm-{k}"]
        exact = binomtest(lost, 12).proportion_ci(method="exact")
        assert (drop.value, drop.low, drop.high) == pytest.approx((lost / 12, exact.low, exact.high))
        assert drop.value == pytest.approx(scores["pm_k", "pm-0"].value - scores["pm_k", f"pm-{k}"].value)


def two_videos(root: Path, second: int = 5) -> Path:
    """Two anchors in each of two videos, with a frame beside each; the model says `second` of the second."""
    sets = {f"val/{one}/0000{n}0.JPEG": [f"val/{one}/0000{n}1.JPEG"] for one in "ab" for n in (1, 2)}
    labels = {key: [5] for anchor, near in sets.items() for key in (anchor, *near)}
    for one, said in (("a", 5), ("b", second)):
        write_video(root, f"val/{one}", {10: said, 11: said, 20: said, 21: said})
    return write_sets(root, sets, labels)


def of_one_video(run: windtunnel.Run) -> int:
    return sum("All frames come from one video" in note for note in run_notes(run.scoring))


def test_frames_of_one_video_are_said_to_be(tmp_path: Path) -> None:
    write_video(tmp_path / "one" / "vid-robust", "val/a", {10: 5, 11: 5, 20: 5})
    sets = {"val/a/000010.JPEG": ["val/a/000011.JPEG"], "val/a/000020.JPEG": []}
    labels = {f"val/a/0000{number}.JPEG": [5] for number in (10, 11, 20)}
    root = write_sets(tmp_path / "one" / "vid-robust", sets, labels)
    run = windtunnel.run(reads_colour, root, out=tmp_path / "run")
    assert of_one_video(run) == 1 and run.scoring.groups is None
    both = windtunnel.run(reads_colour, two_videos(tmp_path / "vid-robust"), out=tmp_path / "both")
    assert of_one_video(both) == 0 and both.scoring.group == "video"


@pytest.mark.parametrize("broken", ["files", "answers"])
def test_one_of_two_videos_that_fails_does_not_end_the_run(tmp_path: Path, broken: str) -> None:
    root = two_videos(tmp_path / "vid-robust", 29 if broken == "answers" else 5)
    if broken == "files":
        for file in (root / "val" / "b").iterdir():
            file.write_bytes(b"no image")
    run = windtunnel.run(fails_on_class_29, root, out=tmp_path / "run")
    found = by_name(run.scores())["pm_k", "pm-1"]
    exact = binomtest(2, 2).proportion_ci(method="exact")
    assert (found.n, found.value, found.low) == (2, 1.0, pytest.approx(exact.low))
    assert of_one_video(run) == 1 and run.report().exists()
    # Groups that a user asks for are another matter.
    with pytest.raises(windtunnel.UserError, match="have the same video"):
        run.scores(group="video")
