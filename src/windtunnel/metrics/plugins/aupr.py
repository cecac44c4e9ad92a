"""Area under the precision-recall curve (average precision) of OOD scores."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.ood_detection import AUPR, measure_detection
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="AUPR", headline=True, needs=("labels", "ood scores"), across_parts=True)
def aupr(run: ScoredRun, seen: Observed, only: str = "") -> list[Measure]:
    """Area under the precision-recall curve (average precision) of every OOD score, OOD images positive."""
    return measure_detection(AUPR, run, seen, only)
