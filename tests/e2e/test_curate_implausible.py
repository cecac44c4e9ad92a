"""Filter models whose predictions cannot be right are reported, since every candidate seems hard to them."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel import api
from windtunnel.models import Model, load_model

COUNT = 150
DECLARED = """
labels = ["a", "b", "c", "d", "e"]
[geometry]
rule = "exact"
crop_px = 32
"""
# A model file: the grey level is the class, moved by a step.
CODE = """
import numpy as np

def right():
    return lambda images: 9 * np.eye(5, dtype=np.float32)[(images[:, 0, 0, 0] // 50) % 5]

def shifted():
    return lambda images: 9 * np.eye(5, dtype=np.float32)[(images[:, 0, 0, 0] // 50 + 1) % 5]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of images whose grey level is their class; every fifth label is wrong."""
    for number in range(COUNT):
        label = "abcde"[(number + (number % 5 == 0)) % 5]
        path = tmp_path / "images" / label / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        image = np.full((32, 32, 3), 50 * (number % 5) + 10, np.uint8)
        image[number % 16, number // 16 + 1] = 0
        Image.fromarray(image).save(path)
    api.collect_candidates(tmp_path / "images", tmp_path / "project")
    (tmp_path / "net.py").write_text(CODE)
    (tmp_path / "declared.toml").write_text(DECLARED)
    return tmp_path / "project"


@pytest.fixture
def declared(tmp_path: Path) -> Callable[[str], Model]:
    return lambda name: load_model(f"{tmp_path / 'net.py'}:{name}", tmp_path / "declared.toml")


def test_a_plausible_model_gives_no_warning(project: Path, declared: Callable[[str], Model]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", windtunnel.ImplausibleScores)
        summary = api.filter_hard(project, [declared("right")]).summary
    assert summary.warnings == () and summary.accuracies == (0.8,)


def test_a_model_near_chance_is_reported(project: Path, declared: Callable[[str], Model]) -> None:
    with pytest.warns(windtunnel.ImplausibleScores, match="shifted classifies .* of 150 candidates"):
        summary = api.filter_hard(project, [declared("right"), declared("shifted")], pair_cap=0).summary
    (text,) = summary.warnings
    assert "shuffled labels give" in text and "windtunnel doctor MODEL DATA" in text


def test_a_held_out_model_near_chance_is_reported(project: Path, declared: Callable[[str], Model]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", windtunnel.ImplausibleScores)
        api.filter_hard(project, [declared("shifted")], max_true_confidence=1.0, pair_cap=0)
    api.measure_transfer(project, [declared("right")])
    other = declared("shifted")
    other.fingerprint += "-again"
    with pytest.warns(windtunnel.ImplausibleScores, match="shifted classifies"):
        api.measure_transfer(project, [other])


def test_probabilities_declared_as_logits_are_reported(project: Path, tmp_path: Path) -> None:
    with (tmp_path / "net.py").open("a") as code:
        code.write("def softmax():\n    return lambda images: right()(images) / 9\n")
    for outputs, expected in (("logits", 1), ("probabilities", 0)):
        (tmp_path / "net.toml").write_text(f'outputs = "{outputs}"\n{DECLARED}')
        model = load_model(f"{tmp_path / 'net.py'}:softmax", tmp_path / "net.toml")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            summary = api.filter_hard(project, [model]).summary
            run = windtunnel.run(model, tmp_path / "images", "smoke", subset=10, out=tmp_path / outputs)
        texts = [str(warning.message) for warning in caught if "declared to return logits" in str(warning)]
        assert len([text for text in summary.warnings if "declared to return logits" in text]) == expected
        assert len(texts) == 2 * expected
        assert len([text for text in run.warnings if "declared to return logits" in text]) == expected


def test_classes_that_a_model_lacks_are_refused_with_advice_that_can_be_followed(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    (tmp_path / "net.py.toml").write_text('labels = ["v", "w", "x", "y", "z"]\n')
    done = windtunnel_command("curate", "hard", project, "--filter", f"{tmp_path / 'net.py'}:right")
    assert done.returncode == 2
    assert "--classes TAGS.csv of collect" in done.stderr and "--map" not in done.stderr


def test_a_run_in_which_one_class_competes_is_reported(
    project: Path, tmp_path: Path, declared: Callable[[str], Model]
) -> None:
    shutil.copytree(tmp_path / "images" / "b", tmp_path / "one" / "b")
    (tmp_path / "map.csv").write_text("output,class\na,b\nb,b\n")
    with pytest.warns(windtunnel.ImplausibleScores, match="Only one class competes"):
        windtunnel.run(
            declared("right"), tmp_path / "one", "smoke", subset=10, label_map=tmp_path / "map.csv",
            out=tmp_path / "run",
        )  # fmt: skip


@pytest.mark.parametrize("step", ["hard", "ood"])
def test_undeclared_preprocessing_is_one_line(
    project: Path, tmp_path: Path, windtunnel_command: Command, step: str
) -> None:
    names = "efghi" if step == "ood" else "abcde"  # with no class in common, ood warns of that too
    (tmp_path / "net.py.toml").write_text(f"labels = {json.dumps(list(names))}\n")
    printed = windtunnel_command(
        "curate", step, str(project), "--filter", f"{tmp_path / 'net.py'}:right", "--workers", "1", "--json"
    )
    assert printed.returncode == 0, printed.stderr
    (line,) = [line for line in printed.stderr.splitlines() if "WARNING" in line]
    assert "preprocessing of right is not declared" in line
    assert json.loads(printed.stdout)["summary"]["warnings"] == [line.split("WARNING")[1].strip()]
