"""Error by offset from a correct anchor frame."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import errors_by_offset, judge_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "frame sets"), across_parts=True, own_images=True)
def offset_error(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of incorrect frames at every offset from the anchor, over the sets whose anchor is correct."""
    judged = judge_frames(run)
    formula = "share of incorrect frames at this offset from the anchor, over sets whose anchor is correct"
    return [] if judged is None else errors_by_offset(judged, "offset_error", formula, judged.anchor_right)
