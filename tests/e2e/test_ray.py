"""Runs, sets and trainings on a real Ray cluster of two nodes: the same bytes, whatever dies."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.ray_clusters import NODE, ray_cluster, stop
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.engine.executors.ray import ray as executor
from windtunnel.engine.jobs import Needs, Sent
from windtunnel.engine.ray_worker import RayWorker, Setup

# A model that takes its time, notes every image it is shown, and dies at a red one if a file says so.
MODEL = """
import os, pathlib, signal, time
import numpy as np

HERE = pathlib.Path(__file__).parent

def make():
    def predict(batch):
        deadly = HERE / "deadly"
        if deadly.exists() and (batch == (200, 10, 10)).all((1, 2, 3)).any():
            if deadly.read_text() == "once":
                deadly.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01 * len(batch))
        with (HERE / f"seen-{os.getpid()}").open("a") as seen:
            seen.write("x" * len(batch))
        return np.eye(10, dtype=np.float32)[batch.mean((1, 2, 3)).astype(int) % 10]
    return predict
"""
GIVEN: dict[str, Any] = {"suite": "smoke", "only": ["contrast:1"], "chunk": 4}
IMAGES, CHUNKS, VIEWS = 40, 10, 3
# Images that a worker is shown at most when it loads the model.
LOADING = 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(2) as started:
        yield started


@pytest.fixture
def address(cluster: Any) -> str:
    """The address of the cluster with two nodes alive."""
    if not cluster.worker_nodes:
        cluster.add_node(**NODE)
    return str(cluster.address)


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "model" / "slow.py"
    file.parent.mkdir()
    file.write_text(MODEL)
    return f"{file}:make"


@pytest.fixture
def digit_folder(digit_folder: Path) -> Path:
    """Digits, of which the last is a red square."""
    Image.new("RGB", (32, 32), (200, 10, 10)).save(sorted(digit_folder.rglob("*.png"))[-1])
    return digit_folder


@pytest.fixture
def usual(tmp_path: Path, model: str, digit_folder: Path) -> dict[str, bytes]:
    """The shards of the same run in this process."""
    run = windtunnel.run(model, digit_folder, out=tmp_path / "usual", **GIVEN)
    for noted in (tmp_path / "model").glob("seen-*"):
        noted.unlink()
    return shards(run.path)


def shards(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "shards").glob("*.parquet")}


def seen(model: str) -> list[int]:
    """How many images each worker has been shown; a few of them when it loads the model."""
    folder = Path(model.rpartition(":")[0]).parent
    return [file.stat().st_size for file in folder.glob("seen-*") if file.name != f"seen-{os.getpid()}"]


def when_stored(run: Path, count: int, act: Callable[[], object]) -> threading.Thread:
    """Act as soon as a run has so many shards."""

    def wait() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and len(shards(run)) < count:
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cluster_gives_the_bytes_of_one_process(
    tmp_path: Path, address: str, model: str, digit_folder: Path, usual: dict[str, bytes]
) -> None:
    calls: list[tuple[int, int]] = []

    def progress(done: int, total: int, failed: int = 0, /) -> None:
        calls.append((done, total))

    run = windtunnel.run(
        model, digit_folder, out=tmp_path / "run", executor="ray", address=address, progress=progress, **GIVEN
    )
    assert len(usual) == CHUNKS and shards(run.path) == usual
    # One worker per CPU of the cluster; progress is added up before it is sent.
    assert len(seen(model)) == 2
    assert sum(done for done, _ in calls) == IMAGES * VIEWS == calls[0][1]
    assert len(calls) <= 4 * CHUNKS


def test_a_made_set_is_the_same(tmp_path: Path, address: str, digit_folder: Path) -> None:
    given: dict[str, Any] = {"only": ["fog:3"], "layout": "folders"}
    one = windtunnel.make_set("imagenet-c", digit_folder, tmp_path / "one", **given)
    two = windtunnel.make_set(
        "imagenet-c", digit_folder, tmp_path / "two", executor="ray", address=address, **given
    )
    contents = [
        {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (one, two)
    ]
    assert contents[0] == contents[1] and len(contents[0]) > 2 * IMAGES


def test_a_node_that_dies_costs_only_its_chunk(
    tmp_path: Path, cluster: Any, address: str, model: str, digit_folder: Path, usual: dict[str, bytes]
) -> None:
    (node,) = cluster.worker_nodes
    run = tmp_path / "run"
    killing = when_stored(run, 2, lambda: cluster.remove_node(node, allow_graceful=False))
    finished = windtunnel.run(model, digit_folder, out=run, executor="ray", address=address, **GIVEN)
    killing.join()
    assert not cluster.worker_nodes
    assert shards(finished.path) == usual
    workers = seen(model)
    assert sum(workers) - IMAGES * VIEWS <= GIVEN["chunk"] * VIEWS + LOADING * len(workers)


def test_a_killed_worker_is_replaced(
    tmp_path: Path, address: str, model: str, digit_folder: Path, usual: dict[str, bytes]
) -> None:
    """The system kills a process with SIGKILL when memory is short."""
    deadly = tmp_path / "model" / "deadly"
    deadly.write_text("once")
    done: list[int] = []

    def progress(more: int, _total: int, _failed: int = 0, /) -> None:
        done.append(more)

    run = windtunnel.run(
        model, digit_folder, out=tmp_path / "run", executor="ray", address=address, progress=progress, **GIVEN
    )
    assert not deadly.exists() and shards(run.path) == usual
    assert sum(done) == IMAGES * VIEWS


def test_a_chunk_that_kills_three_workers_ends_the_run_which_can_be_continued(
    tmp_path: Path, address: str, model: str, digit_folder: Path, usual: dict[str, bytes]
) -> None:
    deadly = tmp_path / "model" / "deadly"
    deadly.write_text("always")
    run = tmp_path / "run"
    with pytest.raises(RunFailed, match=r"a worker died 3 times \(.*memory.*\) on the images from .*png to"):
        windtunnel.run(model, digit_folder, out=run, executor="ray", address=address, **GIVEN)
    stored = shards(run)
    assert stored.items() <= usual.items() and len(stored) < CHUNKS
    deadly.unlink()
    windtunnel.run(model, digit_folder, out=run, **GIVEN)
    assert shards(run) == usual


def test_a_cluster_that_vanishes_ends_the_run_which_can_be_continued(
    tmp_path: Path, model: str, digit_folder: Path, usual: dict[str, bytes]
) -> None:
    run = tmp_path / "run"
    with ray_cluster(1) as own:
        address = str(own.address)
        killing = when_stored(run, 2, lambda: stop(own))
        with pytest.raises(RunFailed, match=r"the Ray cluster .*is gone") as failure:
            windtunnel.run(model, digit_folder, out=run, executor="ray", address=address, **GIVEN)
        killing.join()
    assert f"of 120 predictions are stored in {run}" in failure.value.__notes__[0]
    assert 2 <= len(shards(run)) < CHUNKS
    windtunnel.run(model, digit_folder, out=run, **GIVEN)
    assert shards(run) == usual
    with pytest.raises(UserError, match="Nothing answers at address="):
        windtunnel.run(model, digit_folder, out=run, executor="ray", address=address, **GIVEN)


def test_an_interruption_stops_a_ray_of_this_machine(tmp_path: Path, model: str, digit_folder: Path) -> None:
    run = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "windtunnel",
        "run",
        model,
        digit_folder,
        "--suite",
        "imagenet-c",
        "--chunk",
        4,
    ]
    command += ["--executor", "ray", "--workers", 1, "--out", run]
    with subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that a shell starts in the background inherit that Ctrl-C is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        # A terminal sends Ctrl-C to all processes of the command.
        when_stored(run, 1, lambda: os.killpg(process.pid, signal.SIGINT)).join()
        out, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == "" and "Traceback" not in told
    assert "stopped. " in told and f"are stored in {run}" in told
    assert shards(run)
    until = time.monotonic() + 20
    while left := running(process.pid):  # a worker ends when it notices that its Ray is gone
        assert time.monotonic() < until, left


def running(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    listed = subprocess.run(["ps", "-eo", "sid,stat,args"], capture_output=True, text=True, check=True).stdout
    found = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [args for sid, stat, args in found if sid == str(session) and not stat.startswith("Z")]


class Nothing:
    """A job of one item that needs something."""

    def __init__(self, needs: Needs) -> None:
        self.needs = needs

    def begin(self) -> Callable[..., None]:
        return lambda _item, _advance: None


def setup(needs: Needs, folder: Path) -> Setup:
    sent = Sent.packed(Nothing(needs), ())
    return Setup(sent, needs.inputs, needs.output, needs.versions, str(folder), ())


def test_a_node_without_the_files_folder_or_versions_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = tmp_path / "val"
    outcome, error = RayWorker().begin(setup(Needs(inputs=(missing,)), tmp_path), None)
    assert outcome == "failed" and isinstance(error, UserError)
    assert str(error).startswith(f"{missing} does not exist on node {os.uname().nodename}, where Ray")
    assert "a file system that all nodes share" in str(error)
    _, error = RayWorker().begin(setup(Needs(output=tmp_path), tmp_path), tmp_path / "made-elsewhere")
    assert "is not the folder of this machine" in str(error)
    _, error = RayWorker().begin(setup(Needs(versions={"numpy": "1.0"}), tmp_path), None)
    assert "and 1.0 on this machine, so results would differ" in str(error)
    assert RayWorker().begin(setup(Needs(output=tmp_path), tmp_path), tmp_path) == ("done", None)


def test_a_plug_in_file_reaches_a_machine_that_does_not_have_it(tmp_path: Path) -> None:
    file = tmp_path / "paint.py"
    file.write_text(
        "from windtunnel.imaging.resizers import resizer\n"
        "@resizer(help='Nothing.', filters={'a': 0})\n"
        "def paint(image, width, height, filter_):\n    return image\n"
        "class Kept:\n    word = 'kept'\n"
    )
    windtunnel.include(file)
    (module,) = [value for name, value in sys.modules.items() if name.startswith("windtunnel_included_paint")]
    sent = Sent.packed(module.Kept(), [file])
    file.write_text("raise SystemExit('another version')")
    read = (
        "import pickle, sys\n"
        "from windtunnel.imaging.resizers import resizer_names\n"
        "kept = pickle.loads(sys.stdin.buffer.read()).received()\n"
        "assert kept.word == 'kept' and 'paint-a' in resizer_names()\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", read], input=pickle.dumps(sent), check=True)
        file.unlink(missing_ok=True)


@pytest.mark.parametrize("address", ["user:secret@host:1", "ray://host:1", ""])
def test_an_address_that_may_hold_a_password_is_not_repeated(address: str) -> None:
    with pytest.raises(UserError, match="address must be auto or HOST:PORT") as refusal:
        executor.worker_count(1, address)
    assert "secret" not in str(refusal.value)


def test_an_overlap_study_is_the_same(tmp_path: Path, address: str) -> None:
    from windtunnel.data.demo import digits

    images, classes = digits()
    np.savez(tmp_path / "digits.npz", train_images=images[:64], train_labels=classes[:64],
             test_images=images[64:96], test_labels=classes[64:96])  # fmt: skip
    given: dict[str, Any] = {"candidates": ["contrast:5", "fog:5"], "seeds": 1, "epochs": 1}
    data = f"{tmp_path / 'digits.npz'}#train", f"{tmp_path / 'digits.npz'}#test"
    here = windtunnel.overlap(*data, tmp_path / "here", **given)
    there = windtunnel.overlap(*data, tmp_path / "there", **given, executor="ray", address=address)
    assert here == there
    for name in ("accuracies.csv", "overlap.csv", "overlap.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_an_experiment_is_the_same(tmp_path: Path, address: str) -> None:
    from windtunnel.data.demo import digits

    images, classes = digits()
    np.savez(tmp_path / "digits.npz", train_images=images[:60], train_labels=classes[:60],
             test_images=images[60:90], test_labels=classes[60:90])  # fmt: skip
    file = tmp_path / "experiment.toml"
    file.write_text(
        """
name = "digits"
network = "small"
preprocess = "cifar"
baseline = "standard"
seeds = 1
suites = ["smoke"]
severities = [3]
data = { train = "digits.npz#train", test = "digits.npz#test" }
settings = { epochs = 1, batch = 20 }
[variants.standard]
[variants.cutout]
images = ["cutout"]
[variants.flip]
from = "cutout"
wrappers = ["flip"]
"""
    )
    here = windtunnel.experiment(file, tmp_path / "here")
    there = windtunnel.experiment(file, tmp_path / "there", executor="ray", address=address)
    assert here == there


def test_a_training_on_a_worker_has_the_weights_of_one_here(tmp_path: Path, address: str) -> None:
    import torch

    from windtunnel.train import Geometry, Preprocess, Settings, Tensor, fit

    def trained(out: str, **where: str) -> tuple[Any, list[tuple[int, float]]]:
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 10))
        told: list[tuple[int, float]] = []
        preprocess = Preprocess(Geometry(rule="exact", crop_px=8), Tensor())
        settings = Settings(epochs=2, batch=64)
        done = fit(
            module, "demo", tmp_path / out, preprocess=preprocess, settings=settings,
            advance=lambda epoch, loss: told.append((epoch, loss)), **where,
        )  # fmt: skip
        assert [loss for _, loss in told] == list(done.losses)
        return module.state_dict(), told

    here, told_here = trained("here")
    there, told_there = trained("there", executor="ray", address=address)
    assert told_here == told_there and len(told_there) == 2
    assert all(torch.equal(here[name], there[name]) for name in here)
    assert not list((tmp_path / "there").glob("*.unfinished"))
