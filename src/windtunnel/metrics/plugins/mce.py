"""Mean corruption error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.baseline import mean_ratio
from windtunnel.metrics.corruption_error import (
    BASELINE,
    THE_FIFTEEN,
    alexnet_errors,
    misfit,
    weighted_errors,
    whole_units,
    why_no_mean,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="mCE",
    headline=True,
    needs=("labels", "corruptions", "normaliser"),
    why_missing=why_no_mean,
)
def mce(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the corruption errors (CE) of ImageNet-C's 15 corruptions."""
    if set(whole_units(run)) != set(THE_FIFTEEN):
        return []
    if run.baseline:
        return mean_ratio(run, run.baseline, "mce", THE_FIFTEEN)
    if misfit(run):
        return []
    weights = {unit: 1 / sum(alexnet_errors()[unit]) / len(THE_FIFTEEN) for unit in THE_FIFTEEN}
    formula = f"mean over the 15 corruptions of CE: summed top-1 errors of 5 severities divided by {BASELINE}"
    return [weighted_errors(run, seen, "mce", "", weights, formula)]
