"""rPC by severity."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_severity, relative_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="rPC by severity",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("rpc",),
)
def severity_rpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP relative to clean images of every severity, mean over corruptions."""
    return relative_precisions(run, "severity_rpc", by_severity(run))
