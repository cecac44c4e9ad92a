"""Several models over the same images: images are made once, and every run is as if it were alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import windtunnel
from tests.conftest import Command
from tests.e2e.test_runs import shard_digests
from tests.onnx_models import write_colour_model
from windtunnel.corruptions import REGISTRY


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    # One of them takes another size, so that its inputs are resized and its native images are its own.
    return [
        write_colour_model(tmp_path / "small.onnx", side=32),
        write_colour_model(tmp_path / "large.onnx", side=48, layout="nhwc"),
        write_colour_model(tmp_path / "fixed.onnx", side=32, batch=4),
    ]


def run_alone(models: list[Path], data: Path, suite: str, out: Path) -> list[dict[str, str]]:
    return [
        shard_digests(windtunnel.run(model, data, suite, out=out / f"{model.stem}-alone", chunk=7).path)
        for model in models
    ]


@pytest.mark.parametrize("suite", ["smoke", "systematic"])
def test_every_run_equals_the_run_of_its_model_alone(
    tmp_path: Path, digit_folder: Path, models: list[Path], suite: str
) -> None:
    alone = run_alone(models, digit_folder, suite, tmp_path)
    runs = windtunnel.run_models(models, digit_folder, suite, out=tmp_path / "runs", chunk=7)
    assert [run.path for run in runs] == [tmp_path / "runs" / model.stem for model in models]
    assert [shard_digests(run.path) for run in runs] == alone


def test_workers_and_interrupted_runs_give_the_same_shards(
    tmp_path: Path, digit_folder: Path, models: list[Path]
) -> None:
    alone = run_alone(models, digit_folder, "smoke", tmp_path)
    out = tmp_path / "runs"
    windtunnel.run(models[1], digit_folder, "smoke", out=out / "large", chunk=7)
    for shard in sorted((out / "large" / "shards").iterdir())[::2]:
        shard.unlink()
    runs = windtunnel.run_models(models, digit_folder, "smoke", out=out, chunk=7, workers=2)
    assert [shard_digests(run.path) for run in runs] == alone


def test_images_are_made_once(
    tmp_path: Path, digit_folder: Path, models: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[str] = Counter()
    unit = REGISTRY.get("fog")
    original = type(unit).apply

    def counting(self: object, *arguments: object, **keywords: object) -> object:
        made["fog"] += 1
        return original(self, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(type(unit), "apply", counting)
    options = windtunnel.RunOptions(only=["fog:3"], subset=10)
    for count in (1, 3):
        made.clear()
        windtunnel.run_models(models[:count], digit_folder, "smoke", options, out=tmp_path / str(count))
        assert made["fog"] - 1 == 10  # and once on a small image, to compile


def test_live_models_take_part(tmp_path: Path, digit_folder: Path, models: list[Path]) -> None:
    def brightest(images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.eye(10, dtype=np.float32)[images.mean((1, 2, 3)).astype(int) * 10 // 256]

    small, live = windtunnel.run_models([models[0], brightest], digit_folder, "smoke", out=tmp_path / "runs")
    assert len(small.predictions()) == len(live.predictions()) == 40 * 11


def test_the_command_line_runs_and_reports_each(
    tmp_path: Path, digit_folder: Path, models: list[Path], windtunnel_command: Command
) -> None:
    given = (
        "run",
        *models[:2],
        digit_folder,
        "--suite",
        "smoke",
        "--subset",
        "10",
        "--out",
        tmp_path / "runs",
    )
    done = windtunnel_command(*given)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("mean error") == 2
    for model in models[:2]:
        assert (tmp_path / "runs" / model.stem / "report.html").is_file()
    documents = json.loads(windtunnel_command(*given, "--json").stdout)
    assert [document["info"]["model"]["name"] for document in documents] == ["small", "large"]


def test_mistakes_are_refused_before_any_work(
    tmp_path: Path, digit_folder: Path, models: list[Path], windtunnel_command: Command
) -> None:
    with pytest.raises(windtunnel.UserError, match=r"Two models have the run folder .*small"):
        windtunnel.run_models([models[0], models[0]], digit_folder, "smoke", out=tmp_path / "runs")
    with pytest.raises(windtunnel.UserError, match="at least one"):
        windtunnel.run_models([], digit_folder, "smoke")
    done = windtunnel_command(
        "run", models[0], tmp_path / "missing.onnx", digit_folder, "--out", tmp_path / "r"
    )
    assert done.returncode == 2 and "missing.onnx" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_run_file_lists_models(tmp_path: Path, digit_folder: Path, models: list[Path]) -> None:
    file = tmp_path / "run.toml"
    file.write_text('model = ["small.onnx", "large.onnx"]\ndata = "digit-files"\nsuite = "smoke"\n')
    described = windtunnel.read_run_file(file)
    assert described.models == (str(models[0]), str(models[1]))
    file.write_text('model = [1]\ndata = "digit-files"\n')
    with pytest.raises(windtunnel.UserError, match="a string or a list of strings"):
        windtunnel.read_run_file(file)
