"""Sequences: how often predictions flip between frames, how far the top 5 move, and at which frames."""

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

# Scores of single sequences and the axis of their bars.
SEQUENCE_BARS = {
    "flip_probability": "flip probability, %",
    "flip_rate": "flip rate, %",
    "ut5d": "uT5D, ranks",
    "t5d": "T5D, %",
}
COLUMN_TITLES = {"flip_probability": "flip probability", "flip_rate": "FR", "ut5d": "uT5D", "t5d": "T5D"}


class Sequences(Section):
    """Flips and top-5 distances of every sequence, and at which frames predictions flip."""

    name = "sequences"
    title = "Flips by sequence"
    help = "Flip probability and top-5 distance of every sequence, and the frames at which predictions flip."
    order = 900
    json_order = 50

    @property
    def shows(self) -> tuple[str, ...]:
        """Scores of single sequences."""
        return tuple(SEQUENCE_BARS)

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"sequences": sequence_rows(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["sequences"] and metrics_of_sequences(document))

    def content(self, document: Document, given: ReportInput) -> Content:
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
            f"sequence, difficulty {document['sequences'][0]['difficulty']}",
            *(COLUMN_TITLES[metric] for metric in metrics),
            "most flips at frame",
        ]
        return ["## By sequence", "", *markdown_table(header, rows)]


def metrics_of_sequences(document: Document) -> list[str]:
    """The metrics of single sequences that the document has scores of."""
    found = {score["metric"] for score in document["scores"]}
    return [metric for metric in SEQUENCE_BARS if metric in found]


def _figures(document: Document) -> dict[str, Any]:
    """Bars per metric, and where in the sequences predictions flip."""
    found = {}
    for metric in metrics_of_sequences(document):
        scores = [score for score in document["scores"] if score["metric"] == metric]
        found[metric] = sequence_bars(scores, SEQUENCE_BARS[metric], _reference(document, metric))
    if any(row["flip_share"] for row in document["sequences"]):
        found["positions"] = flip_positions(document["sequences"])
    return found


def _reference(document: Document, metric: str) -> str:
    """The model whose score is 100 %; "" for scores that are not normalised."""
    if not needing("normaliser", [metric]):
        return ""
    return document["baseline"] or "AlexNet"


def sequence_rows(run: ScoredRun) -> list[dict[str, Any]]:
    """Every sequence: how its frames are compared, and at each pair the share of images that flip."""
    found = []
    for one in sequences_of(run):
        earlier, later = pairs_of(run, one)
        shares = flips_of(run, one).mean(axis=0) if len(run.clips.ids) else np.empty(0)
        found.append(
            {
                "condition": name(one),
                "type": type_of(one),
                "difficulty": difficulty_of(run),
                "frames": one.frames,
                "classes": rivals_of(run),
                "farthest_top5": farthest_top5(rivals_of(run)),
                "compared": compared(run, one),
                "earlier": earlier.tolist(),
                "later": later.tolist(),
                "flip_share": shares.tolist(),
                # The frame at which most images flip, the first of several; None where none does.
                "peak": int(later[shares.argmax()]) if shares.any() else None,
            }
        )
    return found


def _cell(score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    value, interval, _ = score_cells(score)
    return f"{value} ({interval})"


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


sequences = Sequences()
