"""Columns of errors that were given as accuracies: models are then better on shifted than on clean images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.core.wording import listed

# The share of models that are better on shifted images from which a warning is given.
NEARLY_ALL = 0.9
# Settings that are listed by name.
NAMED = 3


def error_warnings(table: ModelTable, settings: Sequence[Setting]) -> tuple[str, ...]:
    """A warning if nearly all models are better on shifted than on clean images; else ().

    At least half of the columns with the same clean accuracies must be so: a single set may be easier, such
    as one of fewer classes.
    """
    better: dict[str, list[str]] = {}
    compared = Counter(setting.clean for setting in settings if setting.is_accuracy)
    without_exception = True
    for setting in settings:
        if not setting.is_accuracy or not setting.clean:
            continue
        clean, shifted = table.column(setting.clean), table.column(setting.name)
        known = np.isfinite(clean) & np.isfinite(shifted)
        higher = shifted[known] > clean[known]
        if known.any() and higher.mean() >= NEARLY_ALL:
            better.setdefault(setting.clean, []).append(setting.name)
            without_exception = without_exception and bool(higher.all())
    return tuple(
        f"{'All' if without_exception else 'Nearly all'} models are better on {listed(names, NAMED)} than on "
        f"clean images ({clean}). Are these errors? Errors read as accuracies reverse the results; give "
        "accuracies, which are 1 - error."
        for clean, names in better.items()
        if 2 * len(names) >= compared[clean]
    )
