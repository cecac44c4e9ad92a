"""Error of localisation by offset from the anchor."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.frame_sets import offset_errors
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="localisation error by offset",
    needs=("objects", "frame sets"),
    across_parts=True,
    task="detection",
)
def offset_localisation_error(run: ScoredRun, _seen: object) -> list[Measure]:
    """1 minus AP of single frames whatever the categories, mean over frames at every offset."""
    return offset_errors(run, "offset_localisation_error", localisation=True)
