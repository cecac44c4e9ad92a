"""Scores divided by a stored run's on the same images, both drawn together in the bootstrap.

CE_c          = sum_s E_sc / sum_s B_sc                            B: the baseline's errors
relative CE_c = sum_s (E_sc - E_clean) / sum_s (B_sc - B_clean)
mean CE       = mean over corruptions of CE_c; over ImageNet-C's fifteen it is mCE

Flips and top-5 distances of sequences are divided likewise (`metrics/flip_rates.py`).

Images are joined by id, content and labels, conditions by their id. A denominator that is not clearly above
zero (its 95 % interval reaches zero) gives no number but a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted
from windtunnel.metrics.comparability import why_other_answers, why_other_pairs, why_other_pixels
from windtunnel.metrics.error import top_k_wrong
from windtunnel.stats.intervals import Groups, mean_interval, unit_count
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Numbers = NDArray[np.float64]
Rows = NDArray[np.int64]
Ids = NDArray[Any]
# Metrics whose errors are counted from the clean error.
RELATIVE = ("relative_ce", "relative_mce")


@dataclass(frozen=True)
class Beside:
    """What two runs have in common: the same images under the same conditions, and what is divided.

    Attributes:
        baseline: what the baseline is called.
        conditions: names in the run, in its order.
        units: the corruption or sequence of each condition, "" for clean.
        ours, theirs: images x conditions: 1 where wrong, or how much changes between frames.
        groups: which images were drawn together, if any.
    """

    baseline: str
    conditions: tuple[str, ...]
    units: tuple[str, ...]
    ours: Numbers
    theirs: Numbers
    groups: Groups

    @property
    def count(self) -> int:
        """How many images both runs have in full."""
        return len(self.ours)

    def columns(self, unit: str) -> list[int]:
        """Where the severities of a corruption stand, or the one difficulty of a sequence."""
        return [place for place, found in enumerate(self.units) if found == unit]

    def sums(self, unit: str, *, relative: bool) -> tuple[Numbers, Numbers]:
        """Each image's values summed over severities, ours and theirs; less the clean ones if asked."""
        places = self.columns(unit)
        ours, theirs = self.ours[:, places].sum(axis=1), self.theirs[:, places].sum(axis=1)
        if relative:
            clean = self.conditions.index("clean")
            ours = ours - len(places) * self.ours[:, clean]
            theirs = theirs - len(places) * self.theirs[:, clean]
        return ours, theirs

    def divides(self, unit: str, *, relative: bool = False) -> bool:
        """Whether the baseline's mean is clearly above zero: its 95 % interval does not reach it."""
        _, theirs = self.sums(unit, relative=relative)
        several = unit_count(self.count, self.groups) > 1
        return several and mean_interval(theirs, groups=self.groups)[0] > 0


def mean_of_ratios(
    found: Beside, metric: str, condition: str, formula: str, units: Sequence[str], *, relative: bool = False
) -> Measure:
    """Some units' sums, each divided by the baseline's, and their mean; both drawn in the same draws."""
    sums = [found.sums(unit, relative=relative) for unit in units]
    columns = np.stack([ours for ours, _ in sums] + [theirs for _, theirs in sums], axis=1)
    half = len(units)

    def combine(means: Numbers) -> Numbers:
        below = means[..., half:]
        each = means[..., :half] / np.where(below > 0, below, np.nan)
        return np.asarray(each.mean(axis=-1), np.float64)

    parts = tuple(found.conditions[place] for unit in units for place in found.columns(unit))
    every = (*(["clean"] if relative else []), *parts)
    drawn = f"{formula}; both drawn together in the interval"
    return Measure(metric, condition, drawn, every, columns, combine=combine, groups=found.groups)


def check_baseline(run: ScoredRun, baseline: ScoredRun) -> None:
    """Refuse a baseline that cannot be set beside a run."""
    both = [run, baseline]
    why = why_other_pixels(both) or why_other_answers(both) or why_other_pairs(run, baseline)
    if why:
        raise UserError(f"{run.path} cannot be divided by {baseline.path}: {why}; run both alike.")
    theirs = {condition.id for condition in baseline.conditions}
    if not any(one.id in theirs for one in run.conditions if one.unit):
        raise UserError(
            f"{baseline.path} shares no corruption or sequence with {run.path}; give a run of the same suite."
        )
    whole, theirs_whole = (one.observed if len(one.observed.ids) else one.clips for one in (run, baseline))
    if len(same_images(run, whole.ids, baseline, theirs_whole.ids)[0]) < 2:
        raise UserError(f"{baseline.path} and {run.path} share no two scored images; give the same data.")


def joined(run: ScoredRun, baseline: ScoredRun) -> Beside:
    """The images and conditions that both runs have."""
    return beside(run, baseline, *same_images(run, run.observed.ids, baseline, baseline.observed.ids))


def same_images(run: ScoredRun, ids: Ids, baseline: ScoredRun, their_ids: Ids) -> tuple[Rows, Rows]:
    """Rows of the images that both lists hold, in the first one's order."""
    rows = {baseline.images[id_]: row for row, id_ in enumerate(their_ids)}
    pairs = [(row, rows[image]) for row, id_ in enumerate(ids) if (image := run.images[id_]) in rows]
    ours, theirs = np.array(pairs, np.int64).reshape(-1, 2).T
    return ours, theirs


def beside(run: ScoredRun, baseline: ScoredRun, ours: Rows, theirs: Rows) -> Beside:
    """The conditions that both runs have, over the images in these rows of either."""
    where = {condition.id: place for place, condition in enumerate(baseline.conditions)}
    shared = [
        (place, where[condition.id], condition)
        for place, condition in enumerate(run.conditions)
        if condition.id in where and not condition.is_sequence
    ]
    columns, matching = [one[0] for one in shared], [one[1] for one in shared]
    return Beside(
        baseline.info.model.name,
        tuple(condition.name for _, _, condition in shared),
        tuple(condition.unit for _, _, condition in shared),
        top_k_wrong(run.observed.rank[ours][:, columns], 1).astype(np.float64),
        top_k_wrong(baseline.observed.rank[theirs][:, matching], 1).astype(np.float64),
        None if run.groups is None else run.groups[ours],
    )


def why_not(found: Beside, unit: str, severities: int, *, relative: bool) -> str:
    """Why a corruption cannot be divided by the baseline, or "" where it can."""
    if len(found.columns(unit)) < severities:
        return f"the baseline lacks some severity of {unit}"
    if relative and "clean" not in found.conditions:
        return "the clean images are not in both runs"
    if found.divides(unit, relative=relative):
        return ""
    _, theirs = found.sums(unit, relative=relative)
    what = "errors beyond clean" if relative else "errors"
    return (
        f"the baseline's {what} under {unit} are not clearly above 0 "
        f"({100 * theirs.mean() / severities:.1f} % on {found.count:,} images)"
    )


def ratios(run: ScoredRun, baseline: ScoredRun, metric: str, units: Sequence[str]) -> list[Measure]:
    """CE or relative CE of every corruption that can be divided."""
    found = joined(run, baseline)
    relative = metric in RELATIVE
    good = [unit for unit in units if not why_not(found, unit, _severities(run, unit), relative=relative)]
    return [ratio(found, metric, unit, [unit]) for unit in good]


def mean_ratio(run: ScoredRun, baseline: ScoredRun, metric: str, units: Sequence[str]) -> list[Measure]:
    """mCE or relative mCE, where every corruption can be divided."""
    found = joined(run, baseline)
    relative = metric in RELATIVE
    if any(why_not(found, unit, _severities(run, unit), relative=relative) for unit in units):
        return []
    return [ratio(found, metric, "", units)]


def _severities(run: ScoredRun, unit: str) -> int:
    return sum(condition.unit == unit for condition in run.conditions)


def ratio(found: Beside, metric: str, condition: str, units: Sequence[str]) -> Measure:
    """Some corruptions' errors, each divided by the baseline's, and their mean."""
    relative = metric in RELATIVE
    what = "(top-1 error - clean error)" if relative else "top-1 errors"
    mean = f"mean over {counted(len(units), 'corruption')} of the " if not condition else ""
    formula = (
        f"{mean}sum of {what} over severities, divided by the same sum of {found.baseline} on the same images"
    )
    return mean_of_ratios(found, metric, condition, formula, units, relative=relative)


def baseline_notes(run: ScoredRun, units: Sequence[str]) -> list[str]:
    """What a reader of scores divided by a stored run must know."""
    if run.baseline is None:
        return []
    found = joined(run, run.baseline)
    lines = [
        f"CE and relative CE divide by {found.baseline} ({run.baseline.path}) on the same {found.count:,} "
        "images, not by AlexNet's published errors: not comparable with the papers'."
    ]
    left_out = len(run.observed.ids) - found.count
    if left_out:
        lines.append(f"{left_out:,} images are not in the baseline, and count in no CE.")
    for relative, name in ((False, "CE"), (True, "relative CE")):
        reasons = (why_not(found, unit, _severities(run, unit), relative=relative) for unit in units)
        lines += [f"No {name}: {reason}." for reason in dict.fromkeys(reasons) if reason]
    return lines
