"""Which suite fits the data where nobody names one."""

from __future__ import annotations

from pathlib import Path

from windtunnel.data import Dataset
from windtunnel.data.natural_detection import found_natural
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.data.precomputed import FinishedDataset, open_finished
from windtunnel.sequences import DIFFICULTIES
from windtunnel.suites.suite_files import load_suite

# What ordinary images are run through where nobody names a suite.
QUICK = "imagenet-c-quick"

# Which suite a finished set is scored by: the one of which it holds most.
FINISHED_SUITES = (
    "imagenet-c", "imagenet-c-extra", "imagenet-c-bar", "cifar-10-c-bar", "imagenet-3dcc",
    "imagenet-p", "imagenet-p-extra",
)  # fmt: skip


def default_suite(dataset: Dataset, usual: str = QUICK) -> str:
    """The suite for a user who names none: the usual one, or for a finished set what it holds."""
    if not isinstance(dataset, FinishedDataset):
        return usual
    held = {one.unit for one in dataset.stored}
    suites = {name: set(load_suite(name).units) for name in FINISHED_SUITES}
    best = max(suites, key=lambda name: (len(held & suites[name]), -len(suites[name] - held)))
    return best if held & suites[best] else "as-stored"


def natural_at(source: object) -> str:
    """The suite of the natural set that lies at a path, found by looking; "" for anything else."""
    if isinstance(source, NaturalDataset):
        return source.natural.name
    found = found_natural(source)
    # A corrupted copy of a natural set is a finished set.
    folder = Path(source) if isinstance(source, str | Path) and Path(source).is_dir() else None
    return "" if found and folder and open_finished(folder) else found


def held_difficulty(dataset: Dataset) -> int | None:
    """The difficulty a finished set of sequences was made for, where its noise has only another than 1."""
    if not isinstance(dataset, FinishedDataset):
        return None
    levels = {one.level for one in dataset.stored if one.kind == "sequence" and one.level}
    return min(levels) if levels and min(levels) != DIFFICULTIES[0] else None
