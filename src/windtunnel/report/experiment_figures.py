"""Plotly figures of an experiment: differences to the baseline, grids, learning curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from windtunnel.analysis.experiment_results import CLEAN, HELPS, HURTS, MEAN, ExperimentResults, VariantResult
from windtunnel.core.calls import number_of, written_value
from windtunnel.report.figures import COLOURS, DASHES, change_markers
from windtunnel.report.training import learning_curves
from windtunnel.store.training_folder import StoredTraining

HEIGHT_PX = 340
PHONE_FONT_PX = 10


def difference_figure(results: ExperimentResults, suite: str, score: str) -> dict[str, Any]:
    """The differences of a score to the baseline, a row for each variant; {} if there are none."""
    changes = {}
    for variant in results.variants:
        found = variant.score(suite, score)
        if found and (difference := found.difference):
            clear = difference.verdict in (HELPS, HURTS)
            changes[variant.facts.name] = difference.value, difference.low, difference.high, clear
    if not changes:
        return {}
    figure = change_markers(changes, "difference, points (lower is better)")
    figure["layout"]["xaxis"] |= {"zeroline": True, "zerolinewidth": 2}
    small = {**figure["layout"]["yaxis"], "tickfont": {"size": PHONE_FONT_PX}}
    return {**figure, "phone": {"yaxis": small}}


def grid_figures(results: ExperimentResults) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """By group of a grid, its curves with titles: clean accuracy, mean accuracy and spread of each suite."""
    groups: dict[str, list[VariantResult]] = {}
    for variant in results.variants:
        if variant.facts.parameters and not variant.failed:
            groups.setdefault(variant.facts.group, []).append(variant)
    baseline = results.variant(results.baseline)
    found = {}
    for group, variants in groups.items():
        name = _numeric_parameter(variants)
        if not name:
            continue
        title = "clean accuracy, %"
        curves = [(title, _grid_curve(variants, baseline, name, title, clean_accuracies))]
        for suite in results.suites:
            means = partial(mean_accuracies, suite.name)
            title = f"mean accuracy under {suite.name}, %"
            curves.append((title, _grid_curve(variants, baseline, name, "mean accuracy, %", means)))
            figure = _grid_curve(variants, baseline, name, "spread, points", partial(spreads, suite.name))
            curves.append((f"spread over the conditions of {suite.name}, points", figure))
        found[group] = curves
    return found


def clean_accuracies(variant: VariantResult) -> list[float]:
    """The clean accuracy of each training, in per cent."""
    clean = next((score for score in variant.scores if score.score == CLEAN), None)
    return [100 * (1 - error) for error in clean.by_seed] if clean else []


def mean_accuracies(suite: str, variant: VariantResult) -> list[float]:
    """The mean accuracy over a suite's corrupted conditions of each training, in per cent."""
    mean = variant.score(suite, MEAN)
    return [100 * (1 - error) for error in mean.by_seed] if mean else []


def spreads(suite: str, variant: VariantResult) -> list[float]:
    """The spread over a suite's conditions of each training, in points."""
    return [100 * value for value in variant.spread.get(suite, ())]


def _numeric_parameter(variants: Sequence[VariantResult]) -> str:
    """The first parameter that is a number or a fraction and has several values; "" for none."""
    for name in variants[0].facts.parameters:
        values = {number_of(variant.facts.parameters[name]) for variant in variants}
        if len(values) > 1 and None not in values:
            return name
    return ""


def _grid_curve(
    variants: Sequence[VariantResult],
    baseline: VariantResult,
    name: str,
    title: str,
    values: Callable[[VariantResult], Sequence[float]],
) -> dict[str, Any]:
    """A measure against a parameter: the mean as a line, each training as a point."""
    lines: dict[str, list[VariantResult]] = {}
    places = {variant.facts.name: number_of(variant.facts.parameters[name]) or 0.0 for variant in variants}
    for variant in variants:
        others = {key: value for key, value in variant.facts.parameters.items() if key != name}
        label = ", ".join(f"{key}={written_value(value)}" for key, value in others.items())
        lines.setdefault(label or "mean over seeds", []).append(variant)
    data: list[dict[str, Any]] = []
    for place, (label, members) in enumerate(lines.items()):
        members = sorted(members, key=lambda one: places[one.facts.name])
        colour = COLOURS[place % len(COLOURS)]
        points = [(places[one.facts.name], value) for one in members for value in values(one)]
        data += [
            {
                "type": "scatter", "mode": "lines", "name": label, "line": {"color": colour},
                "x": [places[one.facts.name] for one in members],
                "y": [float(np.mean(values(one))) for one in members],
            },
            {
                "type": "scatter", "mode": "markers", "name": "each training", "showlegend": place == 0,
                "marker": {"color": colour, "size": 7},
                "x": [point[0] for point in points], "y": [point[1] for point in points],
                "hovertemplate": f"{name} %{{x}}: %{{y:.1f}}<extra></extra>",
            },
        ]  # fmt: skip
    if not baseline.failed:
        level = float(np.mean(values(baseline)))
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": baseline.facts.name,
                "line": {"color": COLOURS[-1], "dash": DASHES[1]},
                "x": [min(places.values()), max(places.values())], "y": [level, level],
            }
        )  # fmt: skip
    return {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": name}},
            "yaxis": {"title": {"text": title}},
            "height": HEIGHT_PX,
        },
    }


def first_trainings(trainings: Mapping[str, Sequence[StoredTraining]]) -> dict[str, StoredTraining]:
    """The first training of each variant that was trained."""
    return {name: stored[0] for name, stored in trainings.items() if stored}


def curve_figures(trainings: Mapping[str, Sequence[StoredTraining]]) -> dict[str, dict[str, Any]]:
    """Learning curves of the first training of each variant: loss and accuracy."""
    first = first_trainings(trainings)
    names, stored = list(first), list(first.values())
    figures = {
        "loss": learning_curves(names, stored, "mean training loss", lambda row: row.loss),
        "accuracy": learning_curves(names, stored, "training accuracy, %", lambda row: 100 * row.accuracy),
    }
    # A legend of many variants needs room below the plot, more on a phone.
    for figure in figures.values():
        if figure:
            figure["layout"]["height"] = HEIGHT_PX + 8 * len(names)
            figure["phone"] = {"height": HEIGHT_PX + 24 * len(names)}
    return {name: figure for name, figure in figures.items() if figure}
