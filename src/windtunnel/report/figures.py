"""Plotly figures that several pages share, and their colours and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.corruptions import has_one_strength

# The palette of Okabe and Ito, distinguishable with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#999999")
DASHES = ("solid", "dash", "dot", "dashdot")
CELL_PX = 34
# The heading of corruptions without severities.
ONE_STRENGTH_COLUMN = "one strength"
BAR_PX = 28


def difference_map(
    changes: dict[str, tuple[float, float, float, bool]], *, higher_is_better: bool = False
) -> dict[str, Any]:
    """Heat map of changes by corruption and severity, in points; a star marks a significant change.

    Corruptions with one strength have a column of their own.

    Args:
        changes: condition (`fog:3+jpeg:85`) to change, low and high end of its interval, and significance.
        higher_is_better: whether a gain has the colour of an improvement.
    """
    table: dict[str, dict[str, tuple[float, float, float, bool]]] = {}
    for name, change in changes.items():
        unit, colon, level = name.split("+")[0].partition(":")
        if colon or has_one_strength(unit):
            table.setdefault(unit, {})[level or ONE_STRENGTH_COLUMN] = change
    units = list(reversed(table))
    levels = sorted({level for row in table.values() for level in row})
    cells = [[table[unit].get(level) for level in levels] for unit in units]
    values = [[None if cell is None else 100 * cell[0] for cell in row] for row in cells]
    widest = max((abs(value) for row in values for value in row if value is not None), default=1.0)
    return {
        "data": [
            {
                "type": "heatmap",
                "x": levels,
                "y": units,
                "z": values,
                "text": [["" if cell is None else f"{100 * cell[0]:+.1f}{'*' if cell[3] else ''}"
                          for cell in row] for row in cells],
                "customdata": [["" if cell is None else f"[{100 * cell[1]:+.1f}, {100 * cell[2]:+.1f}]"
                                for cell in row] for row in cells],
                "texttemplate": "%{text}",
                # The colour scale is centred at no change.
                "zmin": -widest,
                "zmax": widest,
                "colorscale": "RdBu",
                "reversescale": higher_is_better,
                "hovertemplate": "%{y}:%{x}<br>%{z:+.1f} points %{customdata}<extra></extra>",
                "colorbar": {"title": {"text": "change, points", "side": "right"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "severity"}, "type": "category"},
            "yaxis": {"automargin": True},
            "height": 140 + CELL_PX * len(units),
        },
    }  # fmt: skip


def error_markers(errors: Mapping[str, Mapping[str, Any]], label: str = "top-1 error") -> dict[str, Any]:
    """Top-1 errors or other shares with intervals, a row per name, the first at the top.

    Args:
        errors: by name, a score as JSON stores it.
        label: what the scores are.
    """
    names = list(errors)[::-1]
    scores = [errors[name] for name in names]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [100 * score["value"] for score in scores],
                "y": names,
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * (score["high"] - score["value"]) for score in scores],
                    "arrayminus": [100 * (score["value"] - score["low"]) for score in scores],
                    "thickness": 1,
                    "width": 3,
                },
                "marker": {"size": 9, "color": COLOURS[0]},
                "hovertemplate": f"%{{y}}<br>{label} %{{x:.1f}} %<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": f"{label}, %"}, "rangemode": "tozero"},
            "yaxis": {"type": "category", "automargin": True},
            "height": 90 + BAR_PX * len(names),
            "showlegend": False,
        },
    }


def flip_changes(changes: dict[str, tuple[float, float, float, bool]]) -> dict[str, Any]:
    """Changes of flip probability by sequence in points, with intervals; a star marks significant ones."""
    return change_markers(changes, "change of flip probability, points (higher is worse)")


def change_markers(changes: Mapping[str, tuple[float, float, float, bool]], title: str) -> dict[str, Any]:
    """Changes in points with intervals, a row per name, the first at the top; a star marks significant ones.

    Args:
        changes: by name the change, low and high end of its interval, and whether it is significant.
        title: of the horizontal axis.
    """
    names = list(changes)[::-1]
    rows = [changes[name] for name in names]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [100 * row[0] for row in rows],
                "y": [f"{name} *" if row[3] else name for name, row in zip(names, rows, strict=True)],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * (row[2] - row[0]) for row in rows],
                    "arrayminus": [100 * (row[0] - row[1]) for row in rows],
                    "thickness": 1,
                    "width": 3,
                    # Error bars inherit the colour of the markers, but accept no list of colours.
                    "color": COLOURS[-1],
                },
                "marker": {"size": 10, "color": [COLOURS[1] if row[0] > 0 else COLOURS[0] for row in rows]},
                "hovertemplate": "%{y}<br>%{x:+.1f} points<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": title}},
            "yaxis": {"type": "category", "automargin": True},
            "height": 90 + BAR_PX * len(rows),
            "showlegend": False,
        },
    }


def error_bars(scores: Sequence[dict[str, Any]], factor: float) -> dict[str, Any]:
    """Plotly error bars from the intervals of scores, multiplied by `factor`."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [factor * (score["high"] - score["value"]) for score in scores],
        "arrayminus": [factor * (score["value"] - score["low"]) for score in scores],
        "thickness": 1,
        "width": 3,
    }
