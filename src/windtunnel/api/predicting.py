"""Predictivity of benchmarks over many models, and effective robustness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.analysis.effective_robustness import EffectiveRobustness, with_shifted
from windtunnel.analysis.effective_robustness import effective_robustness as measure_effective_robustness
from windtunnel.analysis.model_tables.reading import FEWEST_MODELS, read_tables
from windtunnel.analysis.model_tables.table import ModelTable
from windtunnel.analysis.predictivity.measurement import Predictivity, measure_predictivity
from windtunnel.analysis.predictivity.question import question_of
from windtunnel.api.output_files import check_html
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option, spelled
from windtunnel.core.wording import counted, listed
from windtunnel.options import EffectiveRobustnessOptions, PredictivityOptions
from windtunnel.report.effective_robustness import effective_robustness_page
from windtunnel.report.predictivity import predictivity_page
from windtunnel.runs import Run
from windtunnel.store.atomic_files import write_whole
from windtunnel.suites.inclusion import include_files

# Names of models in a message.
NAMED = 3


def predictivity(
    *tables: Run | str | Path,
    options: PredictivityOptions = PredictivityOptions(),  # noqa: B008 (frozen)
    **changes: Any,
) -> Predictivity:
    """Correlate the accuracy drops of many models on benchmarks with those on natural sets.

    Every correlation has its controls: the partial correlation given clean accuracy, the correlation that
    clean accuracy alone explains, Spearman's, a bootstrap over models, and its range with one family left
    out.

    Args:
        tables: run folders or runs, CSV files of accuracies, or folders of timm's results, joined by model.
        options: benchmarks, natural sets, units; see `windtunnel.options.PredictivityOptions`.
        changes: single options by name, such as `synthetic=["imagenet-c"]`; they override `options`.

    Returns:
        A correlation with its controls for each pair, and mean correlations of groups of benchmarks.

    Raises:
        UserError: a table cannot be read, its units are unclear, or nothing can be predicted.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    out = check_html(chosen.out)
    table = _table(tables, chosen.unit, chosen.clean, chosen.ignore, chosen.scores, chosen.exclude)
    question = question_of(table, chosen.synthetic, chosen.natural)
    found = measure_predictivity(table, question, by=chosen.by or "", seed=chosen.seed)
    found = replace(found, notes=tuple(map(spelled, found.notes)))
    if out:
        fits, reasons = _fits(found, chosen)
        found = replace(found, notes=(*found.notes, *reasons))
        write_whole(out, predictivity_page(found, fits).encode())
    return found


def _fits(found: Predictivity, chosen: PredictivityOptions) -> tuple[list[EffectiveRobustness], list[str]]:
    """The fits of all targets with clean accuracies, and why others have none."""
    fits, reasons = [], []
    for target in found.question.targets:
        if len(target.settings) > 1 or not found.table.setting(target.settings[0]).clean:
            continue
        try:
            fits.append(
                measure_effective_robustness(
                    found.table, target.settings[0], by=chosen.by or "", seed=chosen.seed
                )
            )
        except UserError as error:
            reasons.append(f"No fit of effective robustness on {target.name}: {error}")
    return fits, reasons


def effective_robustness(
    *tables: Run | str | Path,
    options: EffectiveRobustnessOptions = EffectiveRobustnessOptions(),  # noqa: B008 (frozen)
    **changes: Any,
) -> list[EffectiveRobustness]:
    """Measure how far models are above the fit of shifted against clean accuracy over reference models.

    Args:
        tables: run folders or runs, CSV files of accuracies, or folders of timm's results, joined by model.
        options: settings, axis and pieces; see `windtunnel.options.EffectiveRobustnessOptions`.
        changes: single options by name, such as `axis="probit"`; they override `options`.

    Returns:
        The fit, its bootstrap band and every model's effective robustness, for each shifted setting.

    Raises:
        UserError: a table cannot be read, has no clean accuracies, or too few models for a fit.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    out = check_html(chosen.out)
    if chosen.pieces > 2:
        raise UserError(f"{option('pieces')} is {chosen.pieces}; give 1 or 2, or 0 to choose by the set.")
    start = _breakpoint(chosen.breakpoint)
    if start is not None and chosen.pieces == 1:
        raise UserError(
            f"{option('pieces', 1)} fits one line, which has no {option('breakpoint')}; leave one out."
        )
    table = _table(tables, chosen.unit, chosen.clean, chosen.ignore, (), chosen.exclude)
    names = list(chosen.shifted) or [setting.name for setting in table.of_role("natural")]
    if not names:
        raise UserError(
            f"No column is recognised as a natural set; name the shifted accuracies with "
            f"{option('shifted', ['COLUMN'])}, and clean ones with {option('clean', 'COLUMN')}."
        )
    found = []
    for name in names:
        own = with_shifted(table, name)
        fitted = measure_effective_robustness(
            own,
            name,
            axis="probit" if chosen.axis == "probit" else "logit",
            pieces=2 if start is not None and not chosen.pieces else chosen.pieces,
            breakpoint=start,
            reference=chosen.reference,
            by=chosen.by or "",
            seed=chosen.seed,
        )
        found.append(replace(fitted, notes=tuple(map(spelled, fitted.notes))))
    if out:
        write_whole(out, effective_robustness_page(found).encode())
    return found


def _table(
    sources: Sequence[Run | str | Path],
    units: Sequence[str],
    clean: str | None,
    ignored: Sequence[str],
    scores: Sequence[str],
    excluded: Sequence[str],
) -> ModelTable:
    """The table of all sources, without excluded models."""
    for source in sources:
        if not isinstance(source, Run | str | Path):
            raise UserError(
                f"A table is given as {type(source).__name__}; give each run, folder or CSV file as an "
                "argument of its own, or a list of them as *tables."
            )
    table = read_tables(
        [source.scoring if isinstance(source, Run) else source for source in sources],
        units=units,
        clean=clean or "",
        ignored=ignored,
        scores=scores,
    )
    for pattern in excluded:
        if not any(fnmatchcase(model, pattern) for model in table.models):
            raise UserError(
                f"{option('exclude', [pattern])} matches no model; models are {listed(table.models, NAMED)}."
            )
    kept = [not any(fnmatchcase(model, pattern) for pattern in excluded) for model in table.models]
    if sum(kept) < FEWEST_MODELS:
        raise UserError(
            f"{option('exclude')} leaves {counted(sum(kept), 'model')} of {len(kept):,}; at least "
            f"{FEWEST_MODELS} are needed. Exclude fewer."
        )
    return table.with_models(np.array(kept, bool)) if excluded else table


def _breakpoint(text: str | None) -> float | None:
    """The clean accuracy of a breakpoint, as a fraction."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise UserError(
            f"{option('breakpoint')} is {text}; give a clean accuracy between 0 and 1, such as 0.76."
        )
    return value
