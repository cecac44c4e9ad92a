"""rPC: relative performance under corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import all_corruptions, relative_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="rPC",
    needs=("objects", "corruptions"),
    task="detection",
    headline=True,
)
def rpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """Relative performance under corruption: mPC divided by AP on clean images."""
    return relative_precisions(run, "rpc", all_corruptions(run))
