"""One number per model for a benchmark: a drop, an error or a score, the higher the worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from windtunnel.analysis.model_tables.table import Floats, ModelTable
from windtunnel.analysis.predictivity.benchmarks import Benchmark
from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed

Kind = Literal["drop", "error", "score"]


@dataclass(frozen=True)
class Vector:
    """A benchmark's value for every model, oriented so that higher is worse.

    Attributes:
        values: clean minus shifted accuracy (`drop`), 1 minus accuracy (`error`), or a score.
        kind: which of the three.
        clean: mean clean accuracy over its settings; None unless it is a drop.
        shifted: mean accuracy over its settings; None for scores.
        clean_name: the column of clean accuracies, or `mean of A, 2 x B` for settings with different ones.
    """

    values: Floats
    kind: Kind
    clean: Floats | None
    shifted: Floats | None
    clean_name: str = ""


def vector_of(table: ModelTable, benchmark: Benchmark) -> Vector:
    """The mean over a benchmark's settings: drops if all have clean accuracies, else errors; or a score."""
    settings = [table.setting(name) for name in benchmark.settings]
    if not all(setting.is_accuracy for setting in settings):
        if len(settings) > 1:
            raise UserError(
                f"{benchmark.name} averages {listed(benchmark.settings, 3)}, which are not all accuracies; "
                "give a score alone."
            )
        sign = 1.0 if settings[0].direction == "lower" else -1.0
        return Vector(sign * table.column(settings[0].name), "score", None, None)
    columns = [table.names.index(setting.name) for setting in settings]
    shifted = np.asarray(table.values[:, columns].mean(axis=1), np.float64)
    if not all(setting.clean for setting in settings):
        return Vector(1 - shifted, "error", None, shifted)
    cleans = [table.names.index(setting.clean) for setting in settings]
    # The mean of equal numbers may be rounded: one clean column is taken as it is.
    clean = (
        table.values[:, cleans[0]]
        if len(set(cleans)) == 1
        else np.asarray(table.values[:, cleans].mean(axis=1), np.float64)
    )
    names = list(dict.fromkeys(setting.clean for setting in settings))
    if len(names) > 1:
        times = {name: sum(setting.clean == name for setting in settings) for name in names}
        parts = [name if count == 1 else f"{count} x {name}" for name, count in times.items()]
        names = [f"mean of {', '.join(parts)}"]
    return Vector(clean - shifted, "drop", clean, shifted, names[0])


def stand_in(table: ModelTable, predictor: Benchmark, target: Benchmark) -> str:
    """The setting with the highest mean accuracy outside a target, in place of a missing clean one.

    A predictor of one corruption is not its own control.
    """
    own = _conditions(table, target)
    if len(alone := _conditions(table, predictor)) == 1:
        own |= alone
    others = [
        setting.name
        for setting in table.settings
        if setting.is_accuracy and (setting.corruption or setting.name) not in own
    ]
    return max(others, key=lambda name: float(np.nanmean(table.column(name))), default="")


def _conditions(table: ModelTable, benchmark: Benchmark) -> set[str]:
    """The corruptions of a benchmark, and its settings that are none."""
    return {table.setting(name).corruption or name for name in benchmark.settings}
