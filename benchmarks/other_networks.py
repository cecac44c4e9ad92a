"""Networks that take no part in an overlap study, with runs: python benchmarks/other_networks.py DATA.npz OUT

Trains twelve networks on DATA.npz#train: four architectures, each trained plainly, with stronger crops, and
with a Syn2Nat candidate that is not among the study's corruptions. Then runs the study's corruptions on
DATA.npz#test, one run folder for each network. `windtunnel categories STUDY --validate OUT/runs` uses them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import nn

import windtunnel
from windtunnel.corruptions import REGISTRY
from windtunnel.train import Augmentation, Geometry, Preprocess, Settings, Tensor, fit

PREPROCESS = Preprocess(
    Geometry(rule="exact", crop_px=32),
    Tensor(mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616)),
)
EPOCHS = 12


def _layers(*widths: int, kernel: int = 3, groups: bool = False) -> list[nn.Module]:
    """Convolutions, each at half the resolution of the one before."""
    layers: list[nn.Module] = []
    inputs = 3
    for width in widths:
        if groups and inputs > 3:
            layers += [nn.Conv2d(inputs, inputs, kernel, padding=kernel // 2, groups=inputs, bias=False)]
            kernel_now = 1
        else:
            kernel_now = kernel
        layers += [
            nn.Conv2d(inputs, width, kernel_now, padding=kernel_now // 2, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        ]
        inputs = width
    return [*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10)]


ARCHITECTURES: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: nn.Sequential(*_layers(32, 64, 128)),
    "wide": lambda: nn.Sequential(*_layers(64, 96)),
    "large-kernel": lambda: nn.Sequential(*_layers(24, 48, 96, kernel=5)),
    "separable": lambda: nn.Sequential(*_layers(48, 96, 160, groups=True)),
}
# A candidate for each architecture, none of them among ImageNet-C's corruptions.
CANDIDATES = {
    "plain": "s2n/multiplicative_noise",
    "wide": "s2n/color_jitter",
    "large-kernel": "s2n/median_blur",
    "separable": "s2n/random_grid_shuffle",
}


def trained(name: str, variant: str, data: str, out: Path) -> Path:
    """Train one network and return its ONNX file."""
    torch.set_num_threads(1)
    torch.manual_seed(1000 + sorted(ARCHITECTURES).index(name))
    augmentation = Augmentation()
    if variant == "candidate":
        augmentation = Augmentation((CANDIDATES[name],), clean_copies=1, corrupted_copies=1)
    settings = Settings(
        epochs=EPOCHS // augmentation.copies,
        batch=64,
        area=(0.25, 1.0) if variant == "crops" else (0.7, 1.0),
        seed=1000,
    )
    folder = out / "networks" / f"{name}-{variant}"
    return fit(
        ARCHITECTURES[name](), f"{data}#train", folder,
        preprocess=PREPROCESS, settings=settings, augmentation=augmentation, device="cpu",
    ).model  # fmt: skip


def evaluated(name: str, variant: str, data: str, severity: int, out: Path) -> str:
    """Train one network, run the corruptions, and return a line for the screen."""
    model = trained(name, variant, data, out)
    only = [f"{unit}:{severity}" for unit in REGISTRY.names() if "/" not in unit]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", windtunnel.ImplausibleScores)
        folder = out / "runs" / f"{name}-{variant}"
        run = windtunnel.run(model, f"{data}#test", "imagenet-c", only=only, codec="none", out=folder)
    errors = {score.condition: score for score in run.scores() if score.metric == "top1_error"}
    return f"{name}-{variant}: clean accuracy {1 - errors['clean'].value:.3f}"


def main() -> None:
    """Train and run all of them in processes of one thread each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data")
    options.add_argument("out", type=Path)
    options.add_argument("--severity", type=int, default=3)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        lines = [
            pool.submit(evaluated, name, variant, given.data, given.severity, given.out)
            for name in ARCHITECTURES
            for variant in ("plain", "crops", "candidate")
        ]
        for line in lines:
            print(line.result(), flush=True)


if __name__ == "__main__":
    main()
