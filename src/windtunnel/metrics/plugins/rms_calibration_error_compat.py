"""RMS calibration error as ImageNet-A's code computes it."""

from __future__ import annotations

from functools import partial

from windtunnel.core.metrics import metric
from windtunnel.metrics.calibration import RMS_BIN_SIZE, calibration_interval, rms_values
from windtunnel.metrics.confidence import confident_measures
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "probabilities"))
def rms_calibration_error_compat(run: ScoredRun, seen: Observed) -> list[Measure]:
    """RMS calibration error as the published code of ImageNet-A computes it, without its last bin.

    Requires the predictions of at least two bins.
    """
    formula = (
        "root of the mean squared gap between confidence and accuracy, bins of "
        f"{RMS_BIN_SIZE} sorted by confidence, the most confident bin omitted as in ImageNet-A's code"
    )
    values = partial(rms_values, compat=True)
    measures = confident_measures(
        run, seen, "rms_calibration_error_compat", formula, values, calibration_interval
    )
    return [measure for measure in measures if len(measure.columns) * len(measure.parts) >= 2 * RMS_BIN_SIZE]
