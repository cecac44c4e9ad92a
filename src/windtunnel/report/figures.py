"""The page's figures as Plotly JSON, made from a run's document."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours: told apart with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#999999")
DASHES = ("solid", "dash", "dot", "dashdot")
CELL_PX = 34
LEGEND_PX = 10


def top1_by_unit(document: dict[str, Any]) -> dict[str, dict[int, dict[str, Any]]]:
    """Top-1 error scores of corruptions: unit -> level -> score."""
    scores = {score["condition"]: score for score in document["scores"] if score["metric"] == "top1_error"}
    table: dict[str, dict[int, dict[str, Any]]] = {}
    for condition in document["recipe"]["conditions"]:
        if condition["kind"] == "corruption" and condition["name"] in scores:
            table.setdefault(condition["unit"], {})[condition["level"]] = scores[condition["name"]]
    return table


def severity_curves(document: dict[str, Any]) -> dict[str, Any]:
    """Error against severity, one line per corruption, bars for the 95 % interval, clean dashed."""
    traces = []
    for number, (unit, levels) in enumerate(top1_by_unit(document).items()):
        scores = list(levels.values())
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": unit,
                "x": list(levels),
                "y": [100 * score["value"] for score in scores],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * (score["high"] - score["value"]) for score in scores],
                    "arrayminus": [100 * (score["value"] - score["low"]) for score in scores],
                    "thickness": 1,
                    "width": 3,
                },
                "line": {
                    "color": COLOURS[number % len(COLOURS)],
                    "dash": DASHES[number // len(COLOURS) % len(DASHES)],
                },
                "hovertemplate": f"{unit}:%{{x}}<br>%{{y:.1f}} % wrong<extra></extra>",
            }
        )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "severity"}, "dtick": 1, "range": [0.7, 5.3]},
        "yaxis": {"title": {"text": "top-1 error, %"}, "rangemode": "tozero"},
        "height": 420 + LEGEND_PX * len(traces),
        "showlegend": True,
    }
    clean = [s for s in document["scores"] if s["metric"] == "top1_error" and s["condition"] == "clean"]
    if clean:
        value = 100 * clean[0]["value"]
        layout["shapes"] = [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value,
             "line": {"dash": "dash", "width": 1, "color": "#888"}}
        ]  # fmt: skip
        layout["annotations"] = [
            {"xref": "paper", "x": 1, "y": value, "text": f"clean {value:.1f} %", "showarrow": False,
             "xanchor": "right", "yanchor": "bottom"}
        ]  # fmt: skip
    return {"data": traces, "layout": layout}


def heat_map(document: dict[str, Any]) -> dict[str, Any]:
    """Corruption by severity, the error written in every cell."""
    table = top1_by_unit(document)
    units = list(reversed(table))
    levels = sorted({level for row in table.values() for level in row})
    values = [[_percent(table[unit].get(level)) for level in levels] for unit in units]
    return {
        "data": [
            {
                "type": "heatmap",
                "x": [str(level) for level in levels],
                "y": units,
                "z": values,
                "text": [["" if value is None else f"{value:.1f}" for value in row] for row in values],
                "texttemplate": "%{text}",
                "zmin": 0,
                "zmax": 100,
                "colorscale": "YlOrRd",
                "reversescale": True,
                "hovertemplate": "%{y}:%{x}<br>%{z:.1f} % wrong<extra></extra>",
                "colorbar": {"title": {"text": "%"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "severity"}, "type": "category"},
            "yaxis": {"automargin": True},
            "height": 140 + CELL_PX * len(units),
        },
    }


def _percent(score: dict[str, Any] | None) -> float | None:
    return None if score is None else 100 * float(score["value"])
