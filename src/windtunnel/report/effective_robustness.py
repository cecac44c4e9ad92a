"""Effective robustness: page, scatter plots, table rows and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.analysis.effective_robustness import EffectiveModel, EffectiveRobustness
from windtunnel.core.wording import counted, listed
from windtunnel.report.accuracy_axes import percent_ticks, place
from windtunnel.report.figures import COLOURS
from windtunnel.report.page import render_page
from windtunnel.stats.accuracy_fits import Axis

MODEL_HEADER = (
    "model", "effective robustness, points", "clean accuracy", "shifted accuracy", "fit at clean accuracy",
)  # fmt: skip
CSV_COLUMNS = (
    "shifted_setting", "clean_setting", "model", "family", "clean", "shifted", "fitted", "effective", "low",
    "high", "reference", "filter",
)  # fmt: skip
# Models at each end of a table that is too long to show.
ENDS_SHOWN = 8


def effective_robustness_page(results: Sequence[EffectiveRobustness]) -> str:
    """The HTML page of one or more shifted settings."""
    return render_page(
        "effective_robustness.html.j2",
        {f"fit_{number}": fit_figure(result) for number, result in enumerate(results, start=1)},
        title=f"Effective robustness: {listed([result.shifted.name for result in results], 4)}",
        sources=results[0].sources,
        results=[fit_content(result) for result in results],
    )


def fit_content(result: EffectiveRobustness) -> dict[str, Any]:
    """What a page shows of one setting: sentences, table rows and notes."""
    return {
        "name": result.shifted.name,
        "summary": summary(result),
        "fit": fit_text(result),
        "header": MODEL_HEADER,
        "rows": model_rows(shown_models(result)),
        "shown": len(shown_models(result)),
        "models": len(result.models),
        "notes": (*result.warnings, *result.notes),
    }


def summary(result: EffectiveRobustness) -> str:
    """The result in plain words: how many models are above and below the fit, and the farthest."""
    known = [model for model in result.models if model.effective and not model.is_filter]
    above = sum(1 for model in known if model.effective and model.effective.low > 0)
    below = sum(1 for model in known if model.effective and model.effective.high < 0)
    best = known[0]
    gain = best.effective.value if best.effective else 0.0
    return (
        f"{counted(len(known), 'model')}: {above:,} above and {below:,} below what their clean accuracy "
        f"suggests on {result.shifted.name} (95 % intervals beyond the fit). The farthest above is "
        f"{best.model}, by {100 * gain:.1f} points."
    )


def fit_text(result: EffectiveRobustness) -> str:
    """The fit as a formula, with its number of models and its error."""
    fit = result.fit
    sign = "-" if fit.slope < 0 else "+"
    pieces = f"{fit.axis}(shifted) = {fit.intercept:.2f} {sign} {abs(fit.slope):.2f} {fit.axis}(clean)"
    if fit.breakpoint is not None:
        pieces += f", slope {fit.slope + fit.bend:.2f} above a clean accuracy of {100 * fit.breakpoint:.1f} %"
    text = f"{pieces}; r = {fit.correlation:.3f}, {counted(fit.n, 'model')}, residuals {fit.error:.3f}"
    return f"{text} (one line: {result.line.error:.3f})" if result.line else text


def lines_of(result: EffectiveRobustness) -> list[tuple[str, str]]:
    """Labelled lines of one setting."""
    resampled = counted(result.families, "family", "families") if result.families else "models"
    band = f"bootstrap over {resampled}" if result.is_resampled else "Student's band"
    return [
        ("shifted", f"{result.shifted.name}   clean {result.clean.name}   classes {result.shifted.classes}"),
        ("fit", f"{fit_text(result)}; {band}"),
        *(("warning", warning) for warning in result.warnings),
        ("answer", summary(result)),
        *(("note", note) for note in result.notes),
    ]


def shown_models(result: EffectiveRobustness) -> list[EffectiveModel]:
    """The models of a table: all, or those farthest above and below the fit."""
    models = [model for model in result.models if model.effective]
    return models if len(models) <= 2 * ENDS_SHOWN else [*models[:ENDS_SHOWN], *models[-ENDS_SHOWN:]]


def model_rows(models: Sequence[EffectiveModel]) -> list[list[str]]:
    """A table row per model, with the columns of MODEL_HEADER."""
    rows = []
    for model in models:
        if model.effective is None or model.fitted is None:
            continue
        gain = model.effective
        mark = " (filter network)" if model.is_filter else ""
        rows.append(
            [
                f"{model.model}{mark}",
                f"{100 * gain.value:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]",
                f"{100 * model.clean:.1f} %",
                f"{100 * model.shifted:.1f} %",
                f"{100 * model.fitted:.1f} %",
            ]
        )
    return rows


def effective_csv(results: Sequence[EffectiveRobustness]) -> str:
    """Every model and setting as CSV, a line each; values are fractions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for result in results:
        for model in result.models:
            gain = model.effective
            numbers = ("", "", "") if gain is None else (gain.value, gain.low, gain.high)
            fitted = "" if model.fitted is None else model.fitted
            writer.writerow(
                [result.shifted.name, result.clean.name, model.model, model.family, model.clean,
                 model.shifted, fitted, *numbers, model.reference, model.is_filter]
            )  # fmt: skip
    return out.getvalue()


def fit_figure(result: EffectiveRobustness) -> dict[str, Any]:
    """Plotly scatter plot of clean and shifted accuracy, the fit and its band, on the fit's axes."""
    axis = result.fit.axis
    curve = result.curve
    across = [place(point.clean, axis) for point in curve]
    band = {
        "type": "scatter",
        "mode": "lines",
        "name": "95 % band of the fit",
        "x": [*across, *reversed(across)],
        "y": [
            *(place(point.high, axis) for point in curve),
            *(place(point.low, axis) for point in reversed(curve)),
        ],
        "fill": "toself",
        "fillcolor": "rgba(0,114,178,0.22)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "fit",
        "x": across,
        "y": [place(point.shifted, axis) for point in curve],
        "line": {"width": 2, "color": COLOURS[0]},
        "hoverinfo": "skip",
    }
    others = [model for model in result.models if not model.reference and not model.is_filter]
    groups = (
        ("models", COLOURS[7], "circle", [m for m in result.models if m.reference and not m.is_filter]),
        (
            "not fitted",
            COLOURS[1],
            "diamond",
            others,
        ),
        ("filter networks", COLOURS[3], "x", [m for m in result.models if m.is_filter]),
    )
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{len(models):,} {name}",
            "x": [place(model.clean, axis) for model in models],
            "y": [place(model.shifted, axis) for model in models],
            "text": [_model_text(model) for model in models],
            "marker": {
                "size": 6 if len(models) > 100 else 9,
                "opacity": 0.45 if len(models) > 100 else 0.8,
                "color": colour,
                "symbol": symbol,
            },
            "hovertemplate": "%{text}<extra></extra>",
        }
        for name, colour, symbol, models in groups
        if models
    ]
    return {
        "data": [*points, band, line],
        "layout": {
            "xaxis": _axis(
                f"clean accuracy ({result.clean.name}), %", axis, [m.clean for m in result.models]
            ),
            "yaxis": _axis(f"{result.shifted.name} accuracy, %", axis, [m.shifted for m in result.models]),
            "height": 520,
            "showlegend": True,
        },
    }


def _axis(title: str, axis: Axis, shares: Sequence[float]) -> dict[str, Any]:
    places = np.array([place(share, axis) for share in shares])
    margin = 0.05 * float(np.ptp(places)) + 0.02
    return {
        "title": {"text": title},
        "range": [float(places.min()) - margin, float(places.max()) + margin],
        **percent_ticks(axis),
    }


def _model_text(model: EffectiveModel) -> str:
    gain = f"<br>{100 * model.effective.value:+.1f} points from the fit" if model.effective else ""
    return f"{model.model}<br>clean {100 * model.clean:.1f} %, shifted {100 * model.shifted:.1f} %{gain}"
