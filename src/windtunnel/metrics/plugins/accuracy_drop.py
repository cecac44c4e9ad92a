"""Accuracy drop of a natural shift."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.accuracy_drop import difference_of_shares, of_shared_classes, square_and_add
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
    shifted_rows, clean_rows = of_shared_classes(shifted, clean, seen)
    if not len(shifted_rows) or not len(clean_rows):
        return []
    rows = np.sort(np.concatenate([shifted_rows, clean_rows]))
    wrong = seen.wrong[rows, 0]
    of_shifted = np.isin(rows, shifted_rows)
    columns = np.stack([wrong & of_shifted, of_shifted, wrong & ~of_shifted, ~of_shifted], axis=1)
    formula = (
        f"accuracy on clean images minus accuracy on {shifted.name} (top-1), over classes that both have; "
        "the images differ, so a harder selection of images also counts as shift"
    )
    whole = len(shifted_rows) == len(shifted.rows) and len(clean_rows) == len(clean.rows)
    of = (
        f"{len(shifted_rows):,} of {len(shifted.rows):,} {shifted.name} and {len(clean_rows):,} of "
        f"{len(clean.rows):,} clean images"
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
