"""RMS calibration error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.calibration import RMS_BIN_SIZE, calibration_interval, rms_values
from windtunnel.metrics.confidence import confident_measures
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "probabilities"))
def rms_calibration_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """RMS calibration error of every condition, and pooled over the corruptions."""
    formula = (
        "root of the mean squared gap between confidence and accuracy, bins of "
        f"{RMS_BIN_SIZE} sorted by confidence; biased upwards on few images, as is its interval"
    )
    return confident_measures(run, seen, "rms_calibration_error", formula, rms_values, calibration_interval)
