"""False positive rate of OOD scores as ImageNet-O's code computes it."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.ood_detection import FPR95_COMPAT, measure_detection
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "ood scores"), across_parts=True)
def fpr95_compat(run: ScoredRun, seen: Observed, only: str = "") -> list[Measure]:
    """False positive rate of every OOD score at the recall nearest to 95 %, as in ImageNet-O's code."""
    return measure_detection(FPR95_COMPAT, run, seen, only)
