"""A real torch DataLoader: workers and epochs never repeat noise, and the index brings it back."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from windtunnel.corruptions import REGISTRY
from windtunnel.suites.golden_digests import golden_image
from windtunnel.transforms import Corrupt, CorruptedDataset, RandomCorrupt

COUNT = 12
EVEN = torch.full((3, 32, 32), 128, dtype=torch.uint8)
CONTEXTS = ("fork", "spawn")


class Images:
    """The same even image many times over: whatever differs afterwards is noise."""

    def __init__(self, transform: Any = None) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index >= COUNT:
            raise IndexError(index)
        return (EVEN if self.transform is None else self.transform(EVEN)), index


class EveryCorruption:
    """Image i under corruption i, at a size where OpenCV starts threads."""

    def __init__(self) -> None:
        units = map(REGISTRY.get, REGISTRY.shipped())
        self.transforms = [Corrupt(unit.name, 3 if unit.severities else None, seed=0) for unit in units]

    def __len__(self) -> int:
        return len(self.transforms)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.transforms[index](golden_image(300), index=index)


def read(loader: DataLoader[Any]) -> dict[int, bytes]:
    """One epoch: the pixels of every image by its index."""
    return {
        int(index): image.numpy().tobytes()
        for images, indices in loader
        for image, index in zip(images, indices, strict=True)
    }


def loader(dataset: Any, context: str | None, workers: int = 2, **options: Any) -> DataLoader[Any]:
    return DataLoader(dataset, 2, num_workers=workers, multiprocessing_context=context, **options)


@pytest.mark.parametrize(
    ("context", "persistent", "seed"),
    [
        ("fork", False, None),
        ("fork", True, None),
        ("fork", False, 5),
        ("fork", True, 5),
        ("spawn", True, None),
        ("spawn", False, 5),
        ("spawn", True, 5),
    ],
)
def test_without_index_no_noise_repeats(context: str, persistent: bool, seed: int | None) -> None:
    transform = Corrupt("gaussian_noise", seed=seed)
    transform(EVEN)  # a fork inherits a transform that has been used
    loading = loader(Images(transform), context, persistent_workers=persistent)
    epochs = [read(loading) for _ in range(2 if context == "spawn" else 4)]
    noises = [noise for epoch in epochs for noise in epoch.values()]
    assert len(set(noises)) == len(noises) == COUNT * len(epochs)
    assert EVEN.numpy().tobytes() not in noises


def test_without_workers_no_noise_repeats() -> None:
    loading = loader(Images(Corrupt("gaussian_noise", seed=5)), None, workers=0)
    assert len({noise for _ in range(3) for noise in read(loading).values()}) == 3 * COUNT


def test_without_index_torchs_seed_brings_the_noise_back() -> None:
    def epochs(torch_seed: int) -> list[dict[int, bytes]]:
        torch.manual_seed(torch_seed)
        loading = loader(Images(Corrupt("gaussian_noise", seed=5)), "fork")
        return [read(loading) for _ in range(2)]

    first = epochs(1)
    assert epochs(1) == first
    assert not set(epochs(2)[0].values()) & set(first[0].values())


def test_seed_and_index_make_the_same_pixels_in_any_process_and_order() -> None:
    for transform in (Corrupt("gaussian_noise", seed=5), RandomCorrupt(seed=5)):
        made = CorruptedDataset(Images(), transform)
        wanted = {index: image.numpy().tobytes() for image, index in made}
        shuffled = loader(made, "fork", shuffle=True)
        assert read(loader(made, None, workers=0)) == wanted
        assert read(loader(made, "fork", workers=1)) == wanted
        assert read(shuffled) == read(shuffled) == wanted
    assert read(loader(made, "spawn")) == wanted


@pytest.mark.parametrize(
    ("context", "persistent"), [("fork", False), ("fork", True), ("spawn", True), ("forkserver", True)]
)
def test_workers_see_the_epoch_change(context: str, persistent: bool) -> None:
    made = CorruptedDataset(Images(), Corrupt("gaussian_noise", seed=5))
    loading = loader(made, context, persistent_workers=persistent)
    alone = CorruptedDataset(Images(), Corrupt("gaussian_noise", seed=5))
    seen = []
    for epoch in (0, 3):
        made.set_epoch(epoch)
        alone.set_epoch(epoch)
        seen.append(read(loading))
        assert seen[-1] == {index: image.numpy().tobytes() for image, index in alone}
    assert not set(seen[0].values()) & set(seen[1].values())


def test_every_corruption_works_in_a_fork_after_its_parent_used_it() -> None:
    made = EveryCorruption()
    wanted = [made[index] for index in range(len(made))]
    loading = DataLoader(made, None, num_workers=2, multiprocessing_context="fork", timeout=60)
    for ours, theirs in zip(wanted, loading, strict=True):
        assert np.array_equal(ours, theirs)


def noise_of_a_pool(transform: Corrupt) -> bytes:
    return transform(EVEN).numpy().tobytes()


@pytest.mark.parametrize("context", CONTEXTS)
def test_other_process_pools_do_not_repeat_noise_either(context: str) -> None:
    transform = Corrupt("gaussian_noise", seed=5)
    with multiprocessing.get_context(context).Pool(2) as pool:
        # Every task brings its own copy of the transform.
        outs = pool.map(noise_of_a_pool, [transform] * COUNT, chunksize=1)
    assert len({*outs, noise_of_a_pool(transform)}) == COUNT + 1


def test_the_how_to_pages_python_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "transforms.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) >= 4
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
