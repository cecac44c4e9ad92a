"""mPC by corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_corruption, mean_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="mPC by corruption",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("mpc",),
)
def corruption_mpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of every corruption, mean over its severities."""
    return mean_precisions(run, "corruption_mpc", by_corruption(run))
