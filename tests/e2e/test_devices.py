"""Runs on devices: the recipe names device and precision, and a folder never mixes them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import windtunnel
from tests.conftest import Command
from tests.e2e.test_runs import shard_digests
from tests.unit.test_devices import OTHER_PROVIDER, Hungry, cuda_allocation, two_gpus
from windtunnel.core.errors import RunFailed, UserError

__all__ = ["two_gpus"]

COLUMNS = ["condition", "top", "top_score"]
FACTORY = """
import os
from pathlib import Path

import torch


def make():
    with (Path(__file__).parent / "loads.txt").open("a") as stream:
        stream.write(f"{os.getpid()}\\n")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
"""


@pytest.fixture
def factory(tmp_path: Path) -> str:
    (tmp_path / "factory.py").write_text(FACTORY)
    return f"{tmp_path}/factory.py:make"


def loading_processes(factory: str) -> set[int]:
    return set(map(int, Path(factory.rpartition(":")[0]).with_name("loads.txt").read_text().split()))


def test_a_model_on_an_accelerator_is_loaded_once_and_fed_by_pixel_workers(
    tmp_path: Path, factory: str, digit_folder: Path, two_gpus: list[str]
) -> None:
    options = windtunnel.RunOptions(subset=12, chunk=3, preprocess="cifar", batch=8)
    run = windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / "two", workers=2)
    assert loading_processes(factory) == {os.getpid()}
    assert (run.recipe.device, run.recipe.batch, run.info.hardware) == ("cuda", 8, "Imaginary 9000")
    alone = windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / "one", workers=1)
    assert shard_digests(run.path) == shard_digests(alone.path)
    on_cpu = windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / "cpu", device="cpu")
    assert on_cpu.predictions(COLUMNS).equals(run.predictions(COLUMNS))
    assert two_gpus == ["cuda", "cuda"]


def test_the_defaults_are_not_in_the_recipe_and_everything_else_is(
    tmp_path: Path, digit_folder: Path
) -> None:
    plans = {
        device: windtunnel.plan("demo", digit_folder, "smoke", device=device)
        for device in ("auto", "cpu", OTHER_PROVIDER)
    }
    assert plans["auto"].recipe == plans["cpu"].recipe
    assert not {"device", "precision"} & set(plans["cpu"].recipe.to_json())
    stored = plans[OTHER_PROVIDER].recipe.to_json()
    assert (stored["device"], stored["batch"]) == (OTHER_PROVIDER, 64)
    assert windtunnel.plan("demo", digit_folder, "smoke", batch=5).recipe.batch == 5


def test_a_folder_is_not_continued_on_another_device_or_in_another_precision(
    tmp_path: Path, factory: str, digit_folder: Path, two_gpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = windtunnel.RunOptions(subset=4, preprocess="cifar", only=["fog:1"])
    run = windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / "cpu", device="cpu")
    refused = r"contains a run with another device \(device cpu there, cuda here\); choose another folder"
    with pytest.raises(UserError, match=refused):
        windtunnel.run(factory, digit_folder, "smoke", options, out=run.path)
    refused = r"another precision \(precision float32 there, bfloat16 here\)"
    with pytest.raises(UserError, match=refused):
        windtunnel.run(
            factory, digit_folder, "smoke", options, out=run.path, device="cpu", precision="bfloat16"
        )
    # A GPU of another type is refused as well, if shards are missing.
    run = windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / "cuda")
    next((run.path / "shards").iterdir()).unlink()
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: "Imaginary 5000")
    with pytest.raises(
        UserError, match="was started on Imaginary 9000, but this is Imaginary 5000; continue"
    ):
        windtunnel.run(factory, digit_folder, "smoke", options, out=run.path)


def test_comparisons_of_different_arithmetic_carry_a_note(
    tmp_path: Path, factory: str, digit_folder: Path
) -> None:
    options = windtunnel.RunOptions(preprocess="cifar", only=["fog:1"])
    runs = [
        windtunnel.run(factory, digit_folder, "smoke", options, out=tmp_path / precision, precision=precision)
        for precision in ("float32", "bfloat16")
    ]
    note = (
        f"Different arithmetic: precision float32 in {tmp_path}/float32 and bfloat16 in {tmp_path}/bfloat16. "
        "It may change predictions by itself."
    )
    assert note in windtunnel.compare(*runs).warnings
    assert note in windtunnel.gate(runs[1], runs[0]).warnings
    same = windtunnel.compare(runs[0], runs[0]).warnings
    assert not any("Different arithmetic" in warning for warning in same)
    recipe = (runs[1].report().with_name("report.md")).read_text()
    assert "- device: cpu; bfloat16, 32 images in a batch" in recipe


def test_a_run_goes_on_in_smaller_batches_when_memory_runs_out(
    tmp_path: Path, digit_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = windtunnel.RunOptions(subset=12, chunk=6, only=["fog:1"], batch=16)
    hungry = Hungry(3, cuda_allocation)
    run = windtunnel.run(hungry, digit_folder, "smoke", options, out=tmp_path / "hungry")
    assert ["hungry ran out of memory with 16 images" in line for line in caplog.messages] == [True]
    assert run.recipe.batch == 16, "the declared size"
    modest = windtunnel.run(Hungry(99, cuda_allocation), digit_folder, "smoke", options, out=tmp_path / "all")
    assert run.predictions(COLUMNS).equals(modest.predictions(COLUMNS))
    assert set(run.predictions(["status"])["status"].to_pylist()) == {"ok"}


def test_a_model_that_no_longer_fits_at_all_stops_the_run(tmp_path: Path, digit_folder: Path) -> None:
    hungry = Hungry(99, cuda_allocation)
    model = windtunnel.load_model(hungry)
    hungry.fits = 0
    with pytest.raises(RunFailed, match="fails on every image: OutOfMemoryError"):
        windtunnel.run(model, digit_folder, "smoke", out=tmp_path / "full")


def test_the_command_line_runs_on_a_device_and_refuses_others_in_one_line(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    arguments = ("run", "demo", digit_folder, "--suite", "smoke", "--subset", 4, "--workers", 2)
    done = windtunnel_command(*arguments, "--device", OTHER_PROVIDER, "--out", "other", "--json")
    assert done.returncode == 0, done.stderr
    assert f"ONNX on {OTHER_PROVIDER}" in done.stderr
    assert json.loads(done.stdout)["recipe"]["device"] == OTHER_PROVIDER
    refused = windtunnel_command(*arguments, "--device", "cuda:7", "--out", "none")
    assert (refused.returncode, len(refused.stderr.strip().splitlines())) == (2, 1)
    assert "--device is 'cuda:7' and needs CUDAExecutionProvider" in refused.stderr
    assert "Give --device cpu" in refused.stderr
    for verb in ("doctor", "explain"):
        image = next(digit_folder.rglob("*.png"))
        target = digit_folder if verb == "doctor" else image
        refused = windtunnel_command(verb, "demo", target, "--device", "cuda")
        assert refused.returncode == 2 and "needs CUDAExecutionProvider" in refused.stderr


def test_a_model_on_an_accelerator_is_not_sent_to_other_processes(tmp_path: Path, digit_folder: Path) -> None:
    with pytest.raises(UserError, match="A model on an accelerator cannot be sent to another process"):
        windtunnel.run(
            "demo",
            digit_folder,
            "smoke",
            device=OTHER_PROVIDER,
            executor="processes",
            workers=1,
            out=tmp_path / "a",
        )


def test_a_run_file_names_device_precision_and_batch(
    tmp_path: Path, digit_folder: Path, factory: str
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        f'model = "{factory}"\ndata = "{digit_folder}"\nsuite = "smoke"\npreprocess = "cifar"\n'
        'device = "cpu"\nprecision = "float16"\nbatch = 7\n'
    )
    read = windtunnel.read_run_file(file)
    plan = windtunnel.plan(read.models[0], read.data, read.suite, read.options)
    assert (plan.recipe.device, plan.recipe.precision, plan.recipe.batch) == ("cpu", "float16", 7)


def test_a_model_of_ones_own_may_own_a_device(tmp_path: Path, digit_folder: Path) -> None:
    """A user's object with the attributes of a model is not placed anywhere else."""

    class Own:
        def __init__(self) -> None:
            loaded = windtunnel.load_model("demo")
            for name in ("name", "kind", "fingerprint", "classes", "class_count", "preprocess", "outputs",
                         "outputs_from", "trained_on", "about", "portable", "batch"):  # fmt: skip
                setattr(self, name, getattr(loaded, name))
            self.owns_device = True
            self._predict = loaded.predict

        def predict(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
            return self._predict(batch)

    model = windtunnel.load_model(Own(), batch=9)
    assert (model.owns_device, model.batch, model.placement.kind) == (True, 9, "cpu")
