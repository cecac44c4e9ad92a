"""Pixel workers for models that predict in one process: the same shards, bounded memory, no word lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import windtunnel
from tests.e2e.test_runs import shard_digests
from windtunnel.core.errors import RunFailed
from windtunnel.data.arrays import ArrayDataset

Batch = NDArray[np.uint8]


def corner_scores(images: Batch) -> NDArray[np.float32]:
    """Ten scores that depend on every pixel."""
    flat = images.reshape(len(images), -1).astype(np.float32)
    weights = np.random.default_rng(0).normal(size=(flat.shape[1], 10)).astype(np.float32)
    return flat @ weights


@pytest.mark.parametrize("suite", ["smoke", "imagenet-p-quick"])
def test_a_live_model_fed_by_workers_gives_the_shards_of_one_process(
    tmp_path: Path, digit_folder: Path, suite: str
) -> None:
    options = windtunnel.RunOptions(subset=12, chunk=3)
    runs = [
        windtunnel.run(
            corner_scores, digit_folder, suite, options, out=tmp_path / str(workers), workers=workers
        )
        for workers in (1, 2)
    ]
    assert shard_digests(runs[0].path) == shard_digests(runs[1].path)
    assert not list(Path("/dev/shm").glob(f"windtunnel-{os.getpid()}-*"))


def test_failed_images_and_other_sizes_reach_the_rows(tmp_path: Path, digit_folder: Path) -> None:
    (digit_folder / "0" / "torn.png").write_bytes(next(digit_folder.rglob("*.png")).read_bytes()[:90])
    (tmp_path / "any.toml").write_text('[geometry]\nrule = "none"\n')
    Image.fromarray(np.full((50, 70, 3), 90, np.uint8)).save(digit_folder / "0" / "wide.png")

    def sized(images: Batch) -> NDArray[np.float32]:
        return corner_scores(images[:, :16, :16])

    runs = [
        windtunnel.run(
            sized,
            digit_folder,
            "smoke",
            out=tmp_path / str(workers),
            workers=workers,
            chunk=5,
            preprocess=tmp_path / "any.toml",
        )
        for workers in (1, 3)
    ]
    assert shard_digests(runs[0].path) == shard_digests(runs[1].path)
    statuses = runs[1].predictions()["status"].to_pylist()
    assert statuses.count("unreadable") == 11 and statuses.count("ok") == 41 * 11


def test_a_pixel_worker_that_dies_is_replaced(
    tmp_path: Path, digit_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = windtunnel.run(corner_scores, digit_folder, "smoke", out=tmp_path / "alone", chunk=2)
    pids = children_started(monkeypatch)

    def killing(images: Batch) -> NDArray[np.float32]:
        if len(pids) == 2:
            os.kill(pids[0], signal.SIGKILL)
            pids.append(0)
        return corner_scores(images)

    killing.__name__ = "corner_scores"
    counted = []
    run = windtunnel.run(
        killing, digit_folder, "smoke", out=tmp_path / "killed", chunk=2, workers=2,
        progress=lambda done, total, failed=0: counted.append((done, total)),
    )  # fmt: skip
    assert sum(done for done, _ in counted) == counted[-1][1] == 440
    assert len(pids) == 4  # two workers, the mark of the kill, and the replacement
    columns = ["condition", "top", "top_score"]
    assert run.predictions(columns).equals(alone.predictions(columns))


def test_a_worker_that_dies_again_and_again_stops_the_run(tmp_path: Path, digit_folder: Path) -> None:
    included = tmp_path / "deadly.py"
    included.write_text(
        "import os\n"
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=('to',), severities={32: ((1,),) * 5, 64: ((1,),) * 5, 224: ((1,),) * 5,\n"
        "    299: ((1,),) * 5}, imitates='x', met_by='x', family='noise', source='x', golden='')\n"
        "def deadly(image, rng, *, to):\n"
        "    '''End the process that makes real images.'''\n"
        "    if image.any() and os.environ.get('DEADLY'):\n"
        "        os._exit(9)\n"
        "    return image.copy()\n"
    )
    os.environ["DEADLY"] = ""
    try:
        options = windtunnel.RunOptions(include=[included], only=["deadly:1"], chunk=10)
        prepared = windtunnel.plan(corner_scores, digit_folder, "smoke", options)
        assert len(prepared.chunks) == 4
        os.environ["DEADLY"] = "1"
        with pytest.raises(RunFailed, match=r"a worker died 2 times .* on the images from"):
            windtunnel.run(corner_scores, digit_folder, "smoke", options, out=tmp_path / "run", workers=2)
    finally:
        del os.environ["DEADLY"]


def test_arrays_in_memory_stay_in_one_process(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> None:
    data = ArrayDataset(digits[0][:20], digits[1][:20])
    with pytest.raises(windtunnel.UserError, match=r"cannot be sent to worker processes; use workers=1"):
        windtunnel.run(corner_scores, data, "smoke", out=tmp_path / "run", workers=2)


def children_started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the processes that pixel feeding starts from now on."""
    from windtunnel.engine import feeding

    pids: list[int] = []
    original = feeding.start_uninterruptible

    def noting(process: object) -> None:
        original(process)  # type: ignore[arg-type]
        pids.append(process.pid)  # type: ignore[attr-defined]

    monkeypatch.setattr(feeding, "start_uninterruptible", noting)
    return pids


def test_a_model_may_keep_its_input(tmp_path: Path, digit_folder: Path) -> None:
    inputs: list[Batch] = []

    def keeping(images: Batch) -> NDArray[np.float32]:
        inputs.append(images)
        return corner_scores(images)

    windtunnel.run(keeping, digit_folder, "smoke", out=tmp_path / "run", chunk=2, workers=2)
    kept = {images.tobytes() for images in inputs}
    alone: list[Batch] = []
    inputs, alone = [], inputs
    windtunnel.run(keeping, digit_folder, "smoke", out=tmp_path / "again", chunk=2)
    assert kept == {images.tobytes() for images in inputs} and len(alone) == len(inputs)


def test_a_chunk_without_any_readable_image_does_not_block(tmp_path: Path, digit_folder: Path) -> None:
    """Long messages from both ends at once: neither waits for the other."""
    for number in range(1500):
        (digit_folder / "0" / f"{number:0180d}.png").write_bytes(b"no image")
    run = windtunnel.run(corner_scores, digit_folder, "smoke", out=tmp_path / "run", chunk=500, workers=2)
    statuses = run.predictions(["status"])["status"].to_pylist()
    assert statuses.count("unreadable") == 1500 * 11 and statuses.count("ok") == 440
