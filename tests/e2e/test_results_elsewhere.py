"""Results where people look: pull requests, trackers, model cards, notebooks and leaderboards."""

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
from tests.strangers import write_example
from windtunnel.cli import cli
from windtunnel.report.change_summary import change_markdown

REPOSITORY = Path(__file__).parents[2]
RULES = ("--rule", "mean_error <= +1", "--rule", "clean error <= +2")


class HalfWrong:
    """The demo's network, wrong about half of the images."""

    name = fingerprint = "half-wrong <b>@everyone</b>"

    def __init__(self) -> None:
        self._model = windtunnel.load_model("demo")

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = self._model.predict(batch)
        half = batch.astype(np.int64).sum(axis=(1, 2, 3)) * 2654435761 % 1000 < 500
        return np.where(half[:, None], -scores, scores)


class CentredInBatch:
    """The demo's network, whose scores are centred in each batch."""

    name = fingerprint = "centred"

    def __init__(self) -> None:
        self._model = windtunnel.load_model("demo")

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = self._model.predict(batch)
        return scores - scores.mean(axis=0)


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


def _job(folder: Path, github: GitHub) -> dict[str, str]:
    """The environment of a job of pull request 7."""
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/nets",
        "GITHUB_API_URL": github.url,
    }


def _step(runs: Path, folder: Path, github: GitHub, token: str) -> subprocess.CompletedProcess[str]:
    """One job: the action's script on the two runs, with the environment of GitHub Actions."""
    command = folder / "bin" / "windtunnel"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m windtunnel "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "src"),
        "WINDTUNNEL_RUN": str(runs / "new"),
        "WINDTUNNEL_AGAINST": str(runs / "base"),
        "WINDTUNNEL_RULES": f"{RULES[1]}\n\n{RULES[3]}\n",
        "WINDTUNNEL_COMMENT": "true",
        "WINDTUNNEL_INSTALL": "",
        "GITHUB_TOKEN": token,
        **_job(folder, github),
    }
    script = REPOSITORY / "action" / "gate.sh"
    return subprocess.run(
        ["bash", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_the_action_comments_once_and_updates_its_comment(runs: Path, tmp_path: Path) -> None:
    with github_server() as github:
        github.comments = dict.fromkeys(range(100), "a person's comment")
        github.comments[50] = "> <!-- windtunnel: gate -->\nquoted by a person"
        github.comments[51] = forged = "<!-- windtunnel: gate -->\nof an outsider, who could edit it later"
        first = _step(runs, tmp_path, github, TOKEN)
        assert first.returncode == 1, first.stderr
        assert "comment  created: https://github.com/acme/nets/pull/7" in first.stderr
        assert first.stdout.count("::error title=windtunnel gate::") == 2
        (tmp_path / "summary.md").unlink()
        again = _step(runs, tmp_path, github, TOKEN)
        assert "comment  updated: " in again.stderr
        assert TOKEN not in first.stdout + first.stderr + again.stdout + again.stderr
        assert len(github.comments) == 101 and github.comments[51] == forged
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
            with pytest.MonkeyPatch.context() as patch:
                for name, value in (_job(tmp_path, github) | {"GITHUB_TOKEN": token}).items():
                    patch.setenv(name, value)
                gate = ("gate", runs / "new", "--against", runs / "base")
                fork = _invoke(*gate, *RULES, "--github", "--summary", "--comment")
            assert fork.exit_code == 1
            (line,) = fork.stderr.splitlines()
            assert line.startswith("comment  none: ") and why in line
        assert (tmp_path / "summary.md").read_text() == 2 * summary
        assert github.comments[200] == body


def test_a_long_change_is_shortened_to_the_limit(runs: Path) -> None:
    gate, comparison = (
        windtunnel.gate(runs / "new", runs / "base"),
        windtunnel.compare(runs / "base", runs / "new"),
    )
    full = change_markdown(gate, comparison)
    for limit in (len(full) - 1, 1_000):
        short = change_markdown(gate, comparison, limit)
        assert len(short) <= limit
        assert short.startswith("### windtunnel gate: ✗ failed") and "`windtunnel compare --csv`" in short


def test_gitlab_gets_an_issue_per_rule_that_is_worse(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "quality.json"
    gate = ("gate", runs / "new", "--against", runs / "base", "--code-quality", file)
    assert _invoke(*gate, "--rule", "mean_error <= +1", "--rule", "clean error <= +99").exit_code == 1
    (issue,) = json.loads(file.read_text())
    assert issue["check_name"] == "windtunnel gate: mean_error <= +1"
    assert issue["severity"] == "critical"
    assert issue["location"] == {"path": f"{runs / 'new'}/run.json", "lines": {"begin": 1}}
    fingerprint = issue["fingerprint"]
    _invoke(*gate, "--rule", "mean_error <= +2")
    (other,) = json.loads(file.read_text())
    assert other["fingerprint"] != fingerprint
    _invoke("gate", runs / "base", "--against", runs / "base", "--code-quality", file)
    assert json.loads(file.read_text()) == []


def test_a_summary_outside_github_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    with pytest.raises(windtunnel.UserError, match="GITHUB_STEP_SUMMARY is not set"):
        CliRunner().invoke(cli, ["gate", "no", "--against", "such", "--summary"], catch_exceptions=False)


def test_the_leaderboard_has_a_row_per_model_and_marks_what_is_not_comparable(
    runs: Path, tmp_path: Path
) -> None:
    windtunnel.run("demo", "demo", "smoke", out=tmp_path / "smoke", subset=60)
    windtunnel.run("demo", "demo", "demo", out=tmp_path / "seeded", subset=60, seed=3)
    windtunnel.run(
        CentredInBatch(), "demo", "demo", out=tmp_path / "centred", subset=60, preprocess=_declared(),
        allow_batch_dependence=True,
    )  # fmt: skip
    folders = (tmp_path / "centred", runs / "new", runs / "base", tmp_path / "seeded", tmp_path / "smoke")
    document = json.loads(_invoke("leaderboard", *folders, "--json").stdout)
    names = [model["name"] for model in document["models"]]
    # The best first, the run with other pixels last; the demo's run of the other suite is in its first row.
    assert names[:2] == ["digits (1)", HalfWrong.name]
    by_name = {model["name"]: model for model in document["models"]}
    first, seeded, centred = by_name["digits (1)"], by_name["digits (2)"], by_name[CentredInBatch.name]
    assert {score["not_comparable"] for score in centred["scores"]} == {"scores depend on the batch"}
    assert {score["suite"] for score in first["scores"]} == {"demo@1", "smoke@1"}
    assert all(score["comparable"] for score in first["scores"])
    assert "seeds" in seeded["scores"][0]["not_comparable"]
    expected = {
        (score.metric, score.condition): score.value for score in windtunnel.load_run(runs / "base").scores()
    }
    for score in first["scores"]:
        if score["suite"] == "demo@1":
            assert score["value"] == expected[score["metric"], score["condition"]]
    page = tmp_path / "board.html"
    assert _invoke("leaderboard", *folders, "--out", page).stdout.strip() == str(page)
    text = page.read_text()
    assert "<b>" not in text.partition("<main")[2].partition("<script>")[0]
    assert f'href="{os.path.relpath(runs / "base" / "report.html", tmp_path)}"' in text
    assert _invoke("leaderboard", *folders, "--csv").stdout.count("\n") == 1 + sum(
        len(model["scores"]) for model in document["models"]
    )


def test_runs_are_logged_to_trackers_and_nothing_is_uploaded(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    mean = next(
        score for score in windtunnel.load_run(runs / "base").scores() if score.metric == "mean_error"
    )
    done = _invoke("log", runs / "base", "--to", "mlflow(experiment=nets)")
    assert done.exit_code == 0, done.output
    import mlflow

    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("nets").experiment_id])
    assert run.data.metrics["mean_error"] == mean.value
    assert run.data.metrics["mean_error_low"] == mean.low
    assert run.data.params["seed"] == "0" and run.data.params["suite"] == "demo@1"
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {
        "report.html",
        "scores.csv",
        "scores.json",
    }
    done = _invoke("log", runs / "base", "--to", "wandb")
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "wandb-runs" / "wandb").glob("offline-run-*")
    assert done.stdout.strip() == str(folder)
    assert b"mean_error_low" in next(folder.glob("*.wandb")).read_bytes()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ada:s3cret@127.0.0.1:1/tracking")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    refused = _invoke("log", runs / "base", "--to", "mlflow", "--upload")
    said = str(refused.exception)
    assert said.startswith("MLflow at http://127.0.0.1:1/tracking refused the run: ") and "s3cret" not in said


def test_files_of_model_cards_have_the_fields_that_the_hub_requires(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    monkeypatch.chdir(tmp_path)
    scores = windtunnel.load_run(runs / "base").scores()
    errors = {(score.metric, score.condition): score.value for score in scores}
    _invoke("log", runs / "base", "--to", "model-index(dataset=acme/digits)")
    (model,) = yaml.safe_load((tmp_path / "model-card" / "model-index.yaml").read_text())["model-index"]
    (result,) = model["results"]
    assert model["name"] == "digits"
    assert result["task"]["type"] == "image-classification"
    assert result["dataset"]["type"] == "acme/digits" and result["dataset"]["name"]
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values["accuracy"] == pytest.approx(100 - 100 * errors["top1_error", "clean"], abs=1e-3)
    assert values["mean_error"] == pytest.approx(100 * errors["mean_error", ""], abs=1e-3)
    _invoke("log", runs / "base", "--to", "eval-results(dataset=acme/digits, task=robustness)")
    (entry,) = yaml.safe_load((tmp_path / ".eval_results" / "windtunnel-demo.yaml").read_text())
    assert entry["dataset"] == {"id": "acme/digits", "task_id": "robustness"}
    assert entry["value"] == values["mean_error"]


def test_a_destination_of_another_package_receives_the_runs(runs: Path, tmp_path: Path) -> None:
    file = write_example("destinations", tmp_path)
    to = f"headline-file(folder='{tmp_path}')"
    done = _invoke("log", runs / "base", runs / "new", "--to", to, "--include", file)
    assert done.stdout.strip() == str(tmp_path / "headlines.txt")
    first, second = (tmp_path / "headlines.txt").read_text().splitlines()
    mean = windtunnel.load_run(runs / "base").scores(["mean_error"])[0].value
    assert first == f"digits, demo@1: mean_error {mean:.4f}" and "half-wrong" in second


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--to", "mlfow"), "Did you mean mlflow"),
        (("--to", "eval-results"), "needs the benchmark's id"),
        (("--to", "model-index", "--upload"), "local files only"),
        (("--to", "wandb(team=a)"), "Unknown parameter of wandb"),
    ],
)
def test_a_wrong_destination_is_refused(runs: Path, arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(windtunnel.UserError, match=why):
        CliRunner().invoke(cli, ["log", str(runs / "base"), *arguments], catch_exceptions=False)


def test_frames_have_a_row_per_prediction_score_and_difference(runs: Path) -> None:
    run = windtunnel.load_run(runs / "base")
    comparison = windtunnel.compare(run, runs / "new")
    for item, rows in ((run, 60 * len(run.conditions)), (run.scores(), len(run.scores()))):
        assert len(item.to_pandas()) == len(item.to_polars()) == rows
    frame = comparison.to_polars()
    assert frame.columns == list(comparison.to_pandas().columns)
    assert frame["difference"].to_list() == [change.difference.value for change in comparison.changes]
    assert "&lt;b&gt;" in comparison._repr_html_()


def test_the_notebook_of_the_documentation_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(REPOSITORY / "docs" / "notebooks" / "robustness.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    tables = [output for output in shown if "<table" in str(output.get("data", {}).get("text/html", ""))]
    assert len(tables) >= 5
