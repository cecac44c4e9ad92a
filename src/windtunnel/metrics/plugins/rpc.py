"""rPC: relative performance under corruption."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.matches import THRESHOLDS
from windtunnel.metrics.detections.precision import clean, condition_precisions, corrupted, mean_of, ratio_of
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="rPC", headline=True, needs=("objects", "corruptions"), task="detection")
def rpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """Relative performance under corruption: mPC divided by AP on clean images."""
    measures = condition_precisions(run, "ap", tuple(THRESHOLDS))
    under, without = corrupted(run, measures), clean(run, measures)
    if not under or without is None:
        return []
    above = mean_of(under, "mpc", "")
    return [ratio_of(above, without, "rpc", f"AP, mean over {len(under)} conditions / AP of clean images")]
