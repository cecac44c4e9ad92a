"""Errors and flips divided by those of the first of several runs, on the images that all of them share.

Mean CE as by a stored baseline (`metrics/baseline.py`), over ImageNet-C's fifteen corruptions mCE; or mean FR
(`metrics/flip_rates.py`), over ImageNet-P's ten sequences mFR.
"""

from __future__ import annotations

from dataclasses import replace

from windtunnel.analysis.pairing import Joined
from windtunnel.corruptions import SEVERITIES
from windtunnel.metrics.baseline import beside, ratio, why_not
from windtunnel.metrics.comparability import why_other_answers, why_other_pairs
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.flip_rates import THE_TEN, clips_beside, divided, why_not_divided
from windtunnel.metrics.sequence_scores import FLIPS, bare, sequences_of
from windtunnel.stats.measure import Measure

# Their names, as people write them.
TITLES = {
    "mce_against_first": "mCE",
    "mean_ce_against_first": "mean CE",
    "mfr_against_first": "mFR",
    "mean_fr_against_first": "mean FR",
}


def against_first(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    """A run's mean CE, or of sequences mean FR, by the first run; or none, and what cannot be divided by.

    None without a reason where the runs are not paired, or share neither a sequence nor a corruption at all
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
    found = beside(joined.runs[other], joined.runs[0], joined.rows[other], joined.rows[0])
    found = replace(found, groups=joined.groups)
    units = [unit for unit in whole_units(joined.runs[other]) if len(found.columns(unit)) == len(SEVERITIES)]
    reasons = [why_not(found, unit, len(SEVERITIES), relative=False) for unit in units]
    if not units or any(reasons):
        return None, tuple(filter(None, reasons))
    metric = "mce_against_first" if set(units) == set(THE_FIFTEEN) else "mean_ce_against_first"
    return ratio(found, metric, "", units), ()


def _flips_against(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    first, run = joined.runs[0], joined.runs[other]
    if why := why_other_answers([run, first]) or why_other_pairs(run, first):
        return None, (why,)
    held = {condition.id for condition in first.conditions}
    shared = [one for one in sequences_of(run) if one.id in held]
    found = clips_beside(FLIPS, run, first, joined.rows[other], joined.rows[0])
    found = replace(found, groups=joined.groups)
    reasons = [why_not_divided(FLIPS, found, one) for one in shared]
    if not shared or any(reasons):
        return None, tuple(filter(None, reasons))
    metric = "mfr_against_first" if {bare(one) for one in shared} == set(THE_TEN) else "mean_fr_against_first"
    return divided(FLIPS, metric, "", found, run, shared), ()
