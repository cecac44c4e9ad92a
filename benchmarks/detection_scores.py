"""What out-of-distribution scores cost: python benchmarks/detection_scores.py [--images 12000 50000]

Logits of 1,000 classes of so many images, four fifths out and one fifth in, are stored as a run; then every
score is read from its shards and judged by every metric in a fresh process, whose time and peak memory are
printed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from natural_scores import CLASSES, measured, write_data, write_predictions

# What a process has held at most since it began; wait4 would count its parent's memory too.
PEAK = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"

METRICS = ["aupr", "auroc", "fpr95", "aupr_trapezoid", "fpr95_compat"]
LINES = {
    "import and open": "",
    "every prediction's summary": "run.scoring.observed",
    "every out-of-distribution score": "run.scoring.detectors",
    "the same, judged": f"run.scores({METRICS})",
}


def main() -> None:
    """Make the runs, then time each step in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, nargs="+", default=[12_000, 50_000])
    for images in parser.parse_args().images:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary)
            file, _ = write_predictions(root, *write_data(root, images))
            given = ["--predictions", file, "--data", root / "shifted.csv", "--clean", root / "clean.csv"]
            stored = ["score", *given, "--suite", "ood", "--outputs", "logits", "--out", root / "run"]
            measured([sys.executable, "-m", "windtunnel", *map(str, stored)])
            print(f"{images:,} images x {CLASSES:,} logits")
            print("| what | seconds | peak MB |\n|---|---|---|")
            for name, line in LINES.items():
                code = f"import windtunnel; run = windtunnel.load_run({str(root / 'run')!r}); {line}\n{PEAK}"
                begun = time.perf_counter()
                said = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                )
                seconds, megabytes = time.perf_counter() - begun, int(said.stdout) / 1024
                print(f"| {name} | {seconds:.1f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
