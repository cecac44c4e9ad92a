"""Time and memory of writing CIFAR-10-C's like: 10,000 images of 32 pixels under 95 conditions, as arrays.

    .venv/bin/python benchmarks/make_set.py [--images 10000] [--workers 2]

The memory of every process is looked at twenty times a second; none may take more than 350 MB.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LIMIT_MB = 350
UNITS = 19


def processes(root: int) -> list[int]:
    """A process and all its descendants."""
    found = [root]
    for file in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            found += [one for child in file.read_text().split() for one in processes(int(child))]
        except OSError:
            continue
    return found


def peak_mb(process: int) -> float:
    """The most memory a living process has had, in megabytes of 1,000,000 bytes."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")), 0.0)


def main() -> None:
    """Make the set, watch, print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--images", type=int, default=10_000)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        images = rng.integers(0, 256, (given.images, 32, 32, 3), dtype=np.uint8)
        np.savez(Path(folder) / "images.npz", images=images, labels=np.arange(given.images) % 10)
        command = [sys.executable, "-m", "windtunnel", "make", "imagenet-c", f"{folder}/images.npz"]
        start = time.perf_counter()
        making = subprocess.Popen(
            [*command, f"{folder}/made", "--workers", str(given.workers)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        peaks: dict[int, float] = {}
        while making.poll() is None:
            for process in processes(making.pid):
                peaks[process] = max(peaks.get(process, 0.0), peak_mb(process))
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        size = sum(path.stat().st_size for path in Path(folder, "made").glob("*.npy")) / 1e9
        shutil.rmtree(Path(folder, "made"))
    made = given.images * UNITS * 5
    print(f"{made:,} images, {size:.1f} GB of arrays in {seconds:.0f} s: {made / seconds:,.0f} a second")
    print(f"most memory of a process: {max(peaks.values()):.0f} MB (at most {LIMIT_MB})")
    sys.exit(making.returncode or int(max(peaks.values()) > LIMIT_MB))


if __name__ == "__main__":
    main()
