"""Share of flips by swapping a pipeline step."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.pipeline_steps import identical_steps, reference_of, step_columns, step_note
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("pipeline steps",))
def step_flip_share(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Share of images whose predicted class changes when one pipeline step is swapped, for every step."""
    seen = seen.with_unlabelled
    same, before = identical_steps(run, seen), reference_of(seen)
    formula = f"share of images whose predicted class differs from that under {before}"
    return [
        Measure(
            "step_flip_share",
            name,
            formula + step_note(name, same),
            (name, before),
            flipped(seen.chosen[:, [column]], seen.chosen[:, [seen.column(before)]]),
            limits=(0.0, 0.0) if name in same else (0.0, 1.0),
        )
        for column in step_columns(run)
        for name in [seen.conditions[column]]
    ]
