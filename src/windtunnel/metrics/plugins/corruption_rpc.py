"""rPC by corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_corruption, relative_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="rPC by corruption",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("rpc",),
)
def corruption_rpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP relative to clean images of every corruption, mean over its severities."""
    return relative_precisions(run, "corruption_rpc", by_corruption(run))
