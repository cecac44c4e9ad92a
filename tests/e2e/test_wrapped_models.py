"""Models in wrappers through the command line: runs, workers, comparisons, explanations and temperatures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.data.demo import demo_model_path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrapped")
    for name, model in (("plain", "demo"), ("equalised", "clahe|demo"), ("flipped", "flip|demo")):
        windtunnel.run(model, "demo", "smoke", out=root / name, subset=40)
    return root


def test_the_recipe_names_the_wrapper(runs: Path) -> None:
    recipe = json.loads((runs / "equalised" / "run.json").read_text())["recipe"]
    assert recipe["model"]["wrappers"] == [{"name": "clahe", "settings": {"clip": 2.0, "tiles": 8}}]
    plain = json.loads((runs / "plain" / "run.json").read_text())["recipe"]
    assert "wrappers" not in plain["model"]
    page = windtunnel.load_run(runs / "equalised").report()
    assert "clahe(clip=2, tiles=8) (test time only); 1 forward pass per image" in Path(page).read_text()
    page = windtunnel.load_run(runs / "flipped").report()
    assert "flip; 2 forward passes per image" in Path(page).read_text()
    assert "probabilities (averaged over 2 views)" in Path(page).read_text()


def test_workers_load_the_wrapped_model_again(
    runs: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    for workers in (1, 2):
        done = windtunnel_command(
            "run", "clahe|demo", "demo", "--suite", "smoke", "--subset", 40, "--workers", workers,
            "--out", f"by-{workers}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "wrappers clahe(clip=2, tiles=8) (test time only); 1 forward pass per image" in done.stderr
    first, second, live = (
        windtunnel.load_run(folder).predictions()
        for folder in (
            tmp_path / "by-1",
            tmp_path / "by-2",
            runs / "equalised",
        )
    )
    assert first.equals(second) and first.equals(live)


def test_compare_and_gate_work(runs: Path, windtunnel_command: Command) -> None:
    compared = windtunnel_command("compare", runs / "plain", runs / "equalised", runs / "flipped", "--json")
    assert compared.returncode == 0, compared.stderr
    document = json.loads(compared.stdout)
    assert [run["model"] for run in document["runs"]] == [
        "digits", "digits + clahe (test time only)", "digits + flip",
    ]  # fmt: skip
    assert document["paired"]
    gated = windtunnel_command(
        "gate", runs / "flipped", "--against", runs / "plain", "--rule", "mean_error <= +90"
    )
    assert gated.returncode == 0, gated.stdout + gated.stderr


def test_a_changed_parameter_is_another_recipe(runs: Path, windtunnel_command: Command) -> None:
    given = ("demo", "--suite", "smoke", "--subset", 40, "--out", runs / "equalised")
    other = windtunnel_command("run", "clahe(clip=3)|demo", *given)
    assert other.returncode == 2 and "model" in other.stderr
    same = windtunnel_command("run", "clahe(clip=2)|demo", *given)
    assert same.returncode == 0, same.stderr


def test_explain_occludes_and_refuses_gradients(tmp_path: Path, windtunnel_command: Command) -> None:
    digit = np.asarray(windtunnel.open_dataset("demo").read(windtunnel.open_dataset("demo").samples()[0]))
    Image.fromarray(digit).save(tmp_path / "digit.png")
    done = windtunnel_command("explain", "flip|demo", "digit.png")
    assert done.returncode == 0, done.stderr
    refused = windtunnel_command("explain", "flip|demo", "digit.png", "--method", "grad-cam")
    assert refused.returncode == 2
    assert (
        "digits + flip has wrappers; give --method occlusion, or the model without wrappers."
        in refused.stderr
    )


def test_the_doctor_checks_the_base_model(windtunnel_command: Command) -> None:
    done = windtunnel_command("doctor", "tencrop|demo", "demo", "--subset", 60, "--json")
    plain = windtunnel_command("doctor", "demo", "demo", "--subset", 60, "--json")
    assert done.returncode == plain.returncode
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    refused = windtunnel_command("doctor", "tencrop|demo", "demo", "--write")
    assert refused.returncode == 2 and "needs a model file of your own" in refused.stderr


def test_a_run_file_has_a_wrapped_model_next_to_it(tmp_path: Path, windtunnel_command: Command) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    for suffix in ("", ".toml"):
        shutil.copy(f"{demo_model_path()}{suffix}", folder / f"m.onnx{suffix}")
    (folder / "run.toml").write_text('model = "flip|m.onnx"\ndata = "demo"\nsuite = "smoke"\nsubset = 10\n')
    done = windtunnel_command("plan", "there/run.toml")
    assert done.returncode == 0, done.stderr
    assert "m + flip" in done.stdout and "2 forward passes per image" in done.stdout


def test_numerics_keep_the_wrapper(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    run = windtunnel.run(
        "clahe|demo", "demo", "systematic", only=["numerics=float16"], subset=10, out=tmp_path / "run"
    )
    assert any(score.condition == "numerics=float16" for score in run.scores())
