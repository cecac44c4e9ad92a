"""Which remedies help a small network on CIFAR-10: python benchmarks/cifar_remedies.py DATA.npz OUT

Writes OUT.toml and runs it as `windtunnel experiment OUT.toml --out OUT` does; `--write-only` only writes the
file. DATA.npz has train_images, train_labels, test_images and test_labels. The same command continues.

Fourteen trainings and three wrappers with three seeds: 42 models of the network `small`, ten epochs each.
About 55 min of CPU time for the trainings and 25 min for the tests: 40 min on two free cores. `--time` trains
every variant for one epoch on 1,000 images, and prints the expected duration instead.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

import windtunnel
from windtunnel.core.progress_bar import Bar
from windtunnel.models.preprocess import wanted
from windtunnel.studies.experiment_file import ExperimentFile, read_experiment_file
from windtunnel.studies.model_training import TrainingPlan, torch_on_one_thread
from windtunnel.train import fit

EPOCHS = 10
TIMED_IMAGES = 1000

TEXT = """\
name = "Remedies on CIFAR-10"
network = "small"
preprocess = "cifar"
baseline = "standard"
seeds = {seeds}
suites = ["imagenet-c"]
select_on = "imagenet-c-extra"
severities = [1, 3, 5]

[data]
train = "{data}#train"
test = "{data}#test"

[settings]
epochs = {epochs}
batch = 64
learning_rate = 0.1
area = [0.7, 1.0]

[variants.standard]

[variants.noise]
images = ["gaussian_noise"]

[variants.augmix]
images = ["augmix"]

[variants.augmix-js]
images = ["augmix"]
loss = "jensen_shannon"

[variants.mixup]
batch = "mixup(alpha=1)"

[variants.cutmix]
batch = "cutmix"

[variants.cutout]
images = ["cutout"]

[variants.moex]
batch = "moex"

[variants.stability]
loss = "stability"

[variants.adversarial]
loss = "adversarial(norm=linf, epsilon={{epsilon}}, steps=1)"
grid = {{ epsilon = [0.004, 0.012, 0.031] }}

[variants.smoothing]
loss = "cross_entropy(smoothing=0.1)"

[variants.ema]
ema = 0.99

[variants.clahe-at-test]
from = "standard"
wrappers = ["clahe"]

[variants.denoise-at-test]
from = "standard"
wrappers = ["denoise"]

[variants.flip-at-test]
from = "standard"
wrappers = ["flip"]
"""


def main() -> None:
    """Write the file and run it, or measure how long it would take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write-only", action="store_true")
    parser.add_argument("--time", action="store_true")
    given = parser.parse_args()
    file = given.out.with_name(given.out.name + ".toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TEXT.format(data=given.data.resolve(), seeds=given.seeds, epochs=given.epochs))
    print(f"wrote {file}")
    if given.time:
        print_times(read_experiment_file(file), given.data, given.workers)
    elif not given.write_only:
        with Bar(Console(stderr=True), "training epochs") as bar:
            windtunnel.experiment(file, given.out, workers=given.workers, progress=bar)
        print(f"done; windtunnel report {given.out}")


def print_times(content: ExperimentFile, data: Path, workers: int) -> None:
    """Train each variant for an epoch on few images, and extrapolate."""
    with np.load(data) as stored:
        images, labels = stored["train_images"], stored["train_labels"]
    total = 0.0
    with tempfile.TemporaryDirectory() as folder, torch_on_one_thread():
        few = Path(folder) / "few.npz"
        np.savez(few, images=images[:TIMED_IMAGES], labels=labels[:TIMED_IMAGES])
        for variant in content.variants:
            if variant.of:
                continue
            preprocess = wanted(content.preprocess)
            plan = TrainingPlan(
                content.network, preprocess, variant.settings, variant.mix, variant.augmentation,
                variant.remedies,
            )  # fmt: skip
            module = plan.module(int(labels.max()) + 1)
            place = Path(folder) / variant.name.replace("/", "-")
            began = time.process_time()
            fit(
                module, few, place, preprocess=preprocess, settings=replace(variant.settings, epochs=1),
                mix=variant.mix, augmentation=variant.augmentation, remedies=variant.remedies, device="cpu",
            )  # fmt: skip
            spent = time.process_time() - began
            whole = spent * len(images) / TIMED_IMAGES * content.settings.epochs
            total += whole
            print(
                f"{variant.name:28} {spent:6.1f} s for {TIMED_IMAGES} images, {whole:6.0f} s in all",
                flush=True,
            )
    minutes = total * content.seeds / 60
    print(
        f"{minutes:.0f} min of CPU time, {minutes / workers:.0f} min on {workers} free cores, and the tests"
    )


if __name__ == "__main__":
    main()
