"""Models that filtered the images of a natural set: their accuracy on it is low by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.caveats import networks_that_filtered
from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.core.wording import counted, listed
from windtunnel.published.natural_sets import NaturalSet, extended_by, natural_sets

# Models of a note that are listed by name.
NAMED = 3


@dataclass(frozen=True)
class FilterModels:
    """The models of a table whose network filtered one of some sets.

    Attributes:
        marked: whether each model is one.
        filtered_sets: the titles of the sets that any network filtered, in the table or not.
        notes: a sentence per set with such models.
    """

    marked: NDArray[np.bool_]
    filtered_sets: tuple[str, ...]
    notes: tuple[str, ...]


def filter_models(
    table: ModelTable, settings: Sequence[Setting], consequence: str = "Left out"
) -> FilterModels:
    """Mark the models that filtered the natural sets among some settings.

    Other weights of the same architecture count too: images were selected because it misclassifies them.
    Notes begin with the consequence.
    """
    marked = np.zeros(len(table.models), bool)
    naturals = map(_natural_set, settings)
    sets = {natural.part: natural for natural in naturals if natural and natural.filtered_by}
    notes = []
    for natural in sets.values():
        is_filter = np.array([bool(networks_that_filtered(natural, model)) for model in table.models], bool)
        marked |= is_filter
        names = [model for model, found in zip(table.models, is_filter, strict=True) if found]
        if names:
            notes.append(
                f"{consequence} because {natural.title} was filtered by {listed(natural.filtered_by)}, "
                f"{counted(len(names), 'model')}: {listed(names, NAMED)}."
            )
    return FilterModels(marked, tuple(natural.title for natural in sets.values()), tuple(notes))


def _natural_set(setting: Setting) -> NaturalSet | None:
    """The natural set of a setting, published or declared by a user; None for others."""
    if setting.own_set:
        return extended_by(setting.own_set)
    return natural_sets()[setting.natural_set] if setting.natural_set else None
