"""Corruption errors divided by those of the first of several runs, on the pictures that all of them share.

Mean CE as by a stored baseline (`metrics/baseline.py`); over ImageNet-C's fifteen corruptions it is mCE.
"""

from __future__ import annotations

from dataclasses import replace

from windtunnel.analysis.join import Joined
from windtunnel.corruptions import SEVERITIES
from windtunnel.metrics.baseline import beside, ratio, why_not
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.score import Measure


def error_against(joined: Joined, other: int) -> tuple[Measure | None, tuple[str, ...]]:
    """A run's mean CE by the first run's errors; or none, and which errors cannot be divided by.

    None without a reason where the runs are not paired or share no corruption at all its severities.
    """
    if not joined.paired or not whole_units(joined.runs[other]):
        return None, ()
    found = beside(joined.runs[other], joined.runs[0], joined.rows[other], joined.rows[0])
    found = replace(found, groups=joined.groups)
    units = [unit for unit in whole_units(joined.runs[other]) if len(found.columns(unit)) == len(SEVERITIES)]
    reasons = [why_not(found, unit, len(SEVERITIES), relative=False) for unit in units]
    if not units or any(reasons):
        return None, tuple(filter(None, reasons))
    metric = "mce_against_first" if set(units) == set(THE_FIFTEEN) else "mean_ce_against_first"
    return ratio(found, metric, "", units), ()
