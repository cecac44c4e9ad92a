"""rPC by family."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_family, relative_precisions
from windtunnel.metrics.families import why_no_families
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="rPC by family",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("rpc",),
    why_missing=why_no_families,
)
def family_rpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP relative to clean images of every family of corruptions, mean over its conditions."""
    return relative_precisions(run, "family_rpc", by_family(run))
