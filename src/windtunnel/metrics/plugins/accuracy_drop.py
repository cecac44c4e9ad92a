"""Accuracy drop of a natural shift."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.accuracy_drop import difference_of_shares, of_shared_classes, square_and_add
from windtunnel.metrics.error import top_k_wrong
from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    unit="points",
    title="accuracy drop",
    headline=True,
    needs=("labels", "shifted images"),
    across_parts=True,
)
def accuracy_drop(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Clean accuracy minus shifted accuracy over the classes that both sets have."""
    shifted, clean = part_of_role(run, "shifted"), part_of_role(run, "clean")
    if shifted is None or clean is None:
        return []
    own, beside = of_shared_classes(shifted, clean, seen)
    if not len(own) or not len(beside):
        return []
    rows = np.sort(np.concatenate([own, beside]))
    wrong = top_k_wrong(seen.rank[rows, 0], 1)
    of_shifted = np.isin(rows, own)
    columns = np.stack([wrong & of_shifted, of_shifted, wrong & ~of_shifted, ~of_shifted], axis=1)
    formula = (
        f"accuracy on clean images less accuracy on {shifted.name} (top-1), of classes that both have; "
        "different images, so that a harder choice of them counts as shift"
    )
    whole = len(own) == len(shifted.rows) and len(beside) == len(clean.rows)
    of = (
        f"{len(own):,} of {len(shifted.rows):,} {shifted.name} and {len(beside):,} of {len(clean.rows):,} "
        "clean images"
    )
    return [
        Measure(
            "accuracy_drop",
            "",
            formula,
            (shifted.name, clean.name),
            columns,
            combine=difference_of_shares,
            limits=(-1.0, 1.0),
            rows=rows,
            interval_of=square_and_add,
            detail="" if whole else of,
        )
    ]
