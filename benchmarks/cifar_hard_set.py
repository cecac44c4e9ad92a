"""A hard set from CIFAR-10 with small networks: python benchmarks/cifar_hard_set.py DATA.npz OUT

DATA.npz has train_images (8,000), train_labels, test_images (2,000) and test_labels. Networks are trained on
the 2,000 images; the 8,000 others are the candidates. Two networks filter. Held out are another architecture,
and the first filter network trained again with another seed. Prints the funnel, the accuracies of all
networks on the shortlist, on as many random candidates and on the filter networks' plain errors, and times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from windtunnel import api
from windtunnel.train import Geometry, Preprocess, Settings, Tensor, fit
from windtunnel.train.networks import built

# Crops of 32 pixels of an image scaled to 36, so that the ten crops differ.
PREPROCESS = Preprocess(
    Geometry(rule="short-side", resizer="pillow-bilinear", resize_px=36, crop_px=32),
    Tensor(mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616)),
)
CLASSES = 10
SIDE_PX = 32


def plain() -> nn.Module:
    """Three convolutions with max pooling."""
    layers: list[nn.Module] = []
    inputs = 3
    for width in (32, 64, 128):
        layers += [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
        inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


def patches() -> nn.Module:
    """Patches of 4 pixels, depthwise convolutions of 5, and pointwise ones: another family."""
    width = 96
    layers: list[nn.Module] = [nn.Conv2d(3, width, 4, stride=4), nn.GELU(), nn.BatchNorm2d(width)]
    for _ in range(3):
        layers += [nn.Conv2d(width, width, 5, padding=2, groups=width), nn.GELU(), nn.BatchNorm2d(width)]
        layers += [nn.Conv2d(width, width, 1), nn.GELU(), nn.BatchNorm2d(width)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


NETWORKS: dict[str, Callable[[int], nn.Module]] = {
    "small": lambda seed: built("small", CLASSES, SIDE_PX, seed),
    "plain": lambda _seed: plain(),
    "patches": lambda _seed: patches(),
}
# Name and seed of the networks that filter, and of those that are held out.
FILTERS = (("small", 0), ("plain", 0))
HELD_OUT = (("patches", 0), ("small", 1))


def trained(name: str, seed: int, data: str, out: Path, epochs: int) -> Path:
    """Train a network on the test part, and return its ONNX file, named after it."""
    torch.manual_seed(1000 + seed)
    settings = Settings(epochs=epochs, batch=64, learning_rate=0.05, area=(0.5, 1.0), seed=seed)
    folder = out / "networks" / f"{name}-{seed}"
    done = fit(NETWORKS[name](seed), f"{data}#test", folder, preprocess=PREPROCESS, settings=settings)
    file = out / f"{name}-{seed}.onnx"
    for suffix in ("", ".toml"):
        Path(f"{file}{suffix}").write_bytes(Path(f"{done.model}{suffix}").read_bytes())
    return file


def main() -> None:
    """Train, collect, filter, measure transfer, export; the same command continues."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data")
    options.add_argument("out", type=Path)
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    project = given.out / "cifar"

    def networks(chosen: tuple[tuple[str, int], ...]) -> list[Path]:
        return [trained(name, seed, given.data, given.out, given.epochs) for name, seed in chosen]

    started = time.perf_counter()
    filters, held_out = networks(FILTERS), networks(HELD_OUT)
    times = {"training": time.perf_counter() - started}

    started = time.perf_counter()
    collected = api.collect_candidates(f"{given.data}#train", project).summary
    times["collecting"] = time.perf_counter() - started
    print(f"{collected.stored:,} candidates stored: {collected.statuses}")

    started = time.perf_counter()
    step = api.filter_hard(project, filters, workers=given.threads)
    times["filtering"] = time.perf_counter() - started
    summary = step.summary
    for model, accuracy in zip(summary.filter_models, summary.accuracies, strict=True):
        print(f"filter {model.name}: {accuracy:.1%} of centre crops correct")
    for name in ("stored", "candidates", "never_correct", "low_true_confidence", "shortlist"):
        print(f"{name:<20} {getattr(summary, name):>6,}")
    found = [pair.found_by for pair in summary.near_duplicates]
    print(f"near-duplicates: {len(found)}, by hash {sum('hash' in by for by in found)}; {summary.features}")

    started = time.perf_counter()
    transfer = api.measure_transfer(project, held_out, workers=given.threads)
    times["transfer"] = time.perf_counter() - started
    for row in transfer.summary.accuracies:
        interval = f"[{row.low:.1%}, {row.high:.1%}]"
        print(
            f"{row.model:<10} {row.group:<13} n {row.n:>5,}  {row.accuracy:>6.1%} {interval:<16} {row.note}"
        )
    for text in (*summary.warnings, *transfer.summary.warnings):
        print(f"warning: {text}")
    print(api.write_project_page(project))
    made = api.export_set(project, given.out / "cifar-hard")
    print(f"{made.folder}: {len(made.exported):,} images")
    print(", ".join(f"{name} {seconds:.0f} s" for name, seconds in times.items()))


if __name__ == "__main__":
    main()
