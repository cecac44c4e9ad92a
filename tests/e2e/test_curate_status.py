"""`windtunnel curate status` and `show`: commands that work, unfinished and outdated steps, every row."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tests.e2e.test_curate_filter import CLASSES, KILLED, TOML, images, model, shifted
from tests.video_clips import numbered_frames, write_clip
from windtunnel import UserError, api


@pytest.fixture
def project(tmp_path: Path) -> Path:
    api.collect_candidates(images(tmp_path / "images"), tmp_path / "project")
    return tmp_path / "project"


def outsider(folder: Path) -> Path:
    """A model of the first five classes: the others are out of distribution."""
    toml = TOML.replace(json.dumps(CLASSES), json.dumps(CLASSES[:5]))
    return model(folder, "five.onnx", classes=5, toml=toml)


def next_command(command: Command, project: Path) -> str:
    """The next command of a project as status prints it."""
    done = command("curate", "status", project, "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["next"])


def test_the_next_command_chooses_one_of_two_shortlists(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    api.filter_hard(project, [model(tmp_path)])
    assert next_command(windtunnel_command, project) == f"windtunnel curate export {project} --out SET"
    api.select_ood(project, [outsider(tmp_path)], min_confidence=0.0)
    shown = next_command(windtunnel_command, project)
    assert shown == f"windtunnel curate export {project} --out SET --step hard"
    done = windtunnel_command(*shlex.split(shown)[1:])
    assert done.returncode == 0, done.stderr


def test_the_next_command_of_an_empty_shortlist_filters_with_other_thresholds(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = model(tmp_path)
    api.filter_hard(project, [file], max_true_confidence=0.0)
    shown = next_command(windtunnel_command, project)
    assert shown == f"windtunnel curate hard {project} --filter MODEL --max-true-confidence SHARE"
    assert not api.project_status(project).review
    typed = shown.replace("MODEL", str(file)).replace("SHARE", "0.9")
    assert windtunnel_command(*shlex.split(typed)[1:]).returncode == 0
    assert next_command(windtunnel_command, project).startswith("windtunnel curate export")
    api.select_ood(project, [outsider(tmp_path)], min_confidence=1.0)
    assert next_command(windtunnel_command, project).endswith(" --step hard")


def test_the_next_command_of_frame_sets(tmp_path: Path, windtunnel_command: Command) -> None:
    """Without sets: other videos. Without labels: a table. Then the export."""
    (tmp_path / "bad.mkv").write_bytes(b"no video")
    assert windtunnel_command("curate", "video", "p", "bad.mkv").returncode == 0
    assert next_command(windtunnel_command, Path("p")) == "windtunnel curate video p VIDEO"
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    assert windtunnel_command("curate", "video", "p", "a.mkv", "--frames", "2").returncode == 0
    shown = next_command(windtunnel_command, Path("p"))
    assert shown == "windtunnel curate video p VIDEO --labels TABLE"
    (tmp_path / "labels.csv").write_text("video,label\na.mkv,cat\n")
    typed = shown.replace("VIDEO", "a.mkv").replace("TABLE", "labels.csv")
    assert windtunnel_command(*shlex.split(typed)[1:]).returncode == 0
    shown = next_command(windtunnel_command, Path("p"))
    assert shown == "windtunnel curate export p --out SET"
    assert windtunnel_command(*shlex.split(shown)[1:]).returncode == 0
    # Candidates that failed do not hide the frame sets.
    (tmp_path / "t.csv").write_text("file,tag\ngone.jpg,cat\n")
    assert windtunnel_command("curate", "collect", "t.csv", "--project", "p").returncode == 0
    shown = next_command(windtunnel_command, Path("p"))
    assert shown == "windtunnel curate export p --out SET --step video"
    assert windtunnel_command(*shlex.split(shown)[1:]).returncode == 0


def test_an_unfinished_filtration_is_shown_and_not_exported(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = model(tmp_path)
    export = ("curate", "export", project, "--out", tmp_path / "set")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(project), str(file)], timeout=120)
    assert killed.returncode == -signal.SIGKILL
    status = windtunnel_command("curate", "status", project).stdout
    assert "hard: started, not finished; repeat its command" in " ".join(status.split())
    assert next_command(windtunnel_command, project) == f"windtunnel curate hard {project} --filter MODEL"
    done = windtunnel_command(*export)
    assert (done.returncode, done.stdout) == (2, "")
    assert "windtunnel curate hard was started" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "set").exists()
    done = windtunnel_command("review", "create", project, "task", "--kind", "select")
    assert done.returncode == 2 and "windtunnel curate hard was started" in done.stderr
    api.filter_hard(project, [file])
    assert api.project_status(project).unfinished == []
    assert windtunnel_command(*export).returncode == 0
    # Another filtration is killed after that: its shortlist is not the one that is exported.
    other = str(shifted(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED, str(project), other], timeout=120)
    assert api.project_status(project).unfinished == ["hard"]
    review = ("review", "create", project, "task", "--kind", "select")
    for command in (export, (*export, "--step", "hard"), review, (*review, "--source", "hard")):
        done = windtunnel_command(*command)
        assert done.returncode == 2, command
        assert "windtunnel curate hard was started" in done.stderr
    # The finished one again settles it; so does the removal of the file that the message names.
    api.filter_hard(project, [file])
    assert windtunnel_command(*export).returncode == 0
    subprocess.run([sys.executable, "-c", KILLED, str(project), other], timeout=120)
    (project / "started" / "hard").unlink()
    assert windtunnel_command(*export).returncode == 0


def test_a_transfer_of_another_shortlist_is_outdated(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    def step_line() -> str:
        shown = windtunnel_command("curate", "status", project).stdout
        return next(line for line in shown.splitlines() if line.split()[:2] == ["step", "transfer:"])

    api.filter_hard(project, [model(tmp_path)])
    api.measure_transfer(project, [shifted(tmp_path)])
    assert step_line().endswith("transfer: finished")
    api.filter_hard(project, [model(tmp_path)], max_true_confidence=1.0)
    assert "outdated, the shortlist has changed since" in step_line()
    api.filter_hard(project, [model(tmp_path)])
    assert step_line().endswith("transfer: finished")
    more = images(tmp_path / "more", 61)
    api.collect_candidates(more, project)
    assert "outdated" in step_line()
    assert set(api.project_status(project).outdated) == {"hard", "transfer"}
    assert next_command(windtunnel_command, project).startswith("windtunnel curate hard")


def test_rows_that_are_not_stored_are_shown(tmp_path: Path, windtunnel_command: Command) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "text.jpg").write_text("no image")
    (tmp_path / "t.csv").write_text(
        "file,url,tag\nsub/text.jpg,,cat\n,file:///etc/passwd,cat\n,,cat\na/gone.jpg,,dog\nb/gone.jpg,,dog\n"
    )
    assert windtunnel_command("curate", "collect", "t.csv", "--project", "p").returncode == 0
    for text, expected in (
        ("sub/text.jpg", ("not_an_image", "1 of t.csv")),
        ("text.jpg", ("not_an_image", "1 of t.csv")),
        ("file:///etc/passwd", ("refused", "2 of t.csv")),
        ("row 3", ("line 4 has neither a url nor a file", "3 of t.csv")),
        ("a/gone.jpg", ("unreachable", "4 of t.csv")),
    ):
        done = windtunnel_command("curate", "show", "p", text)
        assert done.returncode == 0, done.stderr
        assert all(part in done.stdout for part in expected), done.stdout
    done = windtunnel_command("curate", "show", "p", "gone.jpg")
    assert done.returncode == 2 and "a/gone.jpg, b/gone.jpg; give more of one" in done.stderr
    with pytest.raises(UserError, match="is no id, URL, file, video or frame set"):
        api.candidate_audit(tmp_path / "p", "elsewhere.jpg")


def test_frame_sets_frames_and_videos_are_shown(tmp_path: Path, windtunnel_command: Command) -> None:
    write_clip(tmp_path / "a.mkv", numbered_frames(30))
    (tmp_path / "bad.mkv").write_bytes(b"no video")
    done = windtunnel_command("curate", "video", "p", "a.mkv", "bad.mkv", "--frames", "2")
    assert done.returncode == 0, done.stderr
    frames = pq.read_table(tmp_path / "p" / "frames" / "sets.parquet").to_pylist()
    frame = next(row for row in frames if row["offset"] == 2)
    shown = windtunnel_command("curate", "show", "p", f"{frame['set']}#{frame['index']}").stdout
    assert frame["file"] in shown and "+2 from the anchor" in shown
    shown = windtunnel_command("curate", "show", "p", frame["set"]).stdout
    assert all(f"{row['index']}   " in shown for row in frames)
    status = {row["path"]: row for row in pq.read_table(tmp_path / "p/frames/videos.parquet").to_pylist()}
    assert status["bad.mkv"]["reason"] in windtunnel_command("curate", "show", "p", "bad.mkv").stdout
