"""The browser of runs: what it reads of their folders."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

import windtunnel
from windtunnel import UserError, api


def test_a_report_that_is_a_link_is_not_shown(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    (run / "report.html").symlink_to(secret)
    browser = api.RunBrowser(tmp_path / "runs")
    with pytest.raises(UserError, match="has no report"):
        browser.report("first")
    (run / "report.html").unlink()
    (run / "report.html").write_text("report")
    assert browser.report("first") == b"report"


@pytest.fixture(scope="module")
def many_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 finished runs on the same images."""
    folder = tmp_path_factory.mktemp("many") / "runs"
    windtunnel.run("demo", "demo", "demo", out=folder / "run000").report()
    for number in range(1, 500):
        shutil.copytree(folder / "run000", folder / f"run{number:03d}", copy_function=os.link)
    return folder


def test_many_runs_are_listed_and_their_images_shown_at_once(many_runs: Path) -> None:
    browser = api.RunBrowser(many_runs)
    first = browser.listing()
    begun = time.perf_counter()
    assert browser.listing() == first
    listed = time.perf_counter()
    shown = browser.image("run007", 0, "clean")
    assert listed - begun < 1
    assert time.perf_counter() - listed < 2
    assert len(first["runs"]) == 500
    assert len(shown["predictions"]) == 24


def test_the_list_follows_changes_of_the_runs(many_runs: Path) -> None:
    browser = api.RunBrowser(many_runs)
    before = browser.listing()["runs"]
    scores = many_runs / "run003" / "scores.json"
    document = json.loads(scores.read_text())
    document["scores"][0]["value"] = 0.125
    scores.unlink()  # the file is shared with the other runs
    scores.write_text(json.dumps(document))
    (many_runs / "run004" / "report.html").unlink()
    shutil.rmtree(many_runs / "run005")
    after = {run["run"]: run for run in browser.listing()["runs"]}
    changed = [run["run"] for run in before if after.get(run["run"]) != run]
    assert changed == ["run003", "run004", "run005"]
    assert "run005" not in after
    with pytest.raises(UserError, match="no run 'run005'"):
        browser.image("run005", 0, "clean")
