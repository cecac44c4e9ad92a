"""False positive rate of OOD scores."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.ood_detection import FPR95, measure_detection
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="FPR95", headline=True, needs=("labels", "ood scores"), across_parts=True)
def fpr95(run: ScoredRun, seen: Observed, only: str = "") -> list[Measure]:
    """False positive rate of every OOD score at the first threshold with a recall of 95 % of OOD images."""
    return measure_detection(FPR95, run, seen, only)
