"""Error by severity: curves, a heat map, and a Markdown table."""

from __future__ import annotations

from typing import Any

from windtunnel.core.records import read_conditions
from windtunnel.report.figures import CELL_PX, COLOURS, DASHES, error_bars
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Content, Document, ReportInput, Section

# Height of the legend per curve.
LEGEND_PX = 10
ERROR, ERROR_LABEL = "top1_error", "top-1 error"


class Severity(Section):
    """Top-1 error of every corruption against severity."""

    name = "severity"
    title = "Error by severity"
    help = "Top-1 error of every corruption against severity, as curves and as a heat map."
    order = 800

    def applies(self, document: Document) -> bool:
        return bool(scores_by_unit(document, ERROR))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(figures={"curves": severity_curves(document), "heat": heat_map(document)})

    def markdown(self, document: Document) -> list[str]:
        return ["## Error by corruption and severity", "", *severity_table(document)]


def severity_table(document: Document, metric: str = ERROR, label: str = ERROR_LABEL) -> list[str]:
    """A Markdown table of a score by corruption and severity, in per cent."""
    table = scores_by_unit(document, metric)
    levels = sorted({level for row in table.values() for level in row})
    rows = [
        [unit, *(f"{100 * row[level]['value']:.1f}" if level in row else "" for level in levels)]
        for unit, row in table.items()
    ]
    return markdown_table([f"{label}, %", *(f"severity {level}" for level in levels)], rows)


def scores_by_unit(document: Document, metric: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Scores of a metric by corruption and severity; corruptions with one strength have another section."""
    scores = {score["condition"]: score for score in document["scores"] if score["metric"] == metric}
    table: dict[str, dict[int, dict[str, Any]]] = {}
    for condition in read_conditions(document["recipe"]["conditions"]):
        if condition.is_corruption and condition.level and condition.name in scores:
            table.setdefault(condition.unit, {})[condition.level] = scores[condition.name]
    return table


def severity_curves(document: Document, metric: str = ERROR, label: str = ERROR_LABEL) -> dict[str, Any]:
    """Plotly curves of a score against severity, one per corruption, with intervals and the clean score."""
    traces = []
    for position, (unit, levels) in enumerate(scores_by_unit(document, metric).items()):
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
                    "color": COLOURS[position % len(COLOURS)],
                    "dash": DASHES[position // len(COLOURS) % len(DASHES)],
                },
                "hovertemplate": f"{unit}:%{{x}}<br>{label} %{{y:.1f}} %<extra></extra>",
            }
        )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "severity"}, "dtick": 1, "range": [0.7, 5.3]},
        "yaxis": {"title": {"text": f"{label}, %"}, "rangemode": "tozero"},
        "height": 420 + LEGEND_PX * len(traces),
        "showlegend": True,
    }
    clean = [
        score for score in document["scores"] if score["metric"] == metric and score["condition"] == "clean"
    ]
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


def heat_map(document: Document) -> dict[str, Any]:
    """Plotly heat map of error by corruption and severity."""
    return score_heat_map(scores_by_unit(document, ERROR), ERROR_LABEL, "error, %", reverse=True)


def score_heat_map(
    table: dict[str, dict[int, dict[str, Any]]],
    label: str,
    bar: str,
    *,
    most: float = 100,
    reverse: bool = False,
) -> dict[str, Any]:
    """Plotly heat map of scores by corruption and severity, in per cent.

    Args:
        table: scores by corruption and severity.
        label: the name of the score.
        bar: the title of the colour bar.
        most: the score at the end of the colour scale.
        reverse: whether high scores are dark.
    """
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
                "zmax": most,
                "colorscale": "YlOrRd",
                "reversescale": reverse,
                "hovertemplate": f"%{{y}}:%{{x}}<br>{label} %{{z:.1f}} %<extra></extra>",
                "colorbar": {"title": {"text": bar, "side": "right"}, "thickness": 12},
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


severity = Severity()
