"""A metric in a file of the user's: listed, measured, reported, compared and gated like a shipped one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.strangers import EXAMPLES
from windtunnel.cli import main
from windtunnel.core.metrics import REGISTRY
from windtunnel.data.demo import demo_model_path
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.intervals import wilson

SUITE = """
name = "mine"
version = 1
extends = "smoke"
units = ["gaussian_noise"]
levels = [3, 5]
metrics = ["top1_error", "mean_error", "confident_error"]
"""
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def shipped_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test includes is gone after it."""
    monkeypatch.setattr(REGISTRY, "_added", {})
    monkeypatch.setattr(REGISTRY, "_loaded", dict(REGISTRY._loaded))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(REGISTRY, "_added", {})  # as a new process starts
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stranger")
    (root / "confident_error.py").write_text(EXAMPLES["metrics"].text)
    (root / "mine.toml").write_text(SUITE)
    return root


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Path]:
    """Two runs of the suite; the second one's model gets images that are too bright."""
    declared = demo_model_path().with_suffix(".onnx.toml").read_text()
    brighter, changed = re.subn(r"mean = \[.*?\]", "mean = [0.1, 0.1, 0.1]", declared)
    assert changed == 1
    (folder / "bright.toml").write_text(brighter)
    made = [folder / "base", folder / "new"]
    for out, more in zip(made, ([], ["--preprocess", str(folder / "bright.toml")]), strict=True):
        with pytest.raises(SystemExit) as ended:
            main(
                ["run", "demo", "demo", "--suite", str(folder / "mine.toml"), "--subset", "80", "--workers",
                 "1", "--out", str(out), "--include", str(folder / "confident_error.py"), *more]
            )  # fmt: skip
        assert not ended.value.code
    return made


def test_it_is_listed_with_its_facts(folder: Path, call: Call) -> None:
    code, out, _ = call("list", "metrics", "--json", "--include", folder / "confident_error.py")
    row = {one["name"]: one for one in json.loads(out)}["confident_error"]
    assert code == 0
    assert (row["written"], row["better"], row["unit"]) == ("confident error", "less", "%")
    assert row["about"].startswith("Share of images misclassified with a probability of at least 90 %")
    _, out, _ = call("list", "metrics", "--include", folder / "confident_error.py")
    assert "confident_error  confident error, %, lower is better" in out


def test_it_is_measured_with_its_interval(folder: Path, runs: list[Path], call: Call) -> None:
    included = ("--include", folder / "confident_error.py")
    for asked in ([], ["--metric", "confident error"]):
        code, out, _ = call("score", runs[0], "--json", *asked, *included)
        scores = {(one["metric"], one["condition"]): one for one in json.loads(out)["scores"]}
        assert code == 0
        seen = ScoredRun(runs[0]).observed
        column = seen.column("gaussian_noise:5")
        mistakes = int(((seen.rank[:, column] > 0) & (seen.confidence[:, column] >= 0.9)).sum())
        score = scores["confident_error", "gaussian_noise:5"]
        assert score["value"] == mistakes / 80
        assert np.allclose([score["low"], score["high"]], wilson(mistakes, 80))
        assert ("confident_error", "") in scores


def test_it_heads_the_report(folder: Path, runs: list[Path], call: Call) -> None:
    included = ("--include", folder / "confident_error.py")
    code, _, _ = call("report", runs[0], *included)
    assert code == 0
    assert "confident error" in (runs[0] / "report.md").read_text()
    page = (runs[0] / "report.html").read_text()
    assert "share of images misclassified with a probability of at least 0.9; mean over 2" in page


def test_it_is_compared_gated_and_sliced(folder: Path, runs: list[Path], call: Call) -> None:
    included = ("--include", folder / "confident_error.py")
    code, out, _ = call("compare", *runs, "--json", *included)
    assert code == 0
    assert any(one["metric"] == "confident_error" for one in json.loads(out)["differences"])
    code, out, _ = call("gate", runs[1], "--against", runs[0], "--rule", "confident_error <= +90", *included)
    assert (code, "confident_error" in out) == (0, True)
    # The suite does not list nll: it is measured for the rule.
    code, out, err = call("gate", runs[1], "--against", runs[0], "--rule", "nll <= +90", *included)
    assert code == 0 and "nll" in out and "1 not worse" in out, out + err
    code, _, err = call("gate", runs[1], "--against", runs[0], "--rule", "confident_error >= -1", *included)
    assert code == 2
    assert "more confident_error is worse; write for example <= +1" in err
    code, out, _ = call(
        "slices", runs[0], "--by", "class", "--metric", "confident_error", "--minimum", 2, *included
    )
    assert (code, "confident_error" in out) == (0, True)


def test_without_its_file_a_run_names_it(runs: list[Path], call: Call) -> None:
    code, _, err = call("score", runs[0])
    assert code == 2
    assert "metric 'confident_error', which is not registered; give the file" in err
    assert "--include FILE.py" in err
    code, _, err = call("score", runs[0], "--metric", "confident_eror")
    assert code == 2
    assert "Unknown metric 'confident_eror'" in err


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('    direction="lower",\n', "", "Metric 'confident_error' declares no direction; give direction="),
        ("    return found", "    return 0.5", "returned float, not a list of Measure; see CONTRIBUTING.md"),
        ("    return found", "    return found[1] / 0", "failed: TypeError: unsupported operand"),
        ('Measure("confident_error", name', 'Measure("other", name', "returned a Measure of 'other'"),
        ("mistakes[:, [column]]", "mistakes[:, column]", "columns of shape (80,); give images x columns"),
        ("def confident_error", "def top1_error", "the metric 'top1_error', which windtunnel already has"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    runs: list[Path], tmp_path: Path, call: Call, before: str, after: str, message: str
) -> None:
    text = EXAMPLES["metrics"].text
    assert before in text
    (tmp_path / "bad.py").write_text(text.replace(before, after))
    code, out, err = call("score", runs[0], "--include", tmp_path / "bad.py")
    assert code == 2
    assert out == ""
    assert message in " ".join(err.split())
    assert len(err.splitlines()) == 1
