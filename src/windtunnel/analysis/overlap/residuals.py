"""Residual robustness of other models on the candidates of a study, from a table of models and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.analysis.overlap.row_correlations import Matrix
from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed
from windtunnel.stats.intervals import wilson


@dataclass(frozen=True)
class Residuals:
    """Clean accuracy minus accuracy, (models, candidates).

    Attributes:
        models: the models with results on all candidates.
        candidates: the candidates that the table has.
        values: the residuals; lower is better.
        warnings: reasons to doubt them.
    """

    models: tuple[str, ...]
    candidates: tuple[str, ...]
    values: Matrix
    warnings: tuple[str, ...]


def residuals_of(table: ModelTable, candidates: Sequence[str]) -> Residuals:
    """The residuals of a table's models on the candidates that it has.

    A candidate without a severity has the mean over the severities in the table. Models without a result on
    one of the candidates are left out.

    Raises:
        UserError: the table has none of the candidates.
    """
    settings = {name: _settings_of(table, name) for name in candidates}
    known = tuple(name for name in candidates if settings[name])
    if not known:
        raise UserError(
            f"{listed(table.sources, 3)} has no results on the candidates of the study "
            f"({listed(candidates, 4)}); it has {listed(table.names, 6)}."
        )
    values = np.stack([table.drops([each.name for each in settings[name]]) for name in known], axis=1)
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
    models = tuple(model for model, kept in zip(table.models, complete, strict=True) if kept)
    warnings = [*table.notes]
    if left_out := [model for model, kept in zip(table.models, complete, strict=True) if not kept]:
        warnings.append(f"Without results on all candidates, and left out: {listed(left_out, 5)}.")
    cleans = {each.clean for name in known for each in settings[name]}
    warnings += [line for clean in sorted(cleans) if (line := _clean_warning(table, clean, complete))]
    return Residuals(models, known, values[complete], tuple(warnings))


def _settings_of(table: ModelTable, candidate: str) -> list[Setting]:
    """The settings of a candidate: its own condition, or all severities of the corruption."""
    exact = [each for each in table.settings if each.name in (candidate, f"{each.table}/{candidate}")]
    return exact or [each for each in table.settings if each.corruption == candidate and each.is_accuracy]


def _clean_warning(table: ModelTable, clean: str, complete: NDArray[np.bool_]) -> str:
    """A sentence if the clean accuracies of models differ by more than their intervals."""
    images, values = table.setting(clean).images, table.column(clean)[complete]
    if not len(values):
        return ""
    span = f"from {100 * values.min():.1f} to {100 * values.max():.1f} %"
    if images:
        limits = [wilson(round(float(value) * images), images) for value in values]
        if max(low for low, _ in limits) <= min(high for _, high in limits):
            return ""
    elif values.max() - values.min() < 0.02:
        return ""
    return (
        f"Clean accuracies ({clean}) differ, {span}: a drop from a higher accuracy can be larger for that "
        "reason alone."
    )
