"""Peak memory of a run with few and with many images: python benchmarks/memory.py

Small images, one corruption and a small network, so that only what grows with the number of images differs.
The peak of each process is the kernel's own (VmHWM), read while the run is alive.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
from end_to_end import write_network

from windtunnel.suites.golden_digests import golden_image

SIDE_PX = 64
# Images of a shard of ImageNet-C, whatever the number of images: 78 views of each.
CHUNK = 26


def write_small_images(root: Path, count: int) -> Path:
    """JPEGs of 64x64 pixels in one class folder."""
    folder = root / "n01440764"
    folder.mkdir(parents=True)
    image = golden_image(SIDE_PX)
    for number in range(count):
        image[0, 0] = number % 256, number // 256 % 256, 0
        cv2.imwrite(str(folder / f"{number:05}.jpg"), image)
    return root


def peaks(pid: int) -> dict[int, int]:
    """Peak memory of a process and its descendants in MiB, by process id."""
    found: dict[int, int] = {}
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        try:
            status = Path(f"/proc/{current}/status").read_text()
            children = Path(f"/proc/{current}/task/{current}/children").read_text()
        except OSError:
            continue
        most = [line for line in status.splitlines() if line.startswith("VmHWM")]
        if most:
            found[current] = int(most[0].split()[1]) // 1024
        waiting += map(int, children.split())
    return found


def measure(model: Path, data: Path, out: Path, workers: int) -> tuple[int, int]:
    """Peak MiB of the process that distributes and stores, and of the largest worker."""
    script = "import sys, windtunnel; windtunnel.run(*sys.argv[1:3], 'imagenet-c', only=['fog:3'], "
    script += f"out=sys.argv[3], workers=int(sys.argv[4]), chunk={CHUNK})"
    command = [sys.executable, "-c", script, str(model), str(data), str(out), str(workers)]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most: dict[int, int] = {}
    while run.poll() is None:
        for pid, mebibytes in peaks(run.pid).items():
            most[pid] = max(most.get(pid, 0), mebibytes)
        time.sleep(0.05)
    if run.returncode:
        raise SystemExit(f"the run ended with {run.returncode}")
    return most[run.pid], max((value for pid, value in most.items() if pid != run.pid), default=0)


def main() -> None:
    """Measure both sizes and print the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--few", type=int, default=1000)
    options.add_argument("--many", type=int, default=50_000)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        model = write_network(root / "plain.onnx", 2)
        sizes = {}
        for count in (given.few, given.many):
            data = write_small_images(root / f"data{count}", count)
            sizes[count] = measure(model, data, root / f"run{count}", given.workers)
            print(
                f"{count:7,} images: parent {sizes[count][0]} MiB, worker {sizes[count][1]} MiB", flush=True
            )
        few, many = sizes[given.few], sizes[given.many]
        for name, place in (("parent", 0), ("worker", 1)):
            print(f"{name}: {many[place] / few[place]:.3f} times the memory for {given.many:,} images")
        together = [parent + given.workers * worker for parent, worker in (few, many)]
        print(f"all processes: {together[1] / together[0]:.3f} times, {together[0]} and {together[1]} MiB")


if __name__ == "__main__":
    main()
