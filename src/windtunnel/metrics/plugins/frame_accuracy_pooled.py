"""Accuracy over all frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import judge_frames, left_out, mean_over_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", needs=("labels", "frame sets"), across_parts=True)
def frame_accuracy_pooled(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of correct frames, the frames of all sets pooled, so that large sets count for more."""
    judged = judge_frames(run)
    if judged is None:
        return []
    formula = "share of correct frames, anchors included, the frames of all sets pooled"
    columns = np.stack(mean_over_frames(judged.sets, judged.anchor_right, judged.right), axis=1)
    measure = Measure("frame_accuracy_pooled", "", formula, (), columns)
    detail = "; ".join(filter(None, (f"{columns[:, 1].sum():,.0f} frames", left_out(judged.sets))))
    return [replace(measure, combine=_ratio, limits=(0, 1), rows=judged.sets.anchors, detail=detail)]


def _ratio(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(means[..., 0] / means[..., 1], np.float64)
