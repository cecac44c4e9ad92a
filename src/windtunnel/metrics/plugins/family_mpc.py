"""mPC by family."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.mean_precision import by_family, mean_precisions
from windtunnel.metrics.families import why_no_families
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="mPC by family",
    needs=("objects", "corruptions"),
    task="detection",
    accompanies=("mpc",),
    why_missing=why_no_families,
)
def family_mpc(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of every family of corruptions (noise, blur, weather, digital), mean over its conditions."""
    return mean_precisions(run, "family_mpc", by_family(run))
