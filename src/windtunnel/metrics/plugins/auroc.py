"""Area under the ROC curve of OOD scores."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.ood_detection import AUROC, measure_detection
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="AUROC", headline=True, needs=("labels", "ood scores"), across_parts=True)
def auroc(run: ScoredRun, seen: Observed, only: str = "") -> list[Measure]:
    """Area under the ROC curve of every OOD score, OOD against ID images."""
    return measure_detection(AUROC, run, seen, only)
