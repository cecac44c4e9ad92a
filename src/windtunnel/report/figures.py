"""The page's figures as Plotly JSON, made from a run's document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windtunnel.core.records import read_conditions
from windtunnel.report.score_format import amount, decimals, number, scale
from windtunnel.report.score_format import unit as unit_of

# Okabe and Ito's colours: told apart with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#999999")
DASHES = ("solid", "dash", "dot", "dashdot")
CELL_PX = 34
BAR_PX = 28
LEGEND_PX = 10


def top1_by_unit(document: dict[str, Any]) -> dict[str, dict[int, dict[str, Any]]]:
    """Top-1 error scores of corruptions: unit -> level -> score."""
    scores = {score["condition"]: score for score in document["scores"] if score["metric"] == "top1_error"}
    table: dict[str, dict[int, dict[str, Any]]] = {}
    for condition in read_conditions(document["recipe"]["conditions"]):
        if condition.is_corruption and condition.name in scores:
            table.setdefault(condition.unit, {})[condition.level] = scores[condition.name]
    return table


def severity_curves(document: dict[str, Any]) -> dict[str, Any]:
    """Error against severity, one line per corruption, bars for the 95 % interval, clean dashed."""
    traces = []
    for place, (unit, levels) in enumerate(top1_by_unit(document).items()):
        scores = list(levels.values())
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": unit,
                "x": list(levels),
                "y": [100 * score["value"] for score in scores],
                "error_y": error_bars(scores, 100),
                "line": {
                    "color": COLOURS[place % len(COLOURS)],
                    "dash": DASHES[place // len(COLOURS) % len(DASHES)],
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


def difference_map(changes: dict[str, tuple[float, float, float, bool]]) -> dict[str, Any]:
    """Change of the error by corruption and severity, points; a star where it is sure.

    Args:
        changes: by condition's name (`fog:3+jpeg:85`): change, low, high, sure.
    """
    table: dict[str, dict[str, tuple[float, float, float, bool]]] = {}
    for name, change in changes.items():
        unit, colon, level = name.split("+")[0].partition(":")
        if colon:
            table.setdefault(unit, {})[level] = change
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
                # The colours' middle is no change.
                "zmin": -widest,
                "zmax": widest,
                "colorscale": "RdBu",
                "hovertemplate": "%{y}:%{x}<br>%{z:+.1f} points %{customdata}<extra></extra>",
                "colorbar": {"title": {"text": "points"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "severity"}, "type": "category"},
            "yaxis": {"automargin": True},
            "height": 140 + CELL_PX * len(units),
        },
    }  # fmt: skip


def sequence_bars(scores: Sequence[dict[str, Any]], title: str, reference: str = "") -> dict[str, Any]:
    """A bar per sequence with its 95 % interval; `reference` names what lies at 100 %."""
    rows = list(reversed(scores))
    metric = rows[0]["metric"]
    values = [scale(metric) * one["value"] for one in rows]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": title}, "rangemode": "tozero"},
        "yaxis": {"type": "category", "automargin": True},
        "height": 90 + BAR_PX * len(rows),
        "showlegend": False,
    }
    if reference:
        line = {"dash": "dash", "width": 2, "color": COLOURS[1]}
        layout["shapes"] = [
            {"type": "line", "yref": "paper", "x0": 100, "x1": 100, "y0": 0, "y1": 1, "line": line}
        ]
        layout["annotations"] = [
            {"yref": "paper", "x": 100, "y": 1, "text": reference, "showarrow": False, "xanchor": "left",
             "yanchor": "bottom"}
        ]  # fmt: skip
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": values,
                "y": [one["condition"] for one in rows],
                "error_x": error_bars(rows, scale(metric)),
                "marker": {"color": COLOURS[0], "opacity": 0.8},
                "customdata": [
                    f"{amount(one['value'], metric)} [{number(one['low'], metric)}, "
                    f"{number(one['high'], metric)}]"
                    for one in rows
                ],
                "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
            }
        ],
        "layout": layout,
    }


def flip_positions(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Where in sequences answers flip: a strip per sequence, a cell per frame that is compared."""
    rows = [row for row in reversed(rows) if row["flip_share"]]
    width = max(row["frames"] for row in rows)
    shares: list[list[float | None]] = []
    words: list[list[str]] = []
    for row in rows:
        shares.append([None] * width)
        words.append([""] * width)
        for earlier, later, share in zip(row["earlier"], row["later"], row["flip_share"], strict=True):
            shares[-1][later] = 100 * share
            words[-1][later] = f"frame {later} against frame {earlier}"
    return {
        "data": [
            {
                "type": "heatmap",
                "x": list(range(width)),
                "y": [row["condition"] for row in rows],
                "z": shares,
                "customdata": words,
                "zmin": 0,
                "colorscale": "YlOrRd",
                "reversescale": True,
                "hoverongaps": False,
                "ygap": 3,
                "hovertemplate": "%{y}<br>%{customdata}<br>%{z:.1f} % of images flip<extra></extra>",
                "colorbar": {"title": {"text": "%"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "frame"}, "showgrid": False, "zeroline": False},
            "yaxis": {"type": "category", "automargin": True, "showgrid": False},
            "height": 110 + BAR_PX * len(rows),
        },
    }


def flip_changes(changes: dict[str, tuple[float, float, float, bool]]) -> dict[str, Any]:
    """Change of every sequence's flip probability in points, with its interval; a star where it is sure."""
    names = list(reversed(changes))
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
                    # Theirs would be the markers', and bars take no list of colours.
                    "color": COLOURS[-1],
                },
                "marker": {"size": 10, "color": [COLOURS[1] if row[0] > 0 else COLOURS[0] for row in rows]},
                "hovertemplate": "%{y}<br>%{x:+.1f} points<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "change of the flip probability, points"}},
            "yaxis": {"type": "category", "automargin": True},
            "height": 90 + BAR_PX * len(rows),
            "showlegend": False,
        },
    }


def error_bars(scores: Sequence[dict[str, Any]], factor: float) -> dict[str, Any]:
    """Bars to both ends of scores' intervals."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [factor * (score["high"] - score["value"]) for score in scores],
        "arrayminus": [factor * (score["value"] - score["low"]) for score in scores],
        "thickness": 1,
        "width": 3,
    }


def reliability_diagram(document: dict[str, Any]) -> dict[str, Any]:
    """Share of right answers against confidence, clean beside corrupted; on the diagonal is calibrated."""
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "name": "calibrated", "x": [0, 100], "y": [0, 100],
         "line": {"dash": "dash", "width": 1, "color": "#888"}, "hoverinfo": "skip"}
    ]  # fmt: skip
    for place, (name, bins) in enumerate(document["reliability"].items()):
        total = sum(one["n"] for one in bins)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [100 * one["confidence"] for one in bins],
                "y": [100 * one["accuracy"] for one in bins],
                # Area says how many predictions a bin holds.
                "marker": {"size": [5 + 25 * (one["n"] / total) ** 0.5 for one in bins], "opacity": 0.75},
                "line": {"color": COLOURS[place], "dash": DASHES[place]},
                "customdata": [one["n"] for one in bins],
                "hovertemplate": "%{customdata:,} predictions<br>%{x:.1f} % sure, %{y:.1f} % right"
                f"<extra>{name}</extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "confidence, %"}, "range": [0, 103]},
            "yaxis": {"title": {"text": "right, %"}, "range": [0, 103]},
            "height": 420,
            "showlegend": True,
        },
    }


def published_strip(field: dict[str, Any]) -> dict[str, Any]:
    """A score among the published ones: a row of dots per source, one's own with its interval."""
    others = [one for one in field["models"] if one]
    shown = f"{field['title']} %{{x:.{decimals(field['metric'])}f}} {unit_of(field['metric'])}"
    traces: list[dict[str, Any]] = []
    for place, source in enumerate(source["name"] for source in field["sources"]):
        rows = [one for one in others if one["source"] == source]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": source,
                "x": [100 * one["value"] for one in rows],
                "y": [source] * len(rows),
                "text": [one["name"] for one in rows],
                "marker": {"size": 9, "opacity": 0.7, "color": COLOURS[place + 1]},
                "hovertemplate": f"%{{text}}<br>{shown}<extra>{source}</extra>",
            }
        )
    value, low, high = (100 * field[key] for key in ("value", "low", "high"))
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "this run",
            "x": [value],
            "y": ["this run"],
            "error_x": {"type": "data", "symmetric": False, "array": [high - value],
                        "arrayminus": [value - low]},
            "marker": {"size": 13, "symbol": "diamond", "color": COLOURS[0]},
            "hovertemplate": f"this run<br>{shown}<extra></extra>",
        }
    )  # fmt: skip
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": f"{field['title']}, {unit_of(field['metric'])}"}},
            "yaxis": {"type": "category", "automargin": True},
            "height": 110 + CELL_PX * len(traces),
            "showlegend": False,
        },
    }


def _percent(score: dict[str, Any] | None) -> float | None:
    return None if score is None else 100 * float(score["value"])
