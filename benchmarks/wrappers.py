"""What wrappers do to a model, by family of corruptions: python benchmarks/wrappers.py MODEL IMAGES OTHER OUT

Runs the plain model and the model in each wrapper over the same corrupted images: two corruptions of each
family at one severity. Prints the paired differences of the error by family and by corruption with 95 %
intervals, the share of images that `denoise` changes, the calibration after a temperature fitted on OTHER
images, and the CPU time of a prediction on one thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cv2
import numpy as np

import windtunnel
from windtunnel.analysis.comparison import Comparison
from windtunnel.models import Model, load_model, probe_images
from windtunnel.models.wrappers.denoise import denoise, noise_of
from windtunnel.report.source_images import SourceImages

CORRUPTIONS = (
    "gaussian_noise", "impulse_noise", "defocus_blur", "motion_blur", "frost", "fog", "contrast",
    "jpeg_compression",
)  # fmt: skip
WRAPPERS = ("clahe", "denoise", "flip", "resizes", "tencrop")
TIMED = 15


def main() -> None:
    """Run, compare and time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("other", help="other images, for the temperature")
    parser.add_argument("out", type=Path)
    parser.add_argument("--preprocess")
    parser.add_argument("--severity", type=int, default=3)
    parser.add_argument("--subset", type=int, default=0)
    parser.add_argument("--fitted", type=int, default=200, help="images for the temperature")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wrappers", nargs="+", default=WRAPPERS, help="besides the temperature")
    parser.add_argument("--corruptions", nargs="+", default=CORRUPTIONS)
    given = parser.parse_args()

    fitting = windtunnel.run(
        given.model, given.other, "smoke", out=given.out / "fitting", only=["brightness:1"],
        preprocess=given.preprocess, subset=given.fitted, workers=given.workers, progress=True,
    )  # fmt: skip
    fit = windtunnel.fit_temperature(fitting)
    file = given.out / "temperature.json"
    windtunnel.write_temperature(fit, file)
    wrappers = (*given.wrappers, f"temperature(file={file})")
    models = [given.model, *(f"{wrapper}|{given.model}" for wrapper in wrappers)]
    runs = windtunnel.run_models(
        models, given.images, "imagenet-c", out=given.out / "runs", preprocess=given.preprocess,
        only=[f"{unit}:{given.severity}" for unit in given.corruptions], subset=given.subset or None,
        workers=given.workers, progress=True,
    )  # fmt: skip
    comparison = windtunnel.compare(*runs)
    print(f"{comparison.images} images, severity {given.severity} of {', '.join(given.corruptions)}\n")
    families = [condition for metric, condition in comparison.scores if metric == "family_error"]
    keys = [("top1_error", "clean"), ("mean_error", ""), *(("family_error", name) for name in families)]
    print("| model |", " | ".join(condition or "mean" for _, condition in keys), "|")
    print("|---" * (1 + len(keys)) + "|")
    plain = [comparison.scores[key][0] for key in keys]
    cells = [f"{100 * one.value:.1f} % [{100 * one.low:.1f}, {100 * one.high:.1f}]" for one in plain]
    print(f"| {comparison.columns[0].model} |", " | ".join(cells), "|")
    for other, column in enumerate(comparison.columns[1:], start=1):
        changes = {
            (change.metric, change.condition): change.difference
            for change in comparison.changes
            if change.other == other
        }
        cells = [
            f"{100 * changes[key].value:+.1f} [{100 * changes[key].low:+.1f}, {100 * changes[key].high:+.1f}]"
            for key in keys
        ]
        print(f"| {column.model} |", " | ".join(cells), "|")
    print_by_corruption(comparison)
    print_denoised(runs[0])
    interval = f"[{fit.low:.3f}, {fit.high:.3f}]"
    print(f"\ntemperature {fit.temperature:.3f} {interval}, fitted on {len(fit.images)} other images")
    for run in (runs[0], runs[-1]):
        scores = {(score.metric, score.condition): score for score in run.scores()}
        values = {name: scores[name, "clean"].value for name in ("nll", "ece") if (name, "clean") in scores}
        print(run.info.model.name, {name: round(value, 4) for name, value in values.items()})
    print("\n| model | passes | one image, CPU ms | in batches of 16, CPU ms per image |\n|---|---|---|---|")
    cv2.setNumThreads(1)
    for text in models:
        model = load_model(text, given.preprocess, device="cpu")
        print(f"| {model.name} | {model.passes} | {timed(model, 1):.1f} | {timed(model, 16):.1f} |")


def print_by_corruption(comparison: Comparison) -> None:
    """Print the change of the error under each condition, a row for each."""
    print("\n| condition |", " | ".join(column.model for column in comparison.columns), "|")
    print("|---" * (1 + len(comparison.columns)) + "|")
    names = [condition for metric, condition in comparison.scores if metric == "top1_error"]
    for name in names:
        cells = [f"{100 * comparison.scores['top1_error', name][0].value:.1f} %"]
        for other in range(1, len(comparison.columns)):
            change = next(row.difference for row in comparison.by_condition(other) if row.condition == name)
            cells.append(f"{100 * change.value:+.1f} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]")
        print(f"| {name} |", " | ".join(cells), "|")


def print_denoised(run: windtunnel.Run) -> None:
    """Print the share of images whose estimated noise exceeds the level, and the median estimate."""
    level = float(denoise.settings({})["level"])
    names = [condition.name for condition in run.conditions]
    sources = SourceImages(run.scoring)
    estimates = []
    for id_ in run.scoring.samples["id"].to_pylist():
        frames = sources.frames_under(id_, *names)
        if frames is not None:
            estimates.append([noise_of(shown[0]) for shown in frames])
    print(f"\n| condition | denoised of {len(estimates)} | median estimate |\n|---|---|---|")
    for name, column in zip(names, np.array(estimates).T, strict=True):
        print(f"| {name} | {100 * np.mean(column > level):.1f} % | {np.median(column):.1f} |")


def timed(model: Model, batch: int) -> float:
    """The median CPU time of a prediction, in ms per image, of images with noise, which are denoised."""
    images = probe_images(model.preprocess, batch)
    noise = np.random.default_rng(0).normal(0, 30, images.shape)
    noisy = np.clip(images + noise, 0, 255).astype(np.uint8)
    times = []
    for _ in range(TIMED):
        start = time.process_time()
        model.predict(noisy)
        times.append(time.process_time() - start)
    return 1000 * float(np.median(times)) / batch


if __name__ == "__main__":
    main()
