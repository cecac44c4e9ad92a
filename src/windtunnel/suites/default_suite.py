"""The suite for a dataset if the user gives none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.annotated_frames import refuse_frame_sets
from windtunnel.data.layouts import open_precomputed
from windtunnel.data.natural_detection import detect_natural_set, detection_note, natural_set_hint
from windtunnel.data.natural_layouts import open_natural
from windtunnel.data.precomputed import open_with_clean
from windtunnel.sequences import DIFFICULTIES
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite

# The suite for ordinary images if the user gives none.
QUICK = "imagenet-c-quick"

# The suites for precomputed sets; the one with the most units in the set is used.
PRECOMPUTED_SUITES = (
    "imagenet-c", "imagenet-c-extra", "imagenet-c-bar", "cifar-10-c-bar", "imagenet-3dcc", "laion-c",
    "imagenet-p", "imagenet-p-extra", "imagenet-syn2nat", "syn2nat-candidates",
)  # fmt: skip


def default_suite(dataset: Dataset, usual: str = QUICK) -> str:
    """The suite if the user gives none: `usual`, or for a precomputed set the best match."""
    if dataset.precomputed is None:
        return usual
    held = {condition.unit for condition in dataset.precomputed.stored}
    suites = {name: set(load_suite(name).units) for name in PRECOMPUTED_SUITES}
    best = max(suites, key=lambda name: (len(held & suites[name]), -len(suites[name] - held)))
    return best if held & suites[best] else "as-stored"


def natural_at(source: str | Location | Dataset) -> str:
    """The suite of the natural set at a path, recognised by its name, folders or columns; "" for others."""
    if isinstance(source, Dataset):
        return source.natural.name if source.natural else ""
    name = detect_natural_set(source)
    # A corrupted copy of a natural set is a precomputed set.
    return "" if name and location_of(source).is_dir() and open_precomputed(location_of(source)) else name


def held_difficulty(dataset: Dataset) -> int | None:
    """The lowest difficulty of a precomputed set of noise sequences, if it is not 1; else None."""
    if dataset.precomputed is None:
        return None
    levels = {
        condition.level
        for condition in dataset.precomputed.stored
        if condition.is_sequence and condition.level
    }
    return min(levels) if levels and min(levels) != DIFFICULTIES[0] else None


def open_for_suite(
    data: str | Location | Dataset,
    suite: str | Path | Suite | None,
    clean: str | Location | Dataset | None,
    usual: str = QUICK,
    frame_sets: str = "",
) -> tuple[Dataset, Suite]:
    """Open the data and choose the suite that fits it; a natural set is detected.

    Args:
        data, clean: as in `run`.
        suite: as in `run`; None for the suite that fits the data, or `usual`.
        usual: the suite for ordinary images.
        frame_sets: as in `run`; "" for the defaults.
    """
    chosen = load_suite(suite) if isinstance(suite, str | Path) else suite
    # A remote folder is listed once for everything below.
    data = location_of(data) if isinstance(data, str | Location) else open_dataset(data)
    notes: list[str] = []
    if chosen is None and (name := natural_at(data)):
        chosen = load_suite(name)
        notes = [] if isinstance(data, Dataset) else [detection_note(name, data)]
    if chosen is not None and chosen.natural:
        natural = open_natural(data, chosen.natural, clean, notes, frame_sets)
        own = natural.natural.own
        return natural, replace(chosen, mask=True) if own and own.masked else chosen
    refuse_frame_sets(frame_sets)
    if isinstance(data, Dataset) and data.natural:
        raise UserError(f"{data.location} is open as {data.natural.title}; give its path for another suite.")
    dataset = open_with_clean(data, clean, natural_set_hint)
    return dataset, chosen or load_suite(default_suite(dataset, usual))
