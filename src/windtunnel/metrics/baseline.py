"""Scores normalised by a baseline run on the same images; the bootstrap draws both runs together.

CE_c          = sum_s E_sc / sum_s B_sc                            B: the baseline's errors
relative CE_c = sum_s (E_sc - E_clean) / sum_s (B_sc - B_clean)
mean CE       = mean over corruptions of CE_c; over ImageNet-C's fifteen it is mCE

Flips and top-5 distances of sequences are normalised in the same way (`metrics/flip_rates.py`).

Images are matched by id, content and labels, conditions by their id. Where a denominator is not clearly above
zero (its 95 % interval reaches zero), a note replaces the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted
from windtunnel.metrics.comparability import why_frame_pairs_differ, why_outputs_differ, why_pixels_differ
from windtunnel.stats.intervals import Groups, mean_interval, unit_count
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Numbers = NDArray[np.float64]
Rows = NDArray[np.int64]
Ids = NDArray[Any]
# Metrics that subtract the clean error.
RELATIVE = ("relative_ce", "relative_mce")


@dataclass(frozen=True)
class PairedValues:
    """Values of a run and of its baseline, on the images and conditions that both runs have.

    Attributes:
        baseline: the name of the baseline's model.
        conditions: names of the shared conditions, in the run's order.
        units: the corruption or sequence of each condition, "" for clean.
        run_values, baseline_values: images x conditions: 1 where wrong, or the change between frames.
        groups: the group of each image, if any.
    """

    baseline: str
    conditions: tuple[str, ...]
    units: tuple[str, ...]
    run_values: Numbers
    baseline_values: Numbers
    groups: Groups

    @property
    def count(self) -> int:
        """Number of images that both runs have in full."""
        return len(self.run_values)

    def columns(self, unit: str) -> list[int]:
        """Columns of a corruption's severities, or of a sequence's one difficulty."""
        return [column for column, name in enumerate(self.units) if name == unit]

    def sums(self, unit: str, *, relative: bool) -> tuple[Numbers, Numbers]:
        """Sums over severities for each image, of run and baseline; `relative` subtracts the clean values."""
        places = self.columns(unit)
        run_sums = self.run_values[:, places].sum(axis=1)
        baseline_sums = self.baseline_values[:, places].sum(axis=1)
        if relative:
            clean = self.conditions.index("clean")
            run_sums = run_sums - len(places) * self.run_values[:, clean]
            baseline_sums = baseline_sums - len(places) * self.baseline_values[:, clean]
        return run_sums, baseline_sums

    def divides(self, unit: str, *, relative: bool = False) -> bool:
        """Whether the baseline's mean is clearly above zero: its 95 % interval does not reach zero."""
        _, baseline_sums = self.sums(unit, relative=relative)
        several = unit_count(self.count, self.groups) > 1
        return several and mean_interval(baseline_sums, groups=self.groups)[0] > 0


def mean_of_ratios(
    pair: PairedValues,
    metric: str,
    condition: str,
    formula: str,
    units: Sequence[str],
    *,
    relative: bool = False,
) -> Measure:
    """The mean over units of the run's sum divided by the baseline's; the bootstrap draws both together."""
    sums = [pair.sums(unit, relative=relative) for unit in units]
    columns = np.stack([run for run, _ in sums] + [baseline for _, baseline in sums], axis=1)
    half = len(units)

    def combine(means: Numbers) -> Numbers:
        below = means[..., half:]
        each = means[..., :half] / np.where(below > 0, below, np.nan)
        return np.asarray(each.mean(axis=-1), np.float64)

    parts = tuple(pair.conditions[column] for unit in units for column in pair.columns(unit))
    every = (*(["clean"] if relative else []), *parts)
    described = f"{formula}; the bootstrap of the interval draws both together"
    return Measure(metric, condition, described, every, columns, combine=combine, groups=pair.groups)


def check_baseline(run: ScoredRun, baseline: ScoredRun) -> None:
    """Refuse a baseline that is not comparable with the run."""
    both = [run, baseline]
    why = why_pixels_differ(both) or why_outputs_differ(both) or why_frame_pairs_differ(run, baseline)
    if why:
        raise UserError(
            f"{run.path} cannot be normalised by {baseline.path}: {why}; run both with the same options."
        )
    baseline_ids = {condition.id for condition in baseline.conditions}
    if not any(condition.id in baseline_ids for condition in run.conditions if condition.unit):
        raise UserError(
            f"{baseline.path} shares no corruption or sequence with {run.path}; give a run of the same suite."
        )
    run_ids, baseline_image_ids = (
        (scored.observed if len(scored.observed.ids) else scored.clips).ids for scored in both
    )
    if len(same_images(run, run_ids, baseline, baseline_image_ids)[0]) < 2:
        raise UserError(
            f"{baseline.path} and {run.path} share fewer than two scored images; run both on the same data."
        )


def pair_errors(run: ScoredRun, baseline: ScoredRun) -> PairedValues:
    """Errors of run and baseline on all images and conditions that both have."""
    return errors_on(run, baseline, *same_images(run, run.observed.ids, baseline, baseline.observed.ids))


def same_images(run: ScoredRun, ids: Ids, baseline: ScoredRun, baseline_ids: Ids) -> tuple[Rows, Rows]:
    """Rows of the images that are in both lists, in the order of the first."""
    rows = {baseline.images[id_]: row for row, id_ in enumerate(baseline_ids)}
    pairs = [(row, rows[image]) for row, id_ in enumerate(ids) if (image := run.images[id_]) in rows]
    run_rows, baseline_rows = np.array(pairs, np.int64).reshape(-1, 2).T
    return run_rows, baseline_rows


def errors_on(run: ScoredRun, baseline: ScoredRun, run_rows: Rows, baseline_rows: Rows) -> PairedValues:
    """Errors of run and baseline under the conditions that both have, on the images in these rows."""
    where = {condition.id: place for place, condition in enumerate(baseline.conditions)}
    shared = [
        (place, where[condition.id], condition)
        for place, condition in enumerate(run.conditions)
        if condition.id in where and not condition.is_sequence
    ]
    columns, baseline_columns = [place for place, _, _ in shared], [place for _, place, _ in shared]
    return PairedValues(
        baseline.info.model.name,
        tuple(condition.name for _, _, condition in shared),
        tuple(condition.unit for _, _, condition in shared),
        run.observed.wrong[run_rows][:, columns].astype(np.float64),
        baseline.observed.wrong[baseline_rows][:, baseline_columns].astype(np.float64),
        None if run.groups is None else run.groups[run_rows],
    )


def why_not_normalised(pair: PairedValues, unit: str, severities: int, *, relative: bool) -> str:
    """Why a corruption cannot be normalised by the baseline, or "" if it can."""
    if len(pair.columns(unit)) < severities:
        return f"the baseline does not have every severity of {unit}"
    if relative and "clean" not in pair.conditions:
        return "the clean images are not in both runs"
    if pair.divides(unit, relative=relative):
        return ""
    _, baseline_sums = pair.sums(unit, relative=relative)
    what = "errors minus its clean error" if relative else "errors"
    return (
        f"the baseline's {what} under {unit} are not clearly above 0 "
        f"({100 * baseline_sums.mean() / severities:.1f} % on {pair.count:,} images)"
    )


def ratios(run: ScoredRun, baseline: ScoredRun, metric: str, units: Sequence[str]) -> list[Measure]:
    """CE or relative CE of every corruption that the baseline can normalise."""
    pair, relative = pair_errors(run, baseline), metric in RELATIVE
    return [
        ratio(pair, metric, unit, [unit])
        for unit in units
        if not why_not_normalised(pair, unit, level_count(run, unit), relative=relative)
    ]


def mean_ratio(run: ScoredRun, baseline: ScoredRun, metric: str, units: Sequence[str]) -> list[Measure]:
    """mCE or relative mCE; none unless the baseline can normalise every corruption."""
    pair, relative = pair_errors(run, baseline), metric in RELATIVE
    if any(why_not_normalised(pair, unit, level_count(run, unit), relative=relative) for unit in units):
        return []
    return [ratio(pair, metric, "", units)]


def level_count(run: ScoredRun, unit: str) -> int:
    """The number of severities of a corruption in a run; 1 for one strength."""
    return sum(condition.unit == unit for condition in run.conditions)


def ratio(pair: PairedValues, metric: str, condition: str, units: Sequence[str]) -> Measure:
    """The mean over corruptions of the run's errors divided by the baseline's."""
    relative = metric in RELATIVE
    what = "(top-1 error - clean error)" if relative else "top-1 errors"
    mean = f"mean over {counted(len(units), 'corruption')} of the " if not condition else ""
    formula = (
        f"{mean}sum of {what} over severities, divided by the same sum of {pair.baseline} on the same images"
    )
    return mean_of_ratios(pair, metric, condition, formula, units, relative=relative)


def baseline_notes(run: ScoredRun, units: Sequence[str]) -> list[str]:
    """Notes on scores that are normalised by a baseline run."""
    if run.baseline is None:
        return []
    pair = pair_errors(run, run.baseline)
    lines = [
        f"CE and relative CE are normalised by {pair.baseline} ({run.baseline.path}) on the same "
        f"{pair.count:,} images, not by AlexNet's published errors. They are not comparable with the papers'."
    ]
    left_out = len(run.observed.ids) - pair.count
    if left_out:
        lines.append(f"{left_out:,} images are not in the baseline run; CE and relative CE leave them out.")
    for relative, name in ((False, "CE"), (True, "relative CE")):
        reasons = (
            why_not_normalised(pair, unit, level_count(run, unit), relative=relative) for unit in units
        )
        lines += [f"No {name}: {reason}." for reason in dict.fromkeys(reasons) if reason]
    return lines
