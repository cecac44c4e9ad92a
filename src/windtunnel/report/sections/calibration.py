"""Calibration: how often predictions are correct, by confidence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.metrics.calibration import ece_by_chance, reliability
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS, DASHES
from windtunnel.report.sections import Content, Document, ReportInput, Section


class Calibration(Section):
    """The reliability diagram and its bins."""

    name = "calibration"
    title = "Calibration"
    help = "Reliability diagram: the share of correct predictions against confidence, with its bins."
    order = 1700
    json_order = 140

    def data(self, given: ReportInput) -> dict[str, Any]:
        run = given.run
        return {"reliability": reliability_bins(run), "calibration_by_chance": calibration_by_chance(run)}

    def applies(self, document: Document) -> bool:
        return bool(document["reliability"])

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content(figures={"reliability": reliability_diagram(document)})


def reliability_bins(run: ScoredRun) -> dict[str, list[dict[str, Any]]]:
    """Confidence beside share of right answers, for clean images and for all corrupted ones together."""
    seen = run.observed
    if not seen.gives_probabilities or not len(seen.ids):
        return {}
    return {
        name: [asdict(one) for one in reliability(some.confidence[:, chosen], some.rank[:, chosen] == 0)]
        for name, (some, chosen) in _judged(run).items()
    }


def calibration_by_chance(run: ScoredRun) -> dict[str, float]:
    """The ECE of a perfectly calibrated model as sure as this one, for the same images."""
    seen = run.observed
    if not seen.gives_probabilities or not len(seen.ids):
        return {}
    return {name: ece_by_chance(some.confidence[:, chosen]) for name, (some, chosen) in _judged(run).items()}


def _judged(run: ScoredRun) -> dict[str, tuple[Observed, list[int]]]:
    """Images and columns whose calibration is shown: clean and corrupted, or a natural set's parts."""
    seen = run.observed
    if run.parts:
        return {one.name: (seen.over(one.rows), [0]) for one in run.parts if one.labelled and len(one.rows)}
    clean = [place for place, name in enumerate(seen.conditions) if name == "clean"]
    found = {"clean": clean, "corrupted": corruption_columns(run)}
    return {name: (seen, columns) for name, columns in found.items() if columns}


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


calibration = Calibration()
