"""--log-json: what a run reports, as events for programs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from tests.conftest import Command


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_a_run_is_an_event(windtunnel_command: Command, digit_folder: Path) -> None:
    done = windtunnel_command("run", "demo", digit_folder, "--suite", "smoke", "--out", "run", "--log-json")
    assert done.returncode == 0 and done.stdout.startswith("native error")
    log = events(done.stderr)
    assert all(datetime.fromisoformat(str(line["time"])).tzinfo for line in log)
    assert {"model", "data", "work", "time", "storage", "run", "progress"} <= {line["event"] for line in log}
    last = [line for line in log if line["event"] == "progress"][-1]
    assert (last["activity"], last["done"], last["total"]) == ("running", 440, 440)


def test_errors_are_events_too(windtunnel_command: Command, tmp_path: Path) -> None:
    done = windtunnel_command("run", "demo", tmp_path / "nowhere", "--log-json")
    (end,) = events(done.stderr)
    assert done.returncode == end["exit_code"] == 2
    assert end["event"] == "end" and "nowhere" in str(end["text"])


def test_text_is_ascii() -> None:
    from windtunnel.core.json_log import event_line

    line = event_line("note", text="é")
    assert line.isascii() and json.loads(line)["text"] == "é"


def test_made_sets_report_events(windtunnel_command: Command, digit_folder: Path) -> None:
    done = windtunnel_command(
        "make", "imagenet-c", digit_folder, "set", "--only", "fog:3", "--layout", "folders", "--log-json"
    )
    assert done.returncode == 0, done.stderr
    assert [line["done"] for line in events(done.stderr) if line.get("activity") == "making images"][-1] == 80
