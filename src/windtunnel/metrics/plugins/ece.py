"""Expected calibration error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.calibration import ECE_BINS, calibration_interval, ece_values
from windtunnel.metrics.confidence import confident_measures
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "probabilities"))
def ece(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Expected calibration error of every condition, and pooled over the corruptions."""
    formula = (
        f"expected calibration error: gap between confidence and accuracy, {ECE_BINS} bins of equal width, "
        "weighted by their images; biased upwards on few images, as is its interval"
    )
    return confident_measures(run, seen, "ece", formula, ece_values, calibration_interval)
