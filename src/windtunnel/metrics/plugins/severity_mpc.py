"""mPC by severity."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_severity, mean_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="mPC by severity",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("mpc",),
)
def severity_mpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of every severity, mean over corruptions."""
    return mean_precisions(run, "severity_mpc", by_severity(run))
