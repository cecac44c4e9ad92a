"""The page of predictivity: a summary, correlations with their controls, scatter plots and fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from windtunnel.analysis.effective_robustness import EffectiveRobustness
from windtunnel.analysis.predictivity.controls import Pair
from windtunnel.analysis.predictivity.groups import MEAN, GroupTable
from windtunnel.analysis.predictivity.measurement import Predictivity
from windtunnel.analysis.predictivity.published_tables import PublishedTable, published_syn2nat
from windtunnel.analysis.predictivity.vectors import Vector
from windtunnel.report.effective_robustness import fit_content, fit_figure
from windtunnel.report.figures import COLOURS
from windtunnel.report.page import render_page
from windtunnel.report.predictivity_text import (
    FROM_CLEAN,
    FROM_CONTROL,
    PREDICTED_BY,
    answers,
    correlation_text,
    group_fact_rows,
    group_rows,
    pair_header,
    pair_rows,
    summary_lines,
)
from windtunnel.stats.line_band import line_band

# Scatter plots on one page.
MOST_PLOTS = 24
COLOUR_SCALE = "Viridis"


def predictivity_page(found: Predictivity, fits: Sequence[EffectiveRobustness] = ()) -> str:
    """The HTML page of a result, with effective robustness for each natural set that has a fit."""
    pairs = list(enumerate(found.pairs[:MOST_PLOTS], start=1))
    figures = {
        f"pair_{number}": pair_figure(found, pair, *found.points[number - 1]) for number, pair in pairs
    }
    figures |= {f"fit_{number}": fit_figure(fit) for number, fit in enumerate(fits, start=1)}
    figures |= {f"group_{number}": group_figure(table) for number, table in enumerate(found.groups, start=1)}
    targets = [target.name for target in found.question.targets]
    return render_page(
        "predictivity.html.j2",
        figures,
        title=found.question.text,
        facts=[line for line in summary_lines(found) if line[0] in ("models", "clean")],
        answers=answers(found),
        sources=found.table.sources,
        notes=(*found.warnings, *found.notes),
        header=pair_header(found.pairs),
        text_columns=2 if PREDICTED_BY in pair_header(found.pairs) else 1,
        rows=[[_unbroken(cell) for cell in row] for row in pair_rows(found.pairs)],
        from_control=next(name for name in (FROM_CLEAN, FROM_CONTROL) if name in pair_header(found.pairs)),
        given=next((pair.given for pair in found.pairs if pair.given), "clean accuracy"),
        pairs=[(number, pair.target, pair.predictor) for number, pair in pairs],
        plots_left_out=max(0, len(found.pairs) - MOST_PLOTS),
        groups=[
            {
                "by": " and ".join(table.by),
                "table": group_rows(table, targets),
                "facts": group_fact_rows(table),
            }
            for table in found.groups
        ],
        fits=[fit_content(fit) for fit in fits],
        published=[published_content(table) for table in published_syn2nat()],
    )


def pair_figure(found: Predictivity, pair: Pair, x: Vector, y: Vector) -> dict[str, Any]:
    """Plotly scatter plot of models, coloured by clean accuracy, with the fitted line and its band."""
    _, clean = found.clean
    across, up = 100 * x.values, 100 * y.values
    scale = {kind: "points" if kind == "drop" else "%" for kind in ("drop", "error")}
    if x.kind == "score":
        across = x.values
    if y.kind == "score":
        up = y.values
    traces: list[dict[str, Any]] = []
    if pair.r is not None:
        grid, middle, low, high = line_band(across, up)
        traces = [
            {"type": "scatter", "mode": "lines", "name": "95 % band of the line", "hoverinfo": "skip",
             "x": [*grid, *reversed(grid)], "y": [*high, *reversed(low)], "fill": "toself",
             "fillcolor": "rgba(213,94,0,0.20)", "line": {"width": 0}},
            {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "x": grid, "y": middle,
             "name": f"line, r = {correlation_text(pair.r, pair.low, pair.high)}",
             "line": {"width": 2, "color": COLOURS[1]}},
        ]  # fmt: skip
    many = len(across) > 100
    marker: dict[str, Any] = {"size": 5 if many else 9, "opacity": 0.6 if many else 0.9, "color": COLOURS[0]}
    if clean is not None:
        marker |= {
            "color": (100 * clean).round(2).tolist(),
            "colorscale": COLOUR_SCALE,
            "showscale": True,
            "colorbar": {"title": {"text": "clean accuracy, %", "side": "right"}, "thickness": 10},
        }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": f"{len(across):,} models",
        "x": across.round(4).tolist(),
        "y": up.round(4).tolist(),
        "text": list(found.table.models),
        "marker": marker,
        "hovertemplate": "%{text}<br>%{x:.1f}, %{y:.1f}<extra></extra>",
        "showlegend": False,
    }
    # In the legend, the colour of the first model would be that of all.
    key = {
        "type": "scatter", "mode": "markers", "name": points["name"], "x": [None], "y": [None],
        "marker": {"size": 9, "color": COLOURS[7] if clean is not None else COLOURS[0]}, "hoverinfo": "skip",
    }  # fmt: skip
    names = (pair.predictor, pair.target)
    titles = [
        f"{_short(name)}: {vector.kind}, {scale[vector.kind]}" if vector.kind != "score" else _short(name)
        for name, vector in zip(names, (x, y), strict=True)
    ]
    return {
        "data": [points, key, *traces],
        "layout": {
            "xaxis": {"title": {"text": titles[0]}},
            "yaxis": {"title": {"text": titles[1]}},
            "height": 460,
            "showlegend": True,
        },
    }


def _unbroken(cell: str) -> str:
    """A cell that breaks only before its p-value or family."""
    return re.sub(r" (?![p(])", "\u00a0", cell)


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:37]}..."


def group_figure(table: GroupTable) -> dict[str, Any]:
    """Plotly lines of the mean correlation of each group, by natural set; their mean has its interval."""
    targets = list(dict.fromkeys(cell.target for cell in table.cells))
    labels = [", ".join(part.partition("=")[2] for part in group.split(", ")) for group in table.groups]
    traces = []
    for place, target in enumerate(targets):
        cells = [table.cell(group, target) for group in table.groups]
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines+markers",
            "name": target,
            "x": labels,
            "y": [cell.r for cell in cells],
            "line": {"color": COLOURS[place % 7], "width": 1.5, "dash": "dot"},
            "hovertemplate": f"{target}<br>%{{x}}: %{{y:.3f}}<extra></extra>",
        }
        if target == MEAN:
            trace["line"] = {"color": COLOURS[7], "width": 3}
            trace["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [cell.high - cell.r for cell in cells],
                "arrayminus": [cell.r - cell.low for cell in cells],
                "thickness": 1,
                "width": 4,
            }
        traces.append(trace)
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": ", ".join(table.by)}, "type": "category"},
            "yaxis": {"title": {"text": "mean r"}},
            "height": 420,
            "showlegend": True,
        },
    }


def published_content(table: PublishedTable) -> dict[str, Any]:
    """A published table as text, with its means recomputed."""
    rows = [[row.name, *(f"{value:.3f}" for value in row.values)] for row in table.rows]
    return {
        "title": table.title,
        "header": ["natural set", *table.columns],
        "rows": [*rows, ["mean, recomputed", *(f"{value:.3f}" for value in table.recomputed)],
                 ["mean, as printed", *(f"{value:.3f}" for value in table.printed)]],
        "differences": table.differences,
        "where": table.where,
        "caution": table.caution,
    }  # fmt: skip
