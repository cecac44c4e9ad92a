"""Results where people look: pull requests, merge requests, trackers, model cards, notebooks, leaderboards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import windtunnel
from tests.github_server import READ_ONLY, TOKEN, GitHub, github_server
from windtunnel.cli import cli

REPOSITORY = Path(__file__).parents[2]


class HalfWrong:
    """The demo's network, wrong about half of the images."""

    name = fingerprint = "half-wrong <b>@everyone</b>"

    def __init__(self) -> None:
        self._model = windtunnel.load_model("demo")

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = self._model.predict(batch)
        half = batch.astype(np.int64).sum(axis=(1, 2, 3)) * 2654435761 % 1000 < 500
        return np.where(half[:, None], -scores, scores)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs on the same images: `base`, and `new`, which is worse."""
    root = tmp_path_factory.mktemp("runs")
    windtunnel.run("demo", "demo", "demo", out=root / "base", subset=60)
    windtunnel.run(HalfWrong(), "demo", "demo", out=root / "new", subset=60, preprocess=_declared())
    for name in ("base", "new"):
        windtunnel.load_run(root / name).report()
    return root


def _declared() -> Path:
    from windtunnel.data.demo import demo_model_path

    return demo_model_path().with_name("digits.onnx.toml")


def _invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def _step(runs: Path, folder: Path, github: GitHub, token: str) -> subprocess.CompletedProcess[str]:
    """One job: the action's script on the two runs, with the environment of GitHub Actions."""
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    command = folder / "bin" / "windtunnel"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m windtunnel "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "src"),
        "WINDTUNNEL_RUN": str(runs / "new"),
        "WINDTUNNEL_AGAINST": str(runs / "base"),
        "WINDTUNNEL_RULES": "mean_error <= +1\n\nclean error <= +2\n",
        "WINDTUNNEL_COMMENT": "true",
        "WINDTUNNEL_INSTALL": "",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/nets",
        "GITHUB_API_URL": github.url,
        "GITHUB_TOKEN": token,
    }
    script = REPOSITORY / "action" / "gate.sh"
    return subprocess.run(
        ["bash", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_the_action_comments_once_and_updates_its_comment(runs: Path, tmp_path: Path) -> None:
    with github_server() as github:
        github.comments = {number: "a person's comment" for number in range(100)}
        github.comments[50] = "> <!-- windtunnel: gate -->\nquoted by a person"
        first = _step(runs, tmp_path, github, TOKEN)
        assert first.returncode == 1, first.stderr
        assert "comment  created: https://github.com/acme/nets/pull/7" in first.stderr
        assert first.stdout.count("::error title=windtunnel gate::") == 2
        (tmp_path / "summary.md").unlink()
        again = _step(runs, tmp_path, github, TOKEN)
        assert "comment  updated: " in again.stderr
        assert TOKEN not in first.stdout + first.stderr + again.stdout + again.stderr
        assert len(github.comments) == 101
        assert [method for method, _ in github.requests if method != "GET"] == ["POST", "PATCH"]
        body = github.comments[200]
        summary = (tmp_path / "summary.md").read_text()
        assert body == f"<!-- windtunnel: gate -->\n{summary.rstrip(chr(10))}\n"
        assert "### windtunnel gate: ✗ failed: 2 worse (60 images, paired)" in body
        assert "| `mean_error <= +1` | mean_error |" in body
        assert "#### Conditions that changed the most" in body
        assert len(body) <= 65_536
        assert "<b>" not in body and "@everyone" not in body

        (tmp_path / "summary.md").unlink()
        for token, why in (("", "GITHUB_TOKEN is not set"), (READ_ONLY, "GitHub refused the token (403)")):
            fork = _step(runs, tmp_path, github, token)
            assert fork.returncode == 1
            assert [line for line in fork.stderr.splitlines() if line.startswith("comment  none: ")] == [
                line for line in fork.stderr.splitlines() if why in line
            ] != []
        assert (tmp_path / "summary.md").read_text() == 2 * summary
        assert github.comments[200] == body
