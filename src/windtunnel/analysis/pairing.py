"""Joining runs: the images and conditions they share, and whether they can be compared image by image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_of
from windtunnel.core.option_names import option
from windtunnel.metrics.comparability import why_conditions_differ, why_pixels_differ
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import sequences_of
from windtunnel.stats.intervals import Groups, unit_count
from windtunnel.stats.measure import Measure

# Below this share of shared images, runs are not paired.
MIN_JOINED = 0.9

# Metric, and condition or "" for several.
Key = tuple[str, str]


@dataclass(frozen=True)
class Joined:
    """Several runs, joined for a comparison with the first.

    Attributes:
        runs: the runs.
        rows: for every run, the rows of its complete images that are compared, in the same order if paired.
        images: ids of the shared images that every run scored.
        groups: group numbers of these images, or None without groups or if the runs are not paired.
        unpaired_because: why the runs cannot be compared image by image, or "" if they can.
        measures: for every run, its measures over those rows, by metric and condition; only those that all
            runs have.
        not_shared: scores that are not compared, and why.
    """

    runs: tuple[ScoredRun, ...]
    rows: tuple[NDArray[np.int64], ...]
    images: tuple[str, ...]
    groups: Groups
    unpaired_because: str
    measures: tuple[dict[Key, Measure], ...]
    not_shared: dict[Key, str]

    @property
    def paired(self) -> bool:
        """Whether the runs can be compared image by image."""
        return not self.unpaired_because

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions that all runs have, by the first run's names."""
        shared = set.intersection(*({condition.id for condition in run.conditions} for run in self.runs))
        return tuple(condition.name for condition in self.runs[0].conditions if condition.id in shared)

    def same_model(self, other: int) -> bool:
        """Whether a run's model is the first run's: the same weights with the same preprocessing."""
        first, second = self.runs[0].recipe, self.runs[other].recipe
        return bool(self.paired and first.model == second.model)


def open_runs(runs: Sequence[ScoredRun | str | Path]) -> tuple[ScoredRun, ...]:
    """The runs, opened if given as paths."""
    return tuple(run if isinstance(run, ScoredRun) else ScoredRun(run) for run in runs)


def why_different_benchmarks(runs: Sequence[ScoredRun]) -> str:
    """Why runs are of different benchmarks (another natural set, or none), or ""."""
    if len({run.natural and run.natural.set for run in runs}) == 1:
        return ""
    return f"they are different benchmarks ({' and '.join(dict.fromkeys(run.info.suite for run in runs))})"


def join_runs(given: Sequence[ScoredRun | str | Path], metrics: Sequence[str] = ()) -> Joined:
    """Join runs on images (id, content of the source, labels) and conditions (id).

    Args:
        given: two or more runs or their folders.
        metrics: metrics to measure besides those of the runs' suites.

    Raises:
        UserError: fewer than two runs, an unfinished one, one without labels, no shared image, or no
            shared score.
    """
    runs = open_runs(given)
    if len(runs) < 2:
        raise UserError(f"{len(runs)} run given; give two or more run folders.")
    images = [run.images for run in runs]
    shared = set.intersection(*(set(by_id.values()) for by_id in images))
    if not shared:
        raise UserError(
            f"{runs[0].path} and {runs[-1].path} share no image with the same id, content and labels; "
            "compare runs over the same data."
        )
    complete = [{images[place][id_]: row for row, id_ in enumerate(_scored_ids(run))}
                for place, run in enumerate(runs)]  # fmt: skip
    everywhere = sorted(set.intersection(*(set(row_of) for row_of in complete)))
    why = _why_unpaired(runs, [len(by_id) for by_id in images], len(shared))
    if not why and not everywhere:
        raise UserError(f"No image that {runs[0].path} and {runs[-1].path} share was scored in all runs.")
    if why:
        rows = tuple(np.arange(len(_scored_ids(run))) for run in runs)
    else:
        rows = tuple(np.array([row_of[key] for key in everywhere], np.int64) for row_of in complete)
    column = _group_column(runs)
    if why and column:
        runs = tuple(_grouped(run, column) for run in runs)
    measures, lacking = _shared_measures(runs, rows, metrics)
    if not why:
        measures = _same_rows(measures)
    groups = None if why else _shared_groups(runs, rows)
    if groups is not None:
        measures = tuple(
            {key: measure.in_groups(groups) for key, measure in of_run.items()} for of_run in measures
        )
    if not measures[0]:
        raise UserError(f"{runs[0].path} and {runs[-1].path} share no score; run the same suite for both.")
    return Joined(runs, rows, tuple(key[0] for key in everywhere), groups, why, measures, lacking)


def _scored_ids(run: ScoredRun) -> NDArray[Any]:
    return run.clips.ids if sequences_of(run) else run.predicted.with_unlabelled.ids


def _why_unpaired(runs: Sequence[ScoredRun], counts: Sequence[int], shared: int) -> str:
    """Why images cannot be paired, or ""."""
    why = why_pixels_differ(runs)
    if not why and shared < MIN_JOINED * max(counts):
        return f"only {shared:,} of {max(counts):,} images are the same in all runs"
    return why


def _group_column(runs: Sequence[ScoredRun]) -> str:
    """The column by which runs group their images, or ""; two different columns are refused."""
    columns = list(dict.fromkeys(run.group for run in runs if run.group))
    if len(columns) > 1:
        raise UserError(
            f"The runs group their images by {' and by '.join(columns)}; run one of them again with the "
            f"other's {option('group')} (stored predictions are reused)."
        )
    return columns[0] if columns else ""


def _grouped(run: ScoredRun, column: str) -> ScoredRun:
    """A run grouped by another run's column, which its own data must have."""
    if run.group == column:
        return run
    if column not in run.columns:
        raise UserError(
            f"{run.path} has no column {column}, by which another run groups its images; give "
            f"{option('group', '')}."
        )
    return run.scored_as(group=column)


def _shared_groups(runs: Sequence[ScoredRun], rows: Sequence[NDArray[np.int64]]) -> Groups:
    """Groups of the shared images, taken from the first run that has groups."""
    for run, run_rows in zip(runs, rows, strict=True):
        if run.group:
            whole = run.groups_of(run.scored)
            groups = None if whole is None else whole[run_rows]
            if unit_count(len(run_rows), groups) < 2:
                raise UserError(
                    f"The shared images all have the same {run.group}; intervals need at least two groups."
                )
            return groups
    return None


def _shared_measures(
    runs: Sequence[ScoredRun], rows: Sequence[NDArray[np.int64]], metrics: Sequence[str]
) -> tuple[tuple[dict[Key, Measure], ...], dict[Key, str]]:
    """For every run the shared measures over the given rows, and why others are not shared."""
    every_measure = [
        {
            (measure.metric, measure.condition): measure
            for measure in [
                *measure_run(run),
                *measure_run(run, [metric for metric in metrics if metric not in run.metrics]),
            ]
        }
        for run in runs
    ]
    # Scores over several conditions come first: their absence matters most.
    keys = sorted(
        dict.fromkeys(key for of_run in every_measure for key in of_run), key=lambda key: key[1] != ""
    )
    lacking = {key: why for key in keys if (why := _why_not_shared(key, runs, every_measure))}
    measures = []
    for run, run_rows, of_run in zip(runs, rows, every_measure, strict=True):
        whole = np.array_equal(run_rows, np.arange(len(_scored_ids(run))))  # then nothing need be copied
        measures.append(
            {
                key: measure if whole else measure.over(run_rows)
                for key, measure in of_run.items()
                if key not in lacking
            }
        )
    # All in the first run's order.
    return tuple({key: of_run[key] for key in measures[0]} for of_run in measures), lacking


def _same_rows(measures: tuple[dict[Key, Measure], ...]) -> tuple[dict[Key, Measure], ...]:
    """Measures of parts of the shared images, restricted to the images that they use in every run.

    A frame that one run could not read removes its whole frame set from all runs.
    """
    restricted = [dict(of_run) for of_run in measures]
    for key in measures[0]:
        rows = [used for of_run in measures if (used := of_run[key].rows) is not None]
        if all(np.array_equal(first, second) for first, second in pairwise(rows)):
            continue
        common = reduce(np.intersect1d, rows)
        for of_run in restricted:
            of_run[key] = replace(of_run[key].over(common), rows=common)
    return tuple(restricted)


def _why_not_shared(
    key: Key, runs: Sequence[ScoredRun], measures_of_runs: Sequence[dict[Key, Measure]]
) -> str:
    """Why a score is not compared, or ""."""
    if not all(key in of_run for of_run in measures_of_runs):
        return "not in every run"
    metric = metric_of(key[0])
    if metric and metric.own_images:
        return "over the images that each run predicts correctly"
    measures = [of_run[key] for of_run in measures_of_runs]
    for run, measure in zip(runs, measures, strict=True):
        count = len(_scored_ids(run))
        if measure.rows is None and len(measure.columns) != count:
            return (
                f"over {len(measure.columns):,} of {count:,} images: the others are not in the baseline run"
            )
    if len({_part_ids(run, measure) for run, measure in zip(runs, measures, strict=True)}) > 1:
        return _with_reason("over different conditions", runs)
    return (
        ""
        if len({measure.formula for measure in measures}) == 1
        else _with_reason("by different formulas", runs)
    )


def _with_reason(what: str, runs: Sequence[ScoredRun]) -> str:
    """Why scores are not comparable, with the setting that differs if there is one."""
    why = why_conditions_differ(runs)
    return f"{what}: {why}" if why else what


def _part_ids(run: ScoredRun, measure: Measure) -> tuple[str, ...]:
    """The ids of the conditions of a score."""
    ids = {condition.name: condition.id for condition in run.conditions}
    return tuple(ids.get(part, part) for part in measure.parts)
