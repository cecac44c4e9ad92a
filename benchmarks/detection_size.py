"""What scores and reports of a large detection run cost: python benchmarks/detection_size.py [--images 5000]

A run of the size of COCO's validation set is synthesised through the store's own writers: 75 corrupted
conditions and clean, 80 categories, about 7 objects and 20 detections per image. Scores and report are made
in fresh processes, whose time and peak memory are printed. Its images do not exist: the report shows none.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from large_scores import measured
from PIL import Image

from windtunnel.core.annotations import ObjectAnnotation
from windtunnel.core.conditions import Condition
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.importing.imported_run import GivenModel
from windtunnel.store.folder import RunFolder
from windtunnel.store.rows import schema
from windtunnel.suites.suite_files import load_suite

CATEGORIES = tuple(f"category-{number:02d}" for number in range(80))
OBJECTS, DETECTIONS = 7, 20
WIDTH, HEIGHT = 640, 480
# Share of objects that are found, and by how much each severity lowers it.
FOUND, LOST_PER_SEVERITY = 0.65, 0.08

COMMANDS = {
    "windtunnel score RUN": ["score", "{run}"],
    "windtunnel report RUN": ["report", "{run}"],
}


@dataclass
class GivenDetector(GivenModel):
    """A detector with known predictions."""

    task: str = "detection"


class ManyAnnotated(AnnotatedDataset):
    """Images that are all the same small file, with random objects."""

    name, location = "synthetic", "synthetic images"
    label_space = LabelSpace("synthetic", CATEGORIES, "as listed")

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        file = io.BytesIO()
        Image.new("RGB", (WIDTH, HEIGHT)).save(file, "JPEG")
        self._content = file.getvalue()
        self.set_objects({f"{row:012d}.jpg": self._random_objects(rng) for row in range(count)})
        self._samples = [Sample(id_, self.categories_of(id_)) for id_ in self.annotations]

    def _random_objects(self, rng: np.random.Generator) -> tuple[ObjectAnnotation, ...]:
        objects = []
        for category in rng.geometric(0.05, rng.poisson(OBJECTS)) % len(CATEGORIES):
            width, height = rng.uniform(20, 200, 2)
            left, top = rng.uniform(0, WIDTH - width), rng.uniform(0, HEIGHT - height)
            objects.append(ObjectAnnotation(int(category), (left, top, width, height), width * height))
        return tuple(objects)

    def samples(self) -> Sequence[Sample]:
        """Every image."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The same file for all."""
        del sample
        return self._content


def detections(
    objects: Sequence[ObjectAnnotation], condition: Condition, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes, scores and categories of an image: some objects nearly right, and others at random."""
    hit = rng.random(len(objects)) < FOUND - LOST_PER_SEVERITY * condition.level
    near = np.array([thing.box for thing in objects], np.float64).reshape(-1, 4)[hit]
    near = near + rng.normal(0, 0.06, near.shape) * np.tile(near[:, 2:], 2)
    wrong = max(rng.poisson(DETECTIONS - len(near)), 0)
    size = rng.uniform(20, 200, (wrong, 2))
    boxes = np.concatenate([near, np.hstack([rng.uniform(0, 440, (wrong, 2)), size])])
    boxes[:, 2:] = boxes[:, :2] + np.abs(boxes[:, 2:])
    scores = np.concatenate([rng.beta(4, 3, len(near)), rng.beta(1, 5, wrong)])
    own = np.array([thing.category for thing in objects], np.int32)[hit]
    categories = np.concatenate([own, rng.integers(0, len(CATEGORIES), wrong)])
    order = np.argsort(-scores)
    return boxes[order], scores[order], categories[order]


def shard(plan: Plan, ids: list[str], rng: np.random.Generator) -> pa.Table:
    """One shard's rows."""
    rows = [detections(plan.annotations[id_], condition, rng) for id_ in ids for condition in plan.conditions]
    offsets = pa.array(np.cumsum([0, *(len(scores) for _, scores, _ in rows)]).astype(np.int32))
    boxes = np.concatenate([boxes for boxes, _, _ in rows]).astype(np.float32)
    values = {
        "boxes": pa.FixedSizeListArray.from_arrays(pa.array(boxes.ravel()), 4),
        "scores": pa.array(np.concatenate([scores for _, scores, _ in rows]).astype(np.float32)),
        "categories": pa.array(np.concatenate([categories for _, _, categories in rows]).astype(np.int32)),
    }
    columns = {
        "sample_id": np.repeat(ids, len(plan.conditions)),
        "condition": [condition.name for condition in plan.conditions] * len(ids),
        "frame": np.zeros(len(rows)),
        **{name: pa.ListArray.from_arrays(offsets, flat) for name, flat in values.items()},
        "status": ["ok"] * len(rows),
        "reason": pa.nulls(len(rows)),
    }
    fields = schema(plan.task)
    return pa.table([pa.array(columns[field.name]).cast(field.type) for field in fields], schema=fields)


def synthesise(images: int, folder: Path) -> None:
    """Store a finished run of a detector."""
    rng = np.random.default_rng(0)
    model = GivenDetector("detector", "0", CATEGORIES, len(CATEGORIES), "logits", "declared")
    plan = make_plan(model, ManyAnnotated(images, rng), load_suite("coco-c"))
    target = RunFolder(folder)
    with target.locked():
        target.open_for(plan.recipe, plan.info, plan.samples_table, None, plan.annotations_table)
        for chunk in plan.chunks:
            ids = [image.sample.id for image in chunk.images]
            target.write_shard(chunk.name, shard(plan, ids, rng))


def main() -> None:
    """Synthesise a run and print what working with it costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--folder", help="Where the run is kept for the next time; by default nowhere.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run = Path(options.folder or temporary) / f"run-{options.images}"
        if not run.exists():
            synthesise(options.images, run)
        print(f"{options.images:,} images x 76 conditions")
        print("| what | seconds | peak MB |\n|---|---|---|")
        for name, arguments in COMMANDS.items():
            line = [sys.executable, "-m", "windtunnel", *(word.format(run=run) for word in arguments)]
            seconds, megabytes = measured(line)
            print(f"| {name} | {seconds:.1f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
