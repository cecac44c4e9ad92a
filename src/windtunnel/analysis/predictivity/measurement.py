"""Predictivity of a table: every correlation with its controls, and the groups of generated benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.model_tables.filter_models import FilterModels, filter_models
from windtunnel.analysis.model_tables.missing_values import missing_note
from windtunnel.analysis.model_tables.reading import FEWEST_MODELS
from windtunnel.analysis.model_tables.swapped_errors import error_warnings
from windtunnel.analysis.model_tables.table import Classes, ModelTable
from windtunnel.analysis.predictivity.benchmarks import Benchmark
from windtunnel.analysis.predictivity.controls import BOTH_CLEAN_ACCURACIES, Pair, measure_pair
from windtunnel.analysis.predictivity.groups import GroupTable, group_tables
from windtunnel.analysis.predictivity.question import Question
from windtunnel.analysis.predictivity.vectors import Vector, stand_in, vector_of
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted, listed
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.stats.correlation import is_fishers, varies
from windtunnel.stats.intervals import wilson

# Fewer families give intervals that are too narrow.
FEW_FAMILIES = 10
# The similarity of a column's name to that of a corruption from which it is probably misspelt.
ALIKE = 0.8
# Pairs of benchmark and natural set that get every control; beyond it only groups are measured.
MOST_PAIRS = 300


@dataclass(frozen=True)
class Predictivity:
    """The answer to a question about a table.

    Attributes:
        question: which benchmarks predict which.
        table: the models that were used.
        pairs: a correlation with its controls per predictor and target; () for many generated benchmarks.
        groups: mean correlations of groups of generated benchmarks.
        points: by pair, the values of predictor and target for every model.
        clean: clean accuracies for the colours of a plot, and what they are; "" if unknown.
        clean_range: lowest and highest clean accuracy; None if unknown.
        clean_comparable: whether the intervals of all clean accuracies overlap; None if unknown.
        families: number of families that were resampled; 0 if models were.
        notes: what was left out and what limits the answer, a sentence each.
        warnings: signs that the table is not what it is taken for, a sentence each.
    """

    question: Question
    table: ModelTable
    pairs: tuple[Pair, ...]
    groups: tuple[GroupTable, ...]
    points: tuple[tuple[Vector, Vector], ...]
    clean: tuple[str, NDArray[np.float64] | None]
    clean_range: tuple[float, float] | None
    clean_comparable: bool | None
    families: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return {
            "schema": 1,
            "sources": list(self.table.sources),
            "question": self.question.text,
            "mode": self.question.mode,
            "models": len(self.table.models),
            "families_resampled": self.families,
            "clean": self.clean[0],
            "clean_range": list(self.clean_range) if self.clean_range else None,
            "clean_comparable": self.clean_comparable,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "pairs": [pair.to_json() for pair in self.pairs],
            "groups": [
                {"by": list(group.by), "cells": [cell.to_json() for cell in group.cells]}
                for group in self.groups
            ],
        }


def measure_predictivity(
    table: ModelTable, question: Question, *, by: str = "", seed: int = 0
) -> Predictivity:
    """Correlate benchmarks over models, with every control.

    Args:
        table: models and settings.
        question: which benchmarks predict which.
        by: a column of families or `prefix`, to resample families instead of models.
        seed: of bootstrap and permutations.
    """
    used = sorted({name for one in (*question.predictors, *question.targets) for name in one.settings})
    settings = [table.setting(name) for name in used]
    needed = {name for setting in settings for name in (setting.name, setting.clean) if name}
    columns = [table.names.index(name) for name in sorted(needed)]
    complete = np.all(np.isfinite(table.values[:, columns]), axis=1, keepdims=True)[:, 0]
    filters = filter_models(table, settings)
    rows = table.with_models(complete & ~filters.marked)
    if len(rows.models) < FEWEST_MODELS:
        raise UserError(_too_few(table, complete, filters, sorted(needed)))
    family_names = rows.families(by or _declared_family(rows))
    groups = np.unique(family_names, return_inverse=True)[1] if by else None
    notes = [*table.notes, *(note for setting in settings for note in setting.notes), *filters.notes]
    notes += _misspelt(table, needed)
    notes += missing_note(table, ~complete & ~filters.marked, sorted(needed))
    predictors = [vector_of(rows, benchmark) for benchmark in question.predictors]
    targets = [vector_of(rows, benchmark) for benchmark in question.targets]
    _refuse_mixed(question, predictors, targets)
    asked = _asked_pairs(question)
    pairs, points = [], []
    for first, second in asked if len(asked) <= MOST_PAIRS else ():
        predictor, target = question.predictors[first], question.targets[second]
        name = "" if targets[second].clean is not None else stand_in(rows, predictor, target)
        pairs.append(
            measure_pair(
                predictor.name,
                target.name,
                predictors[first],
                targets[second],
                families=family_names,
                classes=_classes(rows, predictor, target),
                stand_in=(name, rows.column(name)) if name else None,
                groups=groups,
                seed=seed,
            )
        )
        points.append((predictors[first], targets[second]))
    clean_name, clean = _clean_colours(rows, question)
    comparable, span = _comparable(rows, clean_name)
    is_grouped = question.mode == "benchmarks" and any(one.groups for one in question.predictors)
    if is_grouped:
        _refuse_constant(question, predictors, targets)
    grouped = (
        group_tables(
            question.predictors,
            predictors,
            [target.name for target in question.targets],
            targets,
            groups=groups,
            seed=seed,
        )
        if is_grouped
        else []
    )
    families = len(set(family_names)) if by else 0
    other_classes = [setting.name for setting in settings if setting.classes == "different"]
    notes += _notes(
        question,
        (*predictors, *targets),
        pairs,
        other_classes,
        len(asked),
        len(rows.models),
        by,
        families,
        span,
        comparable,
    )
    return Predictivity(
        question,
        rows,
        tuple(pairs),
        tuple(grouped),
        tuple(points),
        (clean_name, clean),
        span,
        comparable,
        families,
        tuple(notes),
        error_warnings(rows, settings),
    )


def _misspelt(table: ModelTable, used: AbstractSet[str]) -> list[str]:
    """A note on columns that are not used and whose names are nearly those of corruptions."""
    close = {
        setting.name: matches[0]
        for setting in table.of_role("other")
        if setting.name not in used
        if (matches := get_close_matches(setting.name.partition(":")[0], CORRUPTIONS.names(), 1, ALIKE))
    }
    if not close:
        return []
    meant = [f"{name} (similar: {known})" for name, known in close.items()]
    return [f"Not a corruption of windtunnel, and not used: {listed(meant, 4)}."]


def _refuse_constant(question: Question, predictors: Sequence[Vector], targets: Sequence[Vector]) -> None:
    """Refuse generated benchmarks and natural sets without variation: they have no correlations."""
    for benchmark, vector in zip(
        (*question.predictors, *question.targets), (*predictors, *targets), strict=True
    ):
        if not varies(vector.values):
            raise UserError(
                f"{benchmark.name} has the same {vector.kind} for all {len(vector.values):,} models, so that "
                "its correlations are undefined; leave it out."
            )


def _declared_family(rows: ModelTable) -> str:
    return "family" if "family" in rows.attributes else ""


def _asked_pairs(question: Question) -> list[tuple[int, int]]:
    """The places of predictor and target of every pair."""
    if question.mode == "leave-one-out":
        return [(place, place) for place in range(len(question.targets))]
    return [
        (first, second)
        for second in range(len(question.targets))
        for first in range(len(question.predictors))
    ]


def _refuse_mixed(question: Question, predictors: Sequence[Vector], targets: Sequence[Vector]) -> None:
    """Refuse drops on one side and errors on the other: one of the tables lacks clean accuracies."""
    kinds = {vector.kind for vector in (*predictors, *targets)} - {"score"}
    if len(kinds) > 1:
        benchmarks = (*question.predictors, *question.targets)
        without = [
            benchmark.name
            for benchmark, vector in zip(benchmarks, (*predictors, *targets), strict=True)
            if vector.kind == "error"
        ]
        raise UserError(
            f"{listed(without, 3)} has no clean accuracies, while other benchmarks have; add a table with a "
            "clean column for the same models, or correlate errors everywhere with "
            f"{option('clean', 'none')}."
        )


def _too_few(
    table: ModelTable, complete: NDArray[np.bool_], filters: FilterModels, needed: Sequence[str]
) -> str:
    """Why too few models remain, and what to do."""
    if complete.sum() >= FEWEST_MODELS:
        return (
            f"Too few models remain: {int((complete & ~filters.marked).sum())}; at least {FEWEST_MODELS} are "
            f"needed. {' '.join(filters.notes)} Give further models."
        )
    counts = {name: int(np.isfinite(table.column(name)).sum()) for name in needed}
    fewest = min(counts, key=lambda name: counts[name])
    return (
        f"{counted(int(complete.sum()), 'model')} of {len(table.models):,} have all accuracies; at least "
        f"{FEWEST_MODELS} are needed. {fewest} has the fewest, {counts[fewest]:,}: leave it out, or give "
        "further tables."
    )


def _classes(rows: ModelTable, *benchmarks: Benchmark) -> Classes:
    """Whether all clean accuracies of two benchmarks are over the same classes as the shifted ones."""
    found = {rows.setting(name).classes for benchmark in benchmarks for name in benchmark.settings}
    return "different" if "different" in found else "unknown" if "unknown" in found else "same"


def _clean_colours(rows: ModelTable, question: Question) -> tuple[str, NDArray[np.float64] | None]:
    """The clean accuracies by which models are coloured: those that come first in the table."""
    cleans = {
        rows.setting(name).clean
        for benchmark in (*question.targets, *question.predictors)
        for name in benchmark.settings
    } - {""}
    first = min(cleans, key=rows.names.index, default="")
    return first, rows.column(first) if first else None


def _comparable(rows: ModelTable, name: str) -> tuple[bool | None, tuple[float, float] | None]:
    """Whether the intervals of all clean accuracies overlap, and their range."""
    if not name:
        return None, None
    clean = rows.column(name)
    span = float(clean.min()), float(clean.max())
    images = rows.setting(name).images
    if not images:
        return None, span
    lows = [wilson(round(float(value) * images), images) for value in span]
    return lows[0][1] >= lows[1][0], span


def _control_notes(pairs: Sequence[Pair]) -> list[str]:
    """Which columns are held constant where predictor and target have different clean accuracies."""
    controls = {
        (pair.target, pair.held_constant): None for pair in pairs if pair.given == BOTH_CLEAN_ACCURACIES
    }
    held = [f"{target} ({own}; {predictors})" for target, (own, predictors) in controls]
    if not held:
        return []
    return [
        "Partial r and r from clean alone hold two clean accuracies constant, the target's and the "
        f"predictor's: {', '.join(held)}."
    ]


def _notes(
    question: Question,
    vectors: Sequence[Vector],
    pairs: Sequence[Pair],
    other_classes: Sequence[str],
    asked: int,
    models: int,
    by: str,
    families: int,
    span: tuple[float, float] | None,
    comparable: bool | None,
) -> list[str]:
    notes = []
    if any(vector.kind == "error" for vector in vectors[len(question.predictors) :]):
        notes.append(
            "The table has no clean accuracies: errors are correlated, not drops. A model that is better "
            "everywhere then raises every correlation; the partial correlation holds the accuracy on the "
            "easiest other condition constant instead."
        )
    if span and comparable is False:
        notes.append(
            f"Clean accuracies are not comparable: they range from {100 * span[0]:.1f} to "
            f"{100 * span[1]:.1f} %, and their intervals do not overlap. Read the partial correlation, not r "
            "alone."
        )
    if pairs and other_classes:
        notes.append(
            f"Clean accuracies of {listed(other_classes, 4)} are over other classes than the shifted ones: "
            "drops mix the shift with an easier choice of classes. Means that contain them do so too."
        )
    notes += _control_notes(pairs)
    notes += [
        f"Correlations of {name} are undefined: all models have the same value."
        for name in sorted(
            {
                benchmark.name
                for benchmark, vector in zip((*question.predictors, *question.targets), vectors, strict=True)
                if not varies(vector.values)
            }
        )
    ]
    if asked > MOST_PAIRS:
        notes.append(
            f"{asked:,} pairs of benchmark and natural set: only groups are listed. The best single "
            "benchmark is not shown, because choosing it by these models would overstate it."
        )
    if not by:
        notes.append(
            "p-values and intervals treat models as independent; models of one family are not. Resample "
            f"families with {option('by', 'prefix')} to take this into account."
        )
    else:
        notes.append(
            "Intervals of r and of partial r resample families. p-values and the range of r from clean "
            "accuracy alone still treat models as independent."
        )
    if by and families < FEW_FAMILIES:
        notes.append(
            f"{counted(families, 'family', 'families')}: intervals over fewer than {FEW_FAMILIES} are "
            "unreliable, and [-1, 1] over fewer than 3."
        )
    controls = max((len(pair.held_constant) for pair in pairs), default=0)
    if not by and is_fishers(models, None, controls):
        which = "intervals of r and of partial r" if is_fishers(models) else "intervals of partial r"
        none = " [-1.00, 1.00] means too few models for an interval." if models - controls <= 3 else ""
        notes.append(
            f"{counted(models, 'model')} are too few for a bootstrap: {which} are Fisher's, for values with "
            f"a normal distribution.{none}"
        )
    if question.mode == "leave-one-out":
        notes.append("No synthetic benchmark is named: each target is predicted by the mean of the others.")
    return notes
