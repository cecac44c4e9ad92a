"""Models that lack one of the accuracies that a result needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.model_tables.table import ModelTable
from windtunnel.core.wording import counted, listed

# Models that are listed by name.
NAMED = 3


def missing_note(table: ModelTable, left_out: NDArray[np.bool_], columns: Sequence[str]) -> list[str]:
    """A note on models that are left out, each with the columns that it lacks; [] for none."""
    lacking = []
    for place in np.flatnonzero(left_out):
        absent = [name for name in columns if not np.isfinite(table.column(name)[place])]
        lacking.append(f"{table.models[place]} (no value of {listed(absent, NAMED)})")
    if not lacking:
        return []
    return [
        f"Left out because an accuracy is missing, {counted(len(lacking), 'model')}: "
        f"{listed(lacking, NAMED)}."
    ]
