"""What scoring a natural set's predictions costs: python benchmarks/natural_scores.py [--images 50000]

Logits of 1,000 classes are drawn for so many images, four fifths shifted and one fifth clean, written as
Parquet and as npz, and scored from files by `windtunnel score --predictions` in fresh processes, whose time
and peak memory are printed; processor time too, for machines that others use. The images of
each part are one small file, so that reading them costs next to nothing.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from windtunnel.published.imagenet import imagenet_1k

CLASSES = 1000
CLEAN_SHARE = 0.2


def write_data(root: Path, images: int) -> tuple[list[str], np.ndarray]:
    """Two tables, shifted.csv and clean.csv; returns the ids as a run has them, and the labels."""
    names = imagenet_1k().classes
    clean = int(images * CLEAN_SHARE)
    ids: list[str] = []
    labels = np.arange(images) % CLASSES
    for name, rows, prefix in (
        ("clean", range(clean), "clean/"),
        ("shifted", range(clean, images), ""),
    ):
        # Another image for each: a set beside itself is refused.
        Image.new("RGB", (64, 64), "white" if prefix else "black").save(root / f"{name}.png")
        with (root / f"{name}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "path", "wnid"])
            for row in rows:
                writer.writerow([f"{name}-{row:06d}", f"{name}.png", names[labels[row]]])
                ids.append(f"{prefix}{name}-{row:06d}")
    return ids, labels


def write_predictions(root: Path, ids: list[str], labels: np.ndarray) -> list[Path]:
    """Logits that know something of the label, less of the shifted images."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((len(ids), CLASSES), np.float32)
    clean = int(len(ids) * CLEAN_SHARE)
    logits[np.arange(len(ids)), labels] += np.where(np.arange(len(ids)) < clean, 4.5, 2.5)
    flat = pa.array(logits.reshape(-1))
    table = pa.table({"id": ids, "logits": pa.FixedSizeListArray.from_arrays(flat, CLASSES)})
    pq.write_table(table, root / "logits.parquet", row_group_size=5000)
    np.savez(root / "logits.npz", ids=np.array(ids), logits=logits)
    return [root / "logits.parquet", root / "logits.npz"]


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak megabytes of a command in a process of its own."""
    begun = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Make the files, then time what a user would type."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        files = write_predictions(root, *write_data(root, options.images))
        print(f"{options.images:,} images x {CLASSES:,} logits, suite imagenet-sketch")
        print("| what | seconds | of processor | peak MB |\n|---|---|---|---|")
        for file in files:
            run = root / f"run-{file.suffix[1:]}"
            given = ["--predictions", file, "--data", root / "shifted.csv", "--clean", root / "clean.csv"]
            jobs = {
                f"windtunnel score --predictions {file.name}": [
                    "score", *given, "--suite", "imagenet-sketch", "--outputs", "logits", "--out", run
                ],
                "windtunnel score RUN (again)": ["score", run],
            }  # fmt: skip
            for name, arguments in jobs.items():
                taken = measured([sys.executable, "-m", "windtunnel", *map(str, arguments)])
                print(f"| {name} | {taken[0]:.1f} | {taken[1]:.1f} | {taken[2]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
