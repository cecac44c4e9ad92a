"""Expected time before a run, and progress during it, with and without a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import windtunnel
from tests.conftest import Command
from windtunnel.api import prepare
from windtunnel.core import progress_bar
from windtunnel.core.progress_bar import Bar
from windtunnel.core.samples import Sample
from windtunnel.core.wording import duration
from windtunnel.data.arrays import ArrayDataset
from windtunnel.engine.estimate import Expected
from windtunnel.engine.execution import PlannedRun, expected_time

ESTIMATE = r"about .* on \d+ workers?; an?( rough)? estimate from \d[\d,]* predictions? timed on this machine"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_plain_line_now_and_then() -> None:
    log, clock = io.StringIO(), Clock()
    with Bar(Console(file=log), "running", clock) as bar:
        bar(100, 1000)  # what an earlier run has done
        for _ in range(900):
            clock.now += 0.1
            bar(1, 1000)
    lines = log.getvalue().splitlines()
    assert lines[0] == "running: 200 of 1,000 (20 %), 10/s, 80 s left"
    assert lines[-1] == "running: 1,000 of 1,000 (100 %), 10/s"
    assert len(lines) == 9
    assert not re.search(r"[^\x20-\x7e\n]", log.getvalue())


def test_slow_work_is_heard_of_every_minute_and_fast_work_once() -> None:
    log, clock = io.StringIO(), Clock()
    with Bar(Console(file=log), "running", clock) as bar:
        bar(0, 10_000)
        for _ in range(30):
            clock.now += 20
            bar(1, 10_000, 1 if clock.now == 120 else 0)
    lines = log.getvalue().splitlines()
    assert lines[0] == "running: 3 of 10,000 (0 %), 0.05/s, 2 d 8 h left, 1 image failed"
    assert len(lines) == 10
    log = io.StringIO()
    with Bar(Console(file=log), "running", clock) as bar:
        for _ in range(10):
            bar(1, 10)
    assert log.getvalue().splitlines() == ["running: 10 of 10 (100 %)"]


def test_colour_that_is_forced_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many CI services set FORCE_COLOR; their logs are no terminals all the same."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    log = io.StringIO()
    with Bar(Console(file=log), "running") as bar:
        bar(10, 10)
    assert log.getvalue().splitlines() == ["running: 10 of 10 (100 %)"]


def test_work_that_never_began_leaves_no_line() -> None:
    log = io.StringIO()
    with Bar(Console(file=log), "running"):
        pass
    assert not log.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (95, "2 min"), (3600, "60 min"), (3 * 3600 + 1190, "3 h 20 min"),
     (5 * 3600, "5 h"), (60 * 3600, "2 d 12 h"), (72 * 3600, "3 d")],
)  # fmt: skip
def test_lengths_of_time_are_rounded(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plan_says_how_long_a_run_takes(windtunnel_command: Command, digit_folder: Path) -> None:
    arguments = ("demo", digit_folder, "--suite", "smoke", "--out", "run")
    out = windtunnel_command("plan", *arguments)
    assert re.search(rf"^time +{ESTIMATE}$", out.stdout, re.MULTILINE), out.stdout
    planned = json.loads(windtunnel_command("plan", *arguments, "--json").stdout)
    assert planned["expected_seconds"] > 0
    run = windtunnel_command("run", *arguments, "--workers", 2)
    assert re.search(rf"^time +{ESTIMATE}$", run.stderr, re.MULTILINE), run.stderr
    assert re.search(r"^running: 440 of 440 \(100 %\)", run.stderr, re.MULTILINE), run.stderr
    again = windtunnel_command("plan", *arguments)
    assert "440 already done" in again.stdout and "\ntime" not in again.stdout
    assert json.loads(windtunnel_command("plan", *arguments, "--json").stdout)["expected_seconds"] is None


def test_the_estimate_is_near_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that sleeps makes the truth known: 20 ms a prediction, whatever else this machine does."""

    def slow(batch: np.ndarray) -> np.ndarray:
        time.sleep(0.02 * len(batch))
        return np.eye(10)[batch[:, 0, 0, 0] % 10]

    images = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), np.uint8)
    data = ArrayDataset(images, np.arange(12) % 10)
    plan = windtunnel.plan(slow, data, "smoke")
    found = expected_time([PlannedRun(plan, tmp_path / "run", None)])
    assert found is not None
    assert plan.predictions * 0.02 <= found.seconds < plan.predictions * 0.06
    begun = time.perf_counter()
    windtunnel.run(slow, data, "smoke", out=tmp_path / "run", progress=True)
    assert time.perf_counter() - begun < 4 * found.seconds
    said = capsys.readouterr().err
    assert re.search(f"time: {ESTIMATE}", " ".join(said.split())), said
    assert "running: 132 of 132 (100 %)" in said


# Sleeps 20 ms per image where torch has one thread, as in a worker process, and not at all elsewhere.
SLOW_ON_ONE_THREAD = """
import time
import numpy as np
def make():
    import torch
    def predict(batch):
        if torch.get_num_threads() == 1:
            time.sleep(0.02 * len(batch))
        return np.eye(10)[batch[:, 0, 0, 0] % 10]
    return predict
"""


@pytest.mark.parametrize("finished", [False, True])
def test_time_is_measured_with_the_threads_of_a_worker(
    finished: bool, digit_folder: Path, tmp_path: Path
) -> None:
    """A worker has one thread; a probe in a process with all cores is too optimistic."""
    file = tmp_path / "slow.py"
    file.write_text(SLOW_ON_ONE_THREAD)
    data = digit_folder
    if finished:
        data = tmp_path / "set"
        windtunnel.make_set("smoke", digit_folder, data, layout="folders", codec="png")
    model = f"{file}:make"
    options = windtunnel.RunOptions(chunk=20, out=tmp_path / "run", workers=2)
    prepared = prepare([model], data, None if finished else "smoke", options)
    plan = prepared.runs[0].plan
    assert len(plan.chunks) == 2
    threads = torch.get_num_threads()
    torch.set_num_threads(max(2, threads))
    told: list[Expected] = []
    try:
        planned = prepared.expected_time()
        prepared.execute(2, expect=told.append)
    finally:
        torch.set_num_threads(threads)
    assert planned is not None
    for found in (planned, *told):
        assert found.seconds >= 0.02 * plan.predictions / 2
    assert len(told) == 1


class SlowAtFirst:
    """Sleeps at the first call after it was armed, as whatever is imported or compiled at its first use."""

    def __init__(self) -> None:
        self.armed = False

    def __call__(self, seconds: float) -> None:
        if self.armed:
            self.armed = False
            time.sleep(seconds)


def test_the_first_call_of_a_model_is_not_counted(tmp_path: Path) -> None:
    first = SlowAtFirst()

    def model(batch: np.ndarray) -> np.ndarray:
        first(2.0)
        return np.eye(10)[batch[:, 0, 0, 0] % 10]

    images = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), np.uint8)
    plan = windtunnel.plan(model, ArrayDataset(images, np.arange(12) % 10), "smoke")
    first.armed = True
    found = expected_time([PlannedRun(plan, tmp_path / "run", None)])
    assert found is not None and not first.armed
    # Counted, the two seconds of a batch of 16 would be 0.125 s a prediction.
    assert found.seconds < plan.predictions * 0.06


def test_the_first_use_of_a_pipeline_step_is_not_counted(tmp_path: Path) -> None:
    """One step that imports a large library at its first use neither sets the estimate nor ends the probe."""
    first = SlowAtFirst()

    class Data(ArrayDataset):
        def read(self, sample: Sample) -> np.ndarray:
            first(2.0)
            return super().read(sample)

    images = np.random.default_rng(0).integers(0, 256, (12, 48, 48, 3), np.uint8)
    plan = windtunnel.plan(
        lambda batch: np.eye(10)[batch[:, 0, 0, 0] % 10], Data(images, np.arange(12) % 10), "systematic"
    )
    first.armed = True
    found = expected_time([PlannedRun(plan, tmp_path / "run", None)])
    assert found is not None and not first.armed
    assert found.timed > 10 and found.seconds < plan.predictions * 0.1
    assert "; an estimate from" in str(found)


def test_an_estimate_from_few_predictions_is_called_rough(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), np.uint8)
    data = ArrayDataset(images, np.arange(2))
    plan = windtunnel.plan(lambda batch: np.eye(2)[batch[:, 0, 0, 0] % 2], data, "smoke", only="fog:3")
    found = expected_time([PlannedRun(plan, tmp_path / "run", None)])
    assert found is not None and found.timed < 10
    assert re.search(r"; a rough estimate from \d predictions timed on this machine$", str(found))


def test_python_is_silent_unless_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    windtunnel.run("demo", "demo", "smoke", subset=10, out=tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_a_notebook_without_ipywidgets_gets_one_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_hints_given", set())
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert progress_bar.bar_hint(Console(force_jupyter=False)) == ""
    notebook = Console(force_jupyter=True)
    assert "pip install 'ipywidgets>=8'" in progress_bar.bar_hint(notebook)
    assert progress_bar.bar_hint(notebook) == ""


def test_a_plan_is_short_and_python_states_the_expected_time(tmp_path: Path) -> None:
    plan = windtunnel.plan("demo", "demo", "smoke", subset=20, out=tmp_path / "run")
    assert repr(plan).startswith("Plan(digits on held-out-digits, smoke@") and len(repr(plan)) < 200
    assert "20 images, 11 conditions, 220 predictions in " in repr(plan)
    found = windtunnel.expected_time("demo", "demo", "smoke", subset=20, out=tmp_path / "run")
    assert found is not None and found.workers == 1 and re.fullmatch(ESTIMATE, str(found))
    assert not (tmp_path / "run").exists()
    windtunnel.run("demo", "demo", "smoke", subset=20, out=tmp_path / "run")
    assert windtunnel.expected_time("demo", "demo", "smoke", subset=20, out=tmp_path / "run") is None


# Takes three seconds to load, and 10 ms per image for every copy that predicts at the same time.
CROWDED = """
import os, time
import numpy as np
FOLDER = {folder!r}
def make():
    time.sleep(3)
    def predict(batch):
        mark = os.path.join(FOLDER, str(os.getpid()))
        open(mark, "w").close()
        time.sleep(0.01 * len(batch) * len(os.listdir(FOLDER)))
        return np.eye(10)[batch[:, 0, 0, 0] % 10]
    return predict
"""


def test_time_is_measured_with_as_many_processes_as_workers(digit_folder: Path, tmp_path: Path) -> None:
    """Workers compete with each other; one process alone would be timed at half of it."""
    (tmp_path / "marks").mkdir()
    (tmp_path / "crowded.py").write_text(CROWDED.format(folder=str(tmp_path / "marks")))
    options = windtunnel.RunOptions(chunk=20, out=tmp_path / "run", workers=2)
    prepared = prepare([f"{tmp_path}/crowded.py:make"], digit_folder, "smoke", options)
    for mark in (tmp_path / "marks").iterdir():
        mark.unlink()
    found = prepared.expected_time()
    assert found is not None
    predictions = prepared.runs[0].plan.predictions
    assert found.seconds >= 3 + 0.01 * 2 * predictions / 2
