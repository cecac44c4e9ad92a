"""Sequences: flip probability, top-5 distance, and flips by frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.core.metrics import needing
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import (
    compared,
    difficulty_of,
    flips_of,
    name,
    pairs_of,
    rivals_of,
    sequences_of,
    type_of,
)
from windtunnel.metrics.stability import farthest_top5
from windtunnel.report.figures import BAR_PX, COLOURS, error_bars
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import amount, number, scale, score_cells
from windtunnel.report.sections import Content, Document, ReportInput, Section

# Scores of single sequences, and the axis titles of their bars.
SEQUENCE_BARS = {
    "flip_probability": "flip probability, %",
    "flip_rate": "flip rate, %",
    "ut5d": "uT5D, ranks",
    "t5d": "T5D, %",
}
COLUMN_TITLES = {"flip_probability": "flip probability", "flip_rate": "FR", "ut5d": "uT5D", "t5d": "T5D"}


class Sequences(Section):
    """Flip probability and top-5 distance of every sequence, and flips by frame."""

    name = "sequences"
    title = "Flip probability by sequence"
    help = "Flip probability and top-5 distance of every sequence, and the frames at which predictions flip."
    order = 900
    json_order = 50

    @property
    def shows(self) -> tuple[str, ...]:
        """The scores of single sequences."""
        return tuple(SEQUENCE_BARS)

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"sequences": sequence_rows(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["sequences"] and metrics_of_sequences(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(figures=_figures(document))

    def markdown(self, document: Document) -> list[str]:
        scores = {(score["metric"], score["condition"]): score for score in document["scores"]}
        metrics = metrics_of_sequences(document)
        rows = [
            [
                row["condition"],
                *(_cell(scores.get((metric, row["condition"]))) for metric in metrics),
                "none" if row["peak"] is None else str(row["peak"]),
            ]
            for row in document["sequences"]
        ]
        header = [
            f"sequence (difficulty {document['sequences'][0]['difficulty']})",
            *(COLUMN_TITLES[metric] for metric in metrics),
            "frame with most flips",
        ]
        return ["## By sequence", "", *markdown_table(header, rows)]


def metrics_of_sequences(document: Document) -> list[str]:
    """The metrics of single sequences for which the document has scores."""
    scored = {score["metric"] for score in document["scores"]}
    return [metric for metric in SEQUENCE_BARS if metric in scored]


def _figures(document: Document) -> dict[str, Any]:
    """Plotly bars per metric, and the heat map of flips by frame."""
    figures = {}
    for metric in metrics_of_sequences(document):
        scores = [score for score in document["scores"] if score["metric"] == metric]
        figures[metric] = sequence_bars(scores, SEQUENCE_BARS[metric], _normaliser(document, metric))
    if any(row["flip_share"] for row in document["sequences"]):
        figures["positions"] = flip_positions(document["sequences"])
    return figures


def _normaliser(document: Document, metric: str) -> str:
    """The model whose score is 100 %; "" for scores that are not normalised."""
    if not needing("normaliser", [metric]):
        return ""
    return document["baseline"] or "AlexNet"


def sequence_rows(run: ScoredRun) -> list[dict[str, Any]]:
    """A row per sequence: its frame pairs, and the share of images that flip at each pair."""
    rows = []
    for sequence in sequences_of(run):
        earlier, later = pairs_of(run, sequence)
        shares = flips_of(run, sequence).mean(axis=0) if len(run.clips.ids) else np.empty(0)
        rows.append(
            {
                "condition": name(sequence),
                "type": type_of(sequence),
                "difficulty": difficulty_of(run),
                "frames": sequence.frames,
                "classes": rivals_of(run),
                "farthest_top5": farthest_top5(rivals_of(run)),
                "compared": compared(run, sequence),
                "earlier": earlier.tolist(),
                "later": later.tolist(),
                "flip_share": shares.tolist(),
                # The first frame with the largest share of flips; None if no image flips.
                "peak": int(later[shares.argmax()]) if shares.any() else None,
            }
        )
    return rows


def _cell(score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    value, interval, _ = score_cells(score)
    return f"{value} ({interval})"


def sequence_bars(scores: Sequence[dict[str, Any]], title: str, normaliser: str = "") -> dict[str, Any]:
    """Plotly bars, one per sequence with its 95 % interval; `normaliser` is the model at 100 %."""
    rows = list(reversed(scores))
    metric = rows[0]["metric"]
    values = [scale(metric) * score["value"] for score in rows]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": title}, "rangemode": "tozero"},
        "yaxis": {"type": "category", "automargin": True},
        "height": 90 + BAR_PX * len(rows),
        "showlegend": False,
    }
    if normaliser:
        line = {"dash": "dash", "width": 2, "color": COLOURS[1]}
        layout["shapes"] = [
            {"type": "line", "yref": "paper", "x0": 100, "x1": 100, "y0": 0, "y1": 1, "line": line}
        ]
        layout["annotations"] = [
            {"yref": "paper", "x": 100, "y": 1, "text": normaliser, "showarrow": False, "xanchor": "left",
             "yanchor": "bottom"}
        ]  # fmt: skip
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": values,
                "y": [score["condition"] for score in rows],
                "error_x": error_bars(rows, scale(metric)),
                "marker": {"color": COLOURS[0], "opacity": 0.8},
                "customdata": [
                    f"{amount(score['value'], metric)} [{number(score['low'], metric)}, "
                    f"{number(score['high'], metric)}]"
                    for score in rows
                ],
                "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
            }
        ],
        "layout": layout,
    }


def flip_positions(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Plotly heat map of flips by frame: a row per sequence, a cell per compared frame."""
    rows = [row for row in reversed(rows) if row["flip_share"]]
    width = max(row["frames"] for row in rows)
    shares: list[list[float | None]] = []
    hover_texts: list[list[str]] = []
    for row in rows:
        shares.append([None] * width)
        hover_texts.append([""] * width)
        for earlier, later, share in zip(row["earlier"], row["later"], row["flip_share"], strict=True):
            shares[-1][later] = 100 * share
            hover_texts[-1][later] = f"frame {later} compared with frame {earlier}"
    return {
        "data": [
            {
                "type": "heatmap",
                "x": list(range(width)),
                "y": [row["condition"] for row in rows],
                "z": shares,
                "customdata": hover_texts,
                "zmin": 0,
                "colorscale": "YlOrRd",
                "reversescale": True,
                "hoverongaps": False,
                "ygap": 3,
                "hovertemplate": "%{y}<br>%{customdata}<br>%{z:.1f} % of images flip<extra></extra>",
                "colorbar": {"title": {"text": "flips, %", "side": "right"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "frame"}, "showgrid": False, "zeroline": False},
            "yaxis": {"type": "category", "automargin": True, "showgrid": False},
            "height": 110 + BAR_PX * len(rows),
        },
    }


sequences = Sequences()
