"""Mean relative corruption error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.baseline import mean_ratio
from windtunnel.metrics.corruption_error import (
    BASELINE,
    THE_FIFTEEN,
    less_clean,
    misfit,
    relative_weights,
    weighted_errors,
    whole_units,
    why_no_relative_mean,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="relative mCE",
    headline=True,
    needs=("labels", "corruptions", "normaliser"),
    why_missing=why_no_relative_mean,
)
def relative_mce(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the relative corruption errors of ImageNet-C's 15 corruptions."""
    if set(whole_units(run)) != set(THE_FIFTEEN):
        return []
    if run.baseline:
        return mean_ratio(run, run.baseline, "relative_mce", THE_FIFTEEN)
    if misfit(run) or len(seen.ids) < 2 or "clean" not in seen.conditions:
        return []
    formula = (
        "mean over the 15 corruptions of the sum over severities of (top-1 error - clean error), divided by "
        f"the same sum of {BASELINE}, AlexNet clean 43.5 %"
    )
    weights = relative_weights(THE_FIFTEEN)
    return [less_clean(seen, weighted_errors(run, seen, "relative_mce", "", weights, formula))]
