"""Corruption errors divided by a stored run's on the same pictures, where no published errors fit.

With E a model's top-1 errors, B the stored run's, s the severities and c a corruption:

CE_c = sum_s E_sc / sum_s B_sc,  mean CE = mean over corruptions of CE_c; over ImageNet-C's fifteen, mCE.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.join import Joined
from windtunnel.corruptions import SEVERITIES
from windtunnel.metrics.corruption_error import THE_FIFTEEN
from windtunnel.metrics.score import Measure


def mean_ratio(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of first half over second half, along the last axis."""
    half = means.shape[-1] // 2
    return np.asarray((means[..., :half] / means[..., half:]).mean(axis=-1), np.float64)


def ratio_columns(wrong: NDArray[np.bool_], base: NDArray[np.bool_], levels: int) -> NDArray[np.float64]:
    """Columns for `mean_ratio`: wrong answers per corruption of a model, then of the stored run.

    Both are pictures x (corruptions x levels), the levels of a corruption side by side.
    """
    return np.hstack(
        [np.asarray(one.reshape(len(one), -1, levels).sum(axis=2), np.float64) for one in (wrong, base)]
    )


def error_against(joined: Joined, other: int) -> Measure | None:
    """A run's corruption errors divided by the first run's, or None where they do not divide.

    Pictures are drawn for both together, since both answered the same ones.
    """
    units = _whole_units(joined)
    if not joined.paired or not units:
        return None
    names = [name for found in units.values() for name in found]
    wrong, base = (
        np.hstack([joined.measures[place]["top1_error", name].columns for name in names])
        for place in (other, 0)
    )
    columns = ratio_columns(wrong, base, len(SEVERITIES))
    if not columns[:, len(units) :].any(axis=0).all():
        return None
    metric = "mce_against_first" if set(units) == set(THE_FIFTEEN) else "mean_ce_against_first"
    formula = (
        f"mean over {len(units)} corruptions of the sum of top-1 errors over severities 1 to 5, divided by "
        "the same sum of the first run on the same pictures"
    )
    groups = joined.measures[0]["top1_error", names[0]].groups
    return Measure(metric, "", formula, tuple(names), columns, combine=mean_ratio, groups=groups)


def _whole_units(joined: Joined) -> dict[str, list[str]]:
    """Corruptions with all severities in all runs, and their conditions by severity."""
    found: dict[str, dict[int, str]] = {}
    for one in joined.runs[0].conditions:
        if one["kind"] == "corruption" and ("top1_error", str(one["name"])) in joined.measures[0]:
            found.setdefault(str(one["unit"]), {})[int(one["level"])] = str(one["name"])
    return {
        unit: [levels[level] for level in SEVERITIES]
        for unit, levels in found.items()
        if set(levels) == set(SEVERITIES)
    }
