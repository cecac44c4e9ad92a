"""mPC: mean performance under corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import all_corruptions, mean_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="mPC",
    needs=("objects", "corruptions"),
    task="detection",
    headline=True,
)
def mpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """Mean performance under corruption: AP averaged over all corruptions and severities."""
    return mean_precisions(run, "mpc", all_corruptions(run))
