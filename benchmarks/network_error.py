"""Does a network err as much on our corruptions as on the reference's?

Every image goes through both implementations at every severity and several seeds, and through every
network given. Per corruption, pooled over severities and networks: the gap in top-1 error (ours minus
theirs) with a 90 % interval clustered by image. Theirs is imagecorruptions 1.1.2 (glass blur compiled);
elastic_transform and snow, where that package departs from the reference, are compared with the oracles of
tests/parity; frost is compared with itself on the reference's textures, only on images of odd row number:
our textures were calibrated on the others.

    .venv-bench/bin/python benchmarks/network_error.py --images DIR --textures DIR \\
        --model net.onnx --preprocess imagenet [--model ... --preprocess ...]
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import cv2
import numpy as np
from benchmarks.peer import NAMES, compiled_glass_blur, load, seed_compiled
from tests.parity import oracles
from tests.parity.reference import PARAMETERS

import windtunnel
from windtunnel.corruptions import REGISTRY
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import crop_step, resize_step
from windtunnel.imaging.header import read_header
from windtunnel.models import Model
from windtunnel.suites.canvas import GEOMETRIES

EDITION = 224
BY_ORACLE = ("elastic_transform", "snow")
Z_90 = 1.6448536269514722

Corrupt = Callable[[np.ndarray, str, int, int, str], np.ndarray]


def canvases(folder: str, subset: int) -> tuple[list[np.ndarray], list[str], np.ndarray]:
    """The images as ImageNet-C's canvases, their ids and classes."""
    dataset = windtunnel.open_dataset(folder)
    images, ids, labels = [], [], []
    for sample in list(dataset.samples())[: subset or None]:
        data = dataset.read(sample)
        source = decode(data, read_header(data))
        geometry = GEOMETRIES[EDITION]
        images.append(np.ascontiguousarray(crop_step(resize_step(source, geometry), geometry)))
        ids.append(sample.id)
        labels.append(sample.labels[0])
    return images, ids, np.array(labels)


def ours(image: np.ndarray, name: str, severity: int, seed: int, sample_id: str) -> np.ndarray:
    """Our pixels."""
    return windtunnel.corrupt(image, name, severity, seed=seed, sample_id=sample_id, edition=EDITION)


def theirs(textures: str) -> Corrupt:
    """The reference's pixels, as near as they can be had."""
    peer = load()
    frost = REGISTRY.get("frost")

    def corrupt(image: np.ndarray, name: str, severity: int, seed: int, sample_id: str) -> np.ndarray:
        if name == "frost":
            rng = frost.draws(seed + 1000, sample_id, severity)
            return frost.apply(image, rng, severity, EDITION, {"textures": textures})
        if name in BY_ORACLE:
            rng = np.random.RandomState(zlib.crc32(f"{seed} {sample_id} {severity}".encode()))
            return np.asarray(getattr(oracles, name)(image, rng, *PARAMETERS[EDITION, name, severity]))
        if name == "glass_blur":
            return compiled_glass_blur(image, severity)
        return peer(image, name, severity)

    return corrupt


def wrong(model: Model, images: list[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Which images a network gets wrong."""
    found = [model.predict(np.stack(images[i : i + 32])).argmax(axis=1) for i in range(0, len(images), 32)]
    return np.concatenate(found) != labels


def main() -> None:
    """Compare corruption by corruption and print a line each."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--images", required=True)
    options.add_argument("--textures", required=True, help="the reference's frost textures")
    options.add_argument("--model", action="append", required=True)
    options.add_argument("--preprocess", action="append", required=True)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", nargs="*", default=NAMES)
    options.add_argument("--subset", type=int, default=0)
    given = options.parse_args()
    cv2.setNumThreads(1)
    models = [windtunnel.load_model(*pair) for pair in zip(given.model, given.preprocess, strict=True)]
    images, ids, labels = canvases(given.images, given.subset)
    reference = theirs(given.textures)
    print(f"{len(images)} images, {len(models)} networks, severities 1 to 5, {given.seeds} seeds")
    print(f"{'corruption':<20}{'n':>5}{'ours %':>8}{'theirs %':>10}{'gap':>8}{'se':>7}   90 % interval")
    for name in given.only:
        seeds = range(given.seeds if REGISTRY.get(name).random else 1)
        errors: dict[str, list[np.ndarray]] = {"ours": [], "theirs": []}
        for severity in range(1, 6):
            for seed in seeds:
                np.random.seed(7919 * seed + severity)  # noqa: NPY002 - the peer knows no other
                seed_compiled(7919 * seed + severity)
                for kind, corrupt in (("ours", ours), ("theirs", reference)):
                    spoilt = [
                        corrupt(i, name, severity, seed, id_) for i, id_ in zip(images, ids, strict=True)
                    ]
                    errors[kind] += [wrong(model, spoilt, labels) for model in models]
        # Our frost was calibrated on every other image, beginning with the first.
        checked = slice(1, None, 2) if name == "frost" else slice(None)
        per_image = {kind: np.mean(found, axis=0)[checked] for kind, found in errors.items()}
        print_gap(name, per_image["ours"], per_image["theirs"])


def print_gap(name: str, ours_wrong: np.ndarray, theirs_wrong: np.ndarray) -> None:
    """One line: both errors, how many images, their gap, and its interval clustered by image."""
    difference = 100 * (ours_wrong - theirs_wrong)
    gap, se = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
    low, high = gap - Z_90 * se, gap + Z_90 * se
    verdict = "inside 3 points" if low > -3 and high < 3 else "OUTSIDE 3 points"
    print(
        f"{name:<20}{len(difference):>5}{100 * ours_wrong.mean():>8.1f}{100 * theirs_wrong.mean():>10.1f}"
        f"{gap:>+8.2f}{se:>7.2f}   [{low:+.2f}, {high:+.2f}]  {verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
