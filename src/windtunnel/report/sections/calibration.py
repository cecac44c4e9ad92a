"""Calibration: accuracy by confidence."""

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
    """The reliability diagram and a table of its bins."""

    name = "calibration"
    title = "Calibration"
    help = "Reliability diagram: accuracy against confidence, with a table of its bins."
    order = 1700
    json_order = 140

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        run = inputs.run
        return {"reliability": reliability_bins(run), "calibration_by_chance": calibration_by_chance(run)}

    def applies(self, document: Document) -> bool:
        return bool(document["reliability"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(figures={"reliability": reliability_diagram(document)})


def reliability_bins(run: ScoredRun) -> dict[str, list[dict[str, Any]]]:
    """Bins of the reliability diagram: of clean and of all corrupted images, or of a natural set's parts."""
    return {
        name: [
            asdict(bin_)
            for bin_ in reliability(observed.confidence[:, columns], observed.correct[:, columns])
        ]
        for name, (observed, columns) in _image_sets(run).items()
    }


def calibration_by_chance(run: ScoredRun) -> dict[str, float]:
    """The expected ECE of a perfectly calibrated model with the same confidences, by set of images."""
    return {
        name: ece_by_chance(observed.confidence[:, columns])
        for name, (observed, columns) in _image_sets(run).items()
    }


def _image_sets(run: ScoredRun) -> dict[str, tuple[Observed, list[int]]]:
    """Predictions and columns by set of images; empty if the run has no probabilities or no images."""
    observed = run.observed
    if not observed.gives_probabilities or not len(observed.ids):
        return {}
    if run.parts:
        labelled = (part for part in run.parts if part.labelled and len(part.rows))
        return {part.name: (observed.over(part.rows), [0]) for part in labelled}
    clean = [column for column, name in enumerate(observed.conditions) if name == "clean"]
    columns_by_name = {"clean": clean, "corrupted": corruption_columns(run)}
    return {name: (observed, columns) for name, columns in columns_by_name.items() if columns}


def reliability_diagram(document: dict[str, Any]) -> dict[str, Any]:
    """Plotly figure of accuracy against confidence, a curve per set of images and the diagonal."""
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "name": "calibrated", "x": [0, 100], "y": [0, 100],
         "line": {"dash": "dash", "width": 1, "color": "#888"}, "hoverinfo": "skip"}
    ]  # fmt: skip
    for position, (name, bins) in enumerate(document["reliability"].items()):
        total = sum(bin_["n"] for bin_ in bins)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "cliponaxis": False,
                "name": name,
                "x": [100 * bin_["confidence"] for bin_ in bins],
                "y": [100 * bin_["accuracy"] for bin_ in bins],
                # The area of a marker shows the number of predictions.
                "marker": {"size": [5 + 25 * (bin_["n"] / total) ** 0.5 for bin_ in bins], "opacity": 0.75},
                "line": {"color": COLOURS[position], "dash": DASHES[position]},
                "customdata": [bin_["n"] for bin_ in bins],
                "hovertemplate": "%{customdata:,} predictions<br>confidence %{x:.1f} %, accuracy %{y:.1f} %"
                f"<extra>{name}</extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "confidence, %"}, "range": [0, 103]},
            "yaxis": {"title": {"text": "accuracy, %"}, "range": [0, 103]},
            "height": 420,
            "showlegend": True,
        },
    }


calibration = Calibration()
