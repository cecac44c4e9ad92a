"""Errors and flips normalised by those of the first run, on the images that all runs share.

Mean CE is computed as with a baseline run (`metrics/baseline.py`); over ImageNet-C's fifteen corruptions it
is mCE. Mean FR is computed as in `metrics/flip_rates.py`; over ImageNet-P's ten sequences it is mFR.
"""

from __future__ import annotations

from dataclasses import replace

from windtunnel.analysis.pairing import Joined
from windtunnel.metrics.baseline import errors_on, level_count, ratio, why_not_normalised
from windtunnel.metrics.comparability import why_frame_pairs_differ, why_outputs_differ
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.flip_rates import THE_TEN, changes_on, divided, why_no_ratio
from windtunnel.metrics.sequence_scores import FLIPS, bare, sequences_of
from windtunnel.stats.measure import Measure

# Titles of the metrics.
TITLES = {
    "mce_against_first": "mCE",
    "mean_ce_against_first": "mean CE",
    "mfr_against_first": "mFR",
    "mean_fr_against_first": "mean FR",
}


def against_first(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    """A run's mean CE (mean FR for sequences), normalised by the first run; or None and the reasons.

    None without a reason if the runs are not paired, or share neither a sequence nor a corruption at all
    its severities.
    """
    if not joined.paired:
        return None, ()
    if sequences_of(joined.runs[other]):
        return _flips_against(joined, other)
    return _errors_against(joined, other)


def _errors_against(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    if not whole_units(joined.runs[other]):
        return None, ()
    pair = errors_on(joined.runs[other], joined.runs[0], joined.rows[other], joined.rows[0])
    pair = replace(pair, groups=joined.groups)
    counts = {unit: level_count(joined.runs[other], unit) for unit in whole_units(joined.runs[other])}
    units = [unit for unit, count in counts.items() if len(pair.columns(unit)) == count]
    reasons = [why_not_normalised(pair, unit, counts[unit], relative=False) for unit in units]
    if not units or any(reasons):
        return None, tuple(filter(None, reasons))
    metric = "mce_against_first" if set(units) == set(THE_FIFTEEN) else "mean_ce_against_first"
    return ratio(pair, metric, "", units), ()


def _flips_against(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    first, run = joined.runs[0], joined.runs[other]
    if why := why_outputs_differ([run, first]) or why_frame_pairs_differ(run, first):
        return None, (why,)
    first_ids = {condition.id for condition in first.conditions}
    shared = [condition for condition in sequences_of(run) if condition.id in first_ids]
    pair = changes_on(FLIPS, run, first, joined.rows[other], joined.rows[0])
    pair = replace(pair, groups=joined.groups)
    reasons = [why_no_ratio(FLIPS, pair, condition) for condition in shared]
    if not shared or any(reasons):
        return None, tuple(filter(None, reasons))
    metric = (
        "mfr_against_first"
        if {bare(condition) for condition in shared} == set(THE_TEN)
        else "mean_fr_against_first"
    )
    return divided(FLIPS, metric, "", pair, run, shared), ()
