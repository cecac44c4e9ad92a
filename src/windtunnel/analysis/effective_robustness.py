"""Effective robustness: shifted accuracy above the fit of reference models at the same clean accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.model_tables.filter_models import filter_models
from windtunnel.analysis.model_tables.missing_values import missing_note
from windtunnel.analysis.model_tables.reading import FEWEST_MODELS
from windtunnel.analysis.model_tables.swapped_errors import error_warnings
from windtunnel.analysis.model_tables.table import Floats, ModelTable, Setting
from windtunnel.analysis.predictivity.benchmarks import select_settings
from windtunnel.analysis.shifts import Share
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted, listed
from windtunnel.stats.accuracy_fits import (
    FEWEST_BOOTSTRAPPED,
    Axis,
    Band,
    Fit,
    StudentBand,
    fit_accuracies,
    fit_band,
    models_per_piece,
    student_band,
)
from windtunnel.stats.intervals import wilson

# Points of the fitted curve.
CURVE_POINTS = 80
# Models of a note that are listed by name.
NAMED = 3


@dataclass(frozen=True)
class EffectiveModel:
    """One model against the fit.

    Attributes:
        model: its name.
        clean, shifted: its accuracies.
        fitted: the shifted accuracy of the fit at its clean accuracy; None at 0 and 1.
        effective: shifted minus fitted, with its interval; None where there is no fit.
        reference: whether the fit uses it.
        is_filter: whether its network filtered the shifted images, so that it is low by construction.
        family: its family.
    """

    model: str
    clean: float
    shifted: float
    fitted: float | None
    effective: Share | None
    reference: bool
    is_filter: bool
    family: str


@dataclass(frozen=True)
class CurvePoint:
    """The fit at one clean accuracy, and the ends of its bootstrap band."""

    clean: float
    shifted: float
    low: float
    high: float


@dataclass(frozen=True)
class EffectiveRobustness:
    """Models of a table against the fit of reference models.

    Attributes:
        clean, shifted: the two settings.
        fit: the fit.
        line: the single line, for comparison with a fit of two pieces; None if the fit is one.
        curve: the fit and its band between the outer reference models.
        models: every model with both accuracies, the highest effective robustness first.
        families: number of families that were resampled; 0 if models were.
        is_resampled: whether the band is a bootstrap; else it is Student's.
        notes: what was left out and what limits the comparison, a sentence each.
        sources: the tables.
        warnings: signs that the table is not what it is taken for, a sentence each.
    """

    clean: Setting
    shifted: Setting
    fit: Fit
    line: Fit | None
    curve: tuple[CurvePoint, ...]
    models: tuple[EffectiveModel, ...]
    families: int
    is_resampled: bool
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return {
            "schema": 1,
            "sources": list(self.sources),
            "clean": self.clean.name,
            "shifted": self.shifted.name,
            "classes": self.shifted.classes,
            "fit": asdict(self.fit),
            "line": asdict(self.line) if self.line else None,
            "families": self.families,
            "band": "bootstrap" if self.is_resampled else "student",
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "curve": [asdict(point) for point in self.curve],
            "models": [asdict(model) for model in self.models],
        }


def effective_robustness(
    table: ModelTable,
    shifted: str,
    *,
    axis: Axis = "logit",
    pieces: int = 0,
    breakpoint: float | None = None,
    reference: Sequence[str] = (),
    by: str = "",
    seed: int = 0,
) -> EffectiveRobustness:
    """Fit shifted against clean accuracy over reference models, and measure every model's distance from it.

    Args:
        table: a table in which `shifted` has a clean setting.
        shifted: the setting of shifted accuracies.
        axis: `logit` or `probit`, for both accuracies.
        pieces: 1 for a line, 2 for two continuous pieces; 0 for two if the set was filtered by a model.
        breakpoint: the clean accuracy at which the second piece begins; None to estimate it.
        reference: patterns of the names of the models that are fitted; () for all but filter models.
        by: a column of families, or `prefix`; the band then resamples families.
        seed: of the bootstrap.
    """
    setting = table.setting(shifted)
    if setting.role == "clean":
        raise UserError(
            f"{shifted} is itself a column of clean accuracies; name a column of shifted ones with "
            f"{option('shifted', ['COLUMN'])}."
        )
    if not setting.clean:
        raise UserError(
            f"{shifted} has no clean accuracies; name their column with {option('clean', 'COLUMN')}."
        )
    complete = np.isfinite(table.column(shifted)) & np.isfinite(table.column(setting.clean))
    rows = table.with_models(complete)
    filters = filter_models(rows, [setting], "Not fitted")
    has_kink = bool(pieces == 0 and setting.natural_set and filters.filtered_sets)
    used_pieces = pieces or (2 if has_kink else 1)
    fitted_models = _reference(rows, reference) & ~filters.marked
    clean, accuracy = rows.column(setting.clean), rows.column(shifted)
    if fitted_models.sum() < FEWEST_MODELS and reference:
        raise UserError(
            f"{option('reference')} leaves {counted(int(fitted_models.sum()), 'model')} to fit, with both "
            f"accuracies and without networks that filtered {shifted}; a fit needs at least {FEWEST_MODELS}. "
            "Give a wider pattern."
        )
    if fitted_models.sum() < FEWEST_MODELS:
        raise UserError(_why_no_fit(setting, int(fitted_models.sum()), 1, None))
    fit = fit_accuracies(
        clean[fitted_models], accuracy[fitted_models], axis=axis, pieces=used_pieces, breakpoint=breakpoint
    )
    notes = [*table.notes, *setting.notes, *filters.notes]
    if fit is None and has_kink:
        used_pieces = 1
        notes.append("One line is fitted, because two pieces need more models.")
        fit = fit_accuracies(clean[fitted_models], accuracy[fitted_models], axis=axis)
    if fit is None:
        raise UserError(_why_no_fit(setting, int(fitted_models.sum()), used_pieces, breakpoint))
    families = rows.families(by)
    numbers = np.unique(families, return_inverse=True)[1] if by else None
    is_resampled = bool(used_pieces == 2 or by or fit.n >= FEWEST_BOOTSTRAPPED)
    band: Band | StudentBand = (
        fit_band(
            clean[fitted_models],
            accuracy[fitted_models],
            axis=axis,
            pieces=used_pieces,
            breakpoint=breakpoint,
            groups=None if numbers is None else numbers[fitted_models],
            seed=seed,
        )
        if is_resampled
        else student_band(clean[fitted_models], accuracy[fitted_models], axis=axis)
    )
    if not is_resampled:
        notes.append(
            f"{counted(fit.n, 'model')} are too few for a bootstrap: the band of the fit is Student's, for "
            "normal residuals."
        )
    notes += missing_note(table, ~complete, [setting.clean, shifted])
    if fit.left_out:
        notes.append(f"{counted(fit.left_out, 'model')} at 0 or 100 % left out of the fit.")
    if fit.at_search_limit and fit.breakpoint is not None:
        notes.append(
            f"The breakpoint, {100 * fit.breakpoint:.1f} %, is at the limit of the search, which leaves at "
            f"least {models_per_piece(fit.n)} models on each side; a better one may lie beyond. Give one by "
            f"{option('breakpoint')}, or fit one line with {option('pieces', 1)}."
        )
    notes += _setting_notes(setting, table.setting(setting.clean), used_pieces, has_kink)
    models = _models(
        rows,
        setting,
        table.setting(setting.clean),
        fit,
        band,
        fitted_models,
        filters.marked,
        families,
    )
    return EffectiveRobustness(
        table.setting(setting.clean),
        setting,
        fit,
        fit_accuracies(clean[fitted_models], accuracy[fitted_models], axis=axis)
        if used_pieces == 2
        else None,
        _curve(fit, band, clean[fitted_models]),
        tuple(sorted(models, key=lambda model: -(model.effective.value if model.effective else -2))),
        len(set(np.array(families)[fitted_models])) if by else 0,
        is_resampled,
        tuple(notes),
        table.sources,
        error_warnings(rows, [setting]),
    )


def with_shifted(table: ModelTable, text: str) -> ModelTable:
    """The table with a setting for a text that names one or several settings: their mean accuracy."""
    names = select_settings(table, text)
    if names == (text,):
        return table
    settings = [table.setting(name) for name in names]
    if not all(setting.is_accuracy for setting in settings):
        raise UserError(f"{text} contains scores that are no accuracies; name columns of accuracies.")
    filtered = [setting.name for setting in settings if filter_models(table, [setting]).filtered_sets]
    if filtered:
        raise UserError(
            f"{text} averages {filtered[0]}, which was filtered by a network and bends the fit, with other "
            f"settings; fit it alone with {option('shifted', [filtered[0]])}."
        )
    cleans = {setting.clean for setting in settings} - {""}
    if len(cleans) > 1:
        raise UserError(
            f"{text} averages settings with different clean accuracies, {listed(sorted(cleans), NAMED)}; "
            f"give {option('shifted')} once for each of them."
        )
    mean = table.values[:, [table.names.index(name) for name in names]].mean(axis=1)
    classes = {setting.classes for setting in settings}
    added = Setting(
        text,
        settings[0].role,
        cleans.pop() if all(setting.clean for setting in settings) else "",
        classes.pop() if len(classes) == 1 else "unknown",
        # A mean over conditions of the same images, or over several sets, is at least as certain as this.
        min(setting.images for setting in settings),
        settings[0].table,
    )
    return replace(table, settings=(*table.settings, added), values=np.column_stack([table.values, mean]))


def above_fit(
    clean: Share, shifted: Share, fit: Fit | None, band: tuple[float, float] | None = None
) -> tuple[float | None, Share | None]:
    """The fit at a model's clean accuracy, and its effective robustness; None without a fit and at 0 and 1.

    The interval of s - fit(c) is Newcombe's square-and-add of the intervals of s, of fit(c) from that of c,
    and of the fit itself, whose bootstrap interval at c is `band`; None treats the fit as known.
    """
    if fit is None or not 0 < clean.value < 1:
        return None, None
    line = fit.shifted_at(clean.value)
    low, high = sorted(fit.shifted_at(end) for end in (clean.low, clean.high))
    fit_low, fit_high = band or (line, line)
    above = shifted.value - line
    least = above - math.hypot(shifted.value - shifted.low, high - line, max(0.0, fit_high - line))
    most = above + math.hypot(shifted.high - shifted.value, line - low, max(0.0, line - fit_low))
    return line, Share(above, least, most, shifted.n)


def _models(
    rows: ModelTable,
    shifted: Setting,
    clean: Setting,
    fit: Fit,
    band: Band | StudentBand,
    reference: NDArray[np.bool_],
    is_filter: NDArray[np.bool_],
    families: Sequence[str],
) -> list[EffectiveModel]:
    across, up = rows.column(clean.name), rows.column(shifted.name)
    inside = np.clip(across, 1e-6, 1 - 1e-6)
    lows, highs = band.ends(inside)
    models = []
    for place, model in enumerate(rows.models):
        fitted, effective = above_fit(
            _share(float(across[place]), clean.images),
            _share(float(up[place]), shifted.images),
            fit,
            (float(lows[place]), float(highs[place])),
        )
        models.append(
            EffectiveModel(
                model,
                float(across[place]),
                float(up[place]),
                fitted,
                effective,
                bool(reference[place]),
                bool(is_filter[place]),
                families[place],
            )
        )
    return models


def _share(value: float, images: int) -> Share:
    """An accuracy with Wilson's interval; without one if the number of images is not known."""
    low, high = wilson(round(value * images), images) if images else (value, value)
    return Share(value, low, high, images)


def _curve(fit: Fit, band: Band | StudentBand, clean: Floats) -> tuple[CurvePoint, ...]:
    inside = clean[(clean > 0) & (clean < 1)]
    across = np.linspace(inside.min(), inside.max(), CURVE_POINTS)
    if fit.breakpoint is not None:
        across = np.sort(np.append(across, fit.breakpoint))
    lows, highs = band.ends(across)
    return tuple(
        CurvePoint(float(x), fit.shifted_at(float(x)), float(low), float(high))
        for x, low, high in zip(across, lows, highs, strict=True)
    )


def _reference(rows: ModelTable, patterns: Sequence[str]) -> NDArray[np.bool_]:
    """Which models a fit uses: those that match a pattern, or all."""
    if not patterns:
        return np.ones(len(rows.models), bool)
    matched = np.array([any(fnmatchcase(model, pattern) for pattern in patterns) for model in rows.models])
    unused = [
        pattern for pattern in patterns if not any(fnmatchcase(model, pattern) for model in rows.models)
    ]
    if unused:
        raise UserError(
            f"{option('reference', [unused[0]])} matches no model; models are {listed(rows.models, NAMED)}."
        )
    return matched


def _why_no_fit(setting: Setting, models: int, pieces: int, breakpoint: float | None) -> str:
    """Why a fit is impossible, and what to do."""
    if breakpoint is not None:
        return (
            f"{option('breakpoint', str(breakpoint))} has fewer than two models on one side; give a clean "
            "accuracy between those of the models, as a fraction, or leave it out."
        )
    given = (
        f"{counted(models, 'model')} with accuracies between 0 and 1 on {setting.name} and its clean images"
    )
    if pieces == 2:
        return (
            f"{given}; a fit of two pieces needs at least 9 that differ in both. Fit one line with "
            f"{option('pieces', 1)}."
        )
    return f"{given}; a fit needs at least {FEWEST_MODELS} that differ in both."


def _setting_notes(shifted: Setting, clean: Setting, pieces: int, has_kink: bool) -> list[str]:
    notes = []
    if shifted.classes == "different":
        notes.append(
            f"Clean accuracies ({clean.name}) are over more classes than {shifted.name}, whose choice of "
            "classes is easier: the fit absorbs this only as far as it affects all models alike."
        )
    if has_kink and pieces == 2:
        notes.append(
            f"Two pieces are fitted, because {shifted.name} was filtered by a network: models below it are "
            f"pushed towards zero ({option('pieces', 1)} fits one line)."
        )
    unknown = [setting.name for setting in (clean, shifted) if not setting.images]
    if unknown:
        notes.append(
            f"The number of images of {listed(unknown)} is not known: intervals treat these accuracies as "
            "exact."
        )
    return notes
