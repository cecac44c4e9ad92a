"""Error by offset from the anchor frame."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import anchor_share, errors_by_offset, judge_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "frame sets"), across_parts=True)
def offset_error_all(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of incorrect frames at every offset from the anchor, over all sets; anchors are at offset 0."""
    judged = judge_frames(run)
    if judged is None:
        return []
    formula = "share of incorrect frames at this offset from the anchor, over all sets"
    measures = errors_by_offset(judged, "offset_error_all", formula, np.ones_like(judged.anchor_right))
    anchors = anchor_share(judged, "offset_error_all", "0", formula, ~judged.anchor_right)
    before = sum(int(measure.condition) < 0 for measure in measures)
    return [*measures[:before], anchors, *measures[before:]]
