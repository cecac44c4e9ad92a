"""Several runs on one page: compared if they are of one benchmark, otherwise side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.comparison import Comparison, compare
from windtunnel.analysis.pairing import open_runs
from windtunnel.analysis.public_placement import Placed, place_runs
from windtunnel.analysis.shifts import Shift, TagDrop, drops_by_tag, shift_of
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import natural_set


@dataclass(frozen=True)
class Several:
    """Several runs.

    Attributes:
        runs: the runs as given.
        shifts: accuracy drop of each run, in the order of runs.
        tags: median and best drop by tag and benchmark; empty if no model has a tag.
        comparison: comparison image by image, if the runs are of one benchmark.
        not_compared: why there is no comparison, or "".
        placed: runs among public models, if tables of public results were given.
    """

    runs: tuple[ScoredRun, ...]
    shifts: tuple[Shift, ...]
    tags: tuple[TagDrop, ...]
    comparison: Comparison | None
    not_compared: str
    placed: tuple[Placed, ...]


def several(*runs: ScoredRun | str | Path, public: str | Path | None = None) -> Several:
    """Show runs side by side; runs of one benchmark are compared with the first.

    Args:
        runs: run folders or runs, two or more.
        public: a folder of public result tables, or one table, to compare runs over natural sets with.
    """
    opened = open_runs(runs)
    why = _why_not_compared(opened)
    shifts = tuple(map(shift_of, opened))
    return Several(
        opened,
        shifts,
        tuple(drops_by_tag(shifts)),
        None if why else compare(*opened),
        why,
        tuple(place_runs(opened, public)) if public else (),
    )


def _benchmark_of(run: ScoredRun) -> str:
    """The benchmark of a run: a natural set in its version, as its own part is named, or a suite."""
    if not run.natural:
        return run.info.suite
    name, natural = run.natural.set, natural_set(run.natural.set)
    own = next((part.name for part in run.parts if part.role != "clean"), natural.part)
    return name if own == natural.part else own


def _why_not_compared(runs: Sequence[ScoredRun]) -> str:
    """Why runs are of different benchmarks, or "": different natural sets, or suites over other images."""
    sets = list(dict.fromkeys(map(_benchmark_of, runs)))
    if len(sets) < 2:
        return ""
    if any(run.natural for run in runs):
        return f"they are runs of different benchmarks ({', '.join(sets)})"
    shared = set.intersection(*(set(run.images.values()) for run in runs))
    return "" if shared else f"they are runs of different suites ({', '.join(sets)}) and share no image"
