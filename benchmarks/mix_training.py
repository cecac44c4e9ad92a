"""Does mix training lower the spread over resizers? ImageNet-S's claim in small.

python benchmarks/mix_training.py cifar10-small.npz [--seeds 3] [--epochs 12]

CIFAR images as 32-pixel JPEGs, a small network that takes 20 pixels, so that resizing aliases. One network
per resizer and seed, trained with that resizer alone, and one with all six mixed; each is tested behind all
six. The table has a row per training: accuracy behind every resizer, mean, sample standard deviation, and the
same without what chance adds; then the difference of the variances without it, mix less single, with a 95 %
interval over test images. Chance between trainings is in none of these intervals: --seeds shows it.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from PIL import Image

import windtunnel
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.stats.spread import noise_variance
from windtunnel.train import Mix, Settings, fit

SIX = (
    "pillow-nearest", "pillow-bilinear", "pillow-bicubic",
    "opencv-nearest", "opencv-bilinear", "opencv-bicubic",
)  # fmt: skip
MIXED = "mix of the six"
SIDE_PX = 20
QUALITY = 95
REPLICATES = 2000
TENSOR = Tensor(mean=(0.491, 0.482, 0.447), std=(0.247, 0.243, 0.262))


def write_jpegs(images: np.ndarray, labels: np.ndarray, root: Path) -> Path:
    """Images as JPEG files in a folder per class."""
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        folder = root / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        Image.fromarray(image).save(content, "JPEG", quality=QUALITY)
        (folder / f"{number:05d}.jpg").write_bytes(content.getvalue())
    return root


def network(seed: int) -> torch.nn.Module:
    """Three convolutions and a linear layer."""
    torch.manual_seed(seed)
    layers: list[torch.nn.Module] = []
    for before, after, stride in ((3, 32, 1), (32, 64, 2), (64, 128, 2)):
        layers += [
            torch.nn.Conv2d(before, after, 3, stride, 1, bias=False),
            torch.nn.BatchNorm2d(after),
            torch.nn.ReLU(),
        ]
    return torch.nn.Sequential(
        *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(128, 10)
    )


def train_and_test(job: tuple[Path, str, int, int]) -> tuple[str, int, np.ndarray]:
    """Train one network; whether it is right about each test image behind each resizer."""
    root, training, seed, epochs = job
    torch.set_num_threads(1)
    own = "pillow-bilinear" if training == MIXED else training
    preprocess = Preprocess(Geometry(rule="exact", crop_px=SIDE_PX, resizer=own), TENSOR)
    trained = fit(
        network(seed),
        root / "train",
        root / f"{training}-{seed}",
        preprocess=preprocess,
        settings=Settings(epochs=epochs, batch=128, learning_rate=0.1, area=(0.5, 1.0), seed=seed),
        mix=Mix(resizers=SIX) if training == MIXED else Mix(),
    )
    run = windtunnel.run(
        trained.model, root / "test", root / "resizers.toml", out=root / f"run-{training}-{seed}"
    )
    seen = run.scoring.observed
    columns = [seen.column("native" if name == own else f"resize={name}") for name in SIX]
    return training, seed, seen.rank[:, columns] == 0


def spread(right: np.ndarray) -> np.ndarray:
    """Sample standard deviation over resizers of the accuracy (..., images, resizers)."""
    return right.mean(axis=-2).std(axis=-1, ddof=1)


def variance(right: np.ndarray) -> np.ndarray:
    """The square of that, for every seed, less what chance adds to it on so many test images."""
    return np.array([spread(one) ** 2 - noise_variance(one) for one in right])


def difference_interval(mixed: np.ndarray, single: np.ndarray) -> tuple[float, float, float]:
    """Mean over seeds of variance(mix) - variance(single), -+ 1.96 bootstrap standard errors over images.

    Variances and not standard deviations: chance raises each of those by another amount, and the difference
    with them.
    """
    rng = np.random.default_rng(0)
    count = mixed.shape[1]
    drawn = np.empty(REPLICATES)
    for number in range(REPLICATES):
        rows = rng.integers(0, count, count)
        drawn[number] = (spread(mixed[:, rows]) ** 2 - spread(single[:, rows]) ** 2).mean()
    value = float((variance(mixed) - variance(single)).mean())
    reach = 1.96 * float(drawn.std())
    return value, value - reach, value + reach


def main() -> None:
    """Train everything, two at a time, and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", help="npz with train_images, train_labels, test_images, test_labels")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--epochs", type=int, default=12)
    options.add_argument("--images", type=int, default=0, help="train on so many only")
    options.add_argument("--processes", type=int, default=2)
    given = options.parse_args()
    with np.load(given.data) as held, tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        part = slice(given.images or None)
        write_jpegs(held["train_images"][part], held["train_labels"][part], root / "train")
        write_jpegs(held["test_images"], held["test_labels"], root / "test")
        units = ", ".join(f'"resize={name}"' for name in SIX)
        (root / "resizers.toml").write_text(
            'name = "resizers"\nversion = 1\ncanvas = "native"\nmetrics = ["top1_error"]\n'
            f"units = [{units}]\n"
        )
        jobs = [(root, name, seed, given.epochs) for seed in range(given.seeds) for name in (*SIX, MIXED)]
        with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
            done = list(pool.imap_unordered(train_and_test, jobs))
    right = {
        name: np.stack(
            [found for training, _, found in sorted(done, key=lambda one: one[1]) if training == name]
        )
        for name in (*SIX, MIXED)
    }
    print(
        f"{len(right[MIXED])} seeds, {right[MIXED].shape[1]:,} test images; "
        "accuracy in per cent, mean of seeds"
    )
    print(
        f"{'trained with':18}"
        + "".join(f"{name:>17}" for name in SIX)
        + f"{'mean':>8}{'std':>7}{'without chance':>16}"
    )
    for name, found in right.items():
        cells = 100 * found.mean(axis=(0, 1))
        row = "".join(f"{cell:17.2f}" for cell in cells)
        print(f"{name:18}{row}{cells.mean():8.2f}{100 * spread(found).mean():7.3f}"
              f"{100 * np.sqrt(max(0.0, variance(found).mean())):16.3f}")  # fmt: skip
    print("\nvariance over resizers without chance, mix less single, squared points [95 %]")
    for name in SIX:
        value, low, high = difference_interval(right[MIXED], right[name])
        print(f"{name:18}{1e4 * value:+8.3f} [{1e4 * low:+.3f}, {1e4 * high:+.3f}]")


if __name__ == "__main__":
    main()
