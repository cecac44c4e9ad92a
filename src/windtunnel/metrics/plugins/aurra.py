"""Area under the response rate accuracy curve."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.aurra import aurra_interval, aurra_values
from windtunnel.metrics.confidence import confident_measures
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", needs=("labels", "probabilities"))
def aurra(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Area under the response rate accuracy curve of every condition, and pooled over the corruptions."""
    formula = (
        "area under the response rate accuracy curve: accuracy among the most confident images, averaged "
        "over all response rates"
    )
    return confident_measures(run, seen, "aurra", formula, aurra_values, aurra_interval)
