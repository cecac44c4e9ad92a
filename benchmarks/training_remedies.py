"""Which training remedy helps against which family of corruptions? A small comparison on CIFAR-10.

python benchmarks/training_remedies.py cifar10-small.npz OUT [--seeds 2] [--epochs 12]

DATA.npz has train_images, train_labels, test_images and test_labels. One network for each recipe and seed,
all with the same number of epochs, is tested on the 15 corruptions of ImageNet-C at severity 5. The table has
the top-1 error in % on clean images and by family, averaged over seeds, the largest difference between seeds,
and the training time on one thread. Folders in OUT are continued.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import windtunnel
from windtunnel.train import Geometry, Preprocess, Remedies, Settings, Tensor, fit
from windtunnel.train.networks import built

PREPROCESS = Preprocess(
    Geometry(rule="exact", crop_px=32),
    Tensor(mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616)),
)
RECIPES = {
    "none": Remedies(),
    "augmix": Remedies(images=("augmix",)),
    "gaussian_noise": Remedies(images=("gaussian_noise",)),
    "stability": Remedies(loss="stability"),
    "mixup(alpha=1)": Remedies(batch="mixup(alpha=1)"),
    "cutmix(probability=0.5)": Remedies(batch="cutmix(probability=0.5)"),
    "clahe(tiles=4)": Remedies(images=("clahe(tiles=4)",)),
    "augmix, jensen_shannon": Remedies(images=("augmix",), loss="jensen_shannon"),
    "adversarial(epsilon=2/255)": Remedies(loss="adversarial(epsilon=2/255)"),
    "cutout": Remedies(images=("cutout",)),
    "moex": Remedies(batch="moex"),
}
FAMILIES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
SEVERITY = 5


def errors(recipe: str, seed: int, epochs: int, data: Path, out: Path) -> tuple[list[float], float]:
    """Top-1 error on clean images and by family, and the seconds of training."""
    folder = out / f"{recipe}-{seed}".replace("/", "_")
    done = fit(
        built("small", 10, 32, seed),
        f"{data}#train",
        folder / "training",
        preprocess=PREPROCESS,
        settings=Settings(epochs=epochs, seed=seed, area=(0.5, 1.0)),
        remedies=RECIPES[recipe],
    )
    only = [f"{unit}:{SEVERITY}" for units in FAMILIES.values() for unit in units]
    run = windtunnel.run(done.model, f"{data}#test", "imagenet-c", only=only, out=folder / "run", workers=1)
    by_condition = {score.condition: score.value for score in run.scores() if score.metric == "top1_error"}
    families = [
        float(np.mean([by_condition[f"{unit}:{SEVERITY}"] for unit in units])) for units in FAMILIES.values()
    ]
    with (folder / "training" / "history.csv").open() as file:
        seconds = sum(float(row["seconds"]) for row in csv.DictReader(file))
    return [by_condition["clean"], *families], seconds


def main() -> None:
    """Print the table, a row as soon as all its seeds are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| remedy | clean |", " | ".join(FAMILIES), "| seeds differ by | seconds |")
    print("|---" * (len(FAMILIES) + 4) + "|")
    for recipe in RECIPES:
        measured = [errors(recipe, seed, given.epochs, given.data, given.out) for seed in range(given.seeds)]
        values = 100 * np.array([row for row, _ in measured])
        cells = [f"{value:.1f}" for value in values.mean(axis=0)]
        spread = float(np.ptp(values, axis=0).max())
        seconds = np.mean([time for _, time in measured])
        print(f"| {recipe} |", " | ".join(cells), f"| {spread:.1f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
