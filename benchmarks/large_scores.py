"""What scores and reports of a large run cost: python benchmarks/large_scores.py [--images 50000]

A run of ImageNet's size is synthesised through the store's own writers (75 corrupted conditions, clean, clean
with the codec, native; 1,000 classes; errors of an image correlate), then scored, sliced and reported in
fresh processes, whose time and peak memory are printed. Its images do not exist: the report shows none.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image
from worlds import Array, answers

from windtunnel.core.samples import Sample
from windtunnel.data import Dataset
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.importing.imported_run import GivenModel
from windtunnel.metrics.corruption_error import alexnet_errors
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.store.folder import RunFolder
from windtunnel.store.rows import schema
from windtunnel.suites.suite_files import load_suite
from windtunnel.tasks.classification.summary import TOP

CLASSES = 1000
PER_PHOTOGRAPHER = 5
CLEAN_ERROR = 0.24

# What is timed: a name, and either arguments of the command line or a line of Python over `run`.
COMMANDS = {
    "windtunnel report RUN": ["report", "{run}"],
    "windtunnel report RUN --baseline OTHER": ["report", "{run}", "--baseline", "{other}"],
    "windtunnel compare RUN OTHER": ["compare", "{run}", "{other}"],
    "windtunnel gate RUN --against OTHER": ["gate", "{run}", "--against", "{other}", "--unsure", "pass"],
}
LINES = {
    "every prediction read": "run.scoring.observed",
    "scores": "run.scores()",
    "slices by class of the mean error": "slices(run, 'class', 'mean_error')",
    "slices by size of the mean error": "slices(run, 'size', 'mean_error')",
    "Observed.confidence": "run.scoring.observed.confidence",
}
PYTHON = "import windtunnel as w; from windtunnel.api import slices; run = w.load_run({run!r}); {line}"


class ManyImages(Dataset):
    """Images that are all the same small file, under names and classes like ImageNet's."""

    name, location, portable, parallel_reads = "synthetic", "synthetic images", True, True
    label_space = imagenet_1k()

    def __init__(self, count: int) -> None:
        file = io.BytesIO()
        Image.new("RGB", (500, 375)).save(file, "JPEG")
        self._content = file.getvalue()
        self._samples = [
            Sample(
                f"{self.label_space.classes[row % CLASSES]}/ILSVRC2012_val_{row:08d}.JPEG",
                (row % CLASSES,),
                {"photographer": str(row // PER_PHOTOGRAPHER)},
            )
            for row in range(count)
        ]

    def samples(self) -> Sequence[Sample]:
        """Every image."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The same file for all."""
        del sample
        return self._content


def true_errors(plan: Plan) -> Array:
    """The model's true error under every condition: three fifths of AlexNet's, more than clean."""
    return np.array(
        [
            max(CLEAN_ERROR, 0.6 * alexnet_errors()[one.unit][one.level - 1])
            if one.kind == "corruption"
            else CLEAN_ERROR
            for one in plan.conditions
        ]
    )


def write_run(plan: Plan, wrong: Array, folder: Path, seed: int) -> None:
    """Store answers as a finished run: scores whose confidence knows a little of what is wrong."""
    target = RunFolder(folder)
    rng = np.random.default_rng(seed)
    with target.locked():
        target.open_for(plan.recipe, plan.info, plan.samples_table)
        start = 0
        for chunk in plan.chunks:
            stop = start + len(chunk.images)
            labels = np.array([one.sample.labels[0] for one in chunk.images])
            ids = [one.sample.id for one in chunk.images]
            target.write_shard(chunk.name, shard(plan, ids, labels, wrong[start:stop], rng))
            start = stop


def shard(plan: Plan, ids: list[str], labels: Array, wrong: Array, rng: np.random.Generator) -> pa.Table:
    """One shard's rows."""
    flat = wrong.ravel()
    label = np.repeat(labels, wrong.shape[1])
    rank = np.where(flat, rng.geometric(0.2, flat.size), 0)
    margin = rng.normal(np.where(flat, 0.3, 2.0), 1.0)
    best = 1 / (1 + np.exp(-margin))
    top = (label[:, None] + rank[:, None] + np.arange(TOP)) % CLASSES
    score = rng.normal(15, 2, flat.size)
    top_score = score[:, None] - np.arange(TOP)
    columns = {
        "sample_id": np.repeat(ids, wrong.shape[1]),
        "condition": [one.name for one in plan.conditions] * len(ids),
        "frame": np.zeros(flat.size),
        "top": pa.FixedSizeListArray.from_arrays(pa.array(top.ravel(), pa.int32()), TOP),
        "top_score": pa.FixedSizeListArray.from_arrays(pa.array(top_score.ravel(), pa.float32()), TOP),
        "label_score": score - rank,
        "label_rank": rank,
        "logsumexp": score - np.log(best),
        "entropy": rng.random(flat.size),
        "sum_p2": best**2,
        "status": ["ok"] * flat.size,
        "reason": pa.nulls(flat.size),
    }
    fields = schema(plan.task)
    return pa.table([pa.array(columns[one.name]).cast(one.type) for one in fields], schema=fields)


def measured(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of a command in a process of its own."""
    begun = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def main() -> None:
    """Synthesise two runs and print what working with them costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--folder", help="Where the runs are kept for the next time; by default nowhere.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(options.folder or temporary)
        paths = {name: str(root / f"{name}-{options.images}") for name in ("run", "other")}
        if not all(Path(path).exists() for path in paths.values()):
            synthesise(options.images, [Path(path) for path in paths.values()])
        print(f"{options.images:,} images x 78 conditions")
        print("| what | seconds | peak MB |\n|---|---|---|")
        jobs = {name: [arg.format(**paths) for arg in args] for name, args in COMMANDS.items()}
        jobs = {name: ["-m", "windtunnel", *arguments] for name, arguments in jobs.items()}
        jobs |= {name: ["-c", PYTHON.format(line=line, **paths)] for name, line in LINES.items()}
        for name, arguments in jobs.items():
            seconds, megabytes = measured([sys.executable, *arguments])
            print(f"| {name} | {seconds:.1f} | {megabytes:.0f} |", flush=True)


def synthesise(images: int, folders: list[Path]) -> None:
    """Two models' runs over the same images."""
    data, suite = ManyImages(images), load_suite("imagenet-c")
    names = imagenet_1k().classes
    plans = [
        make_plan(GivenModel(f"model-{place}", f"{place}", names, CLASSES, "logits", "declared"), data, suite)
        for place in range(len(folders))
    ]
    rng = np.random.default_rng(0)
    worlds = answers(rng, images, [true_errors(plan) for plan in plans], within=0.75, kinship=0.9)
    for seed, (plan, wrong, folder) in enumerate(zip(plans, worlds, folders, strict=True)):
        write_run(plan, wrong, folder, seed)


if __name__ == "__main__":
    main()
