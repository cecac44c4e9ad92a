"""mPC: mean performance under corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.matches import THRESHOLDS
from windtunnel.metrics.detections.precision import condition_precisions, corrupted, mean_of
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="mPC", headline=True, needs=("objects", "corruptions"), task="detection")
def mpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """Mean performance under corruption: AP averaged over all corruptions and severities."""
    measures = corrupted(run, condition_precisions(run, "ap", tuple(THRESHOLDS)))
    return [mean_of(measures, "mpc", f"AP, mean over {len(measures)} conditions")] if measures else []
