"""Subtype robustness: page, plot, table rows and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from windtunnel.analysis.subtypes import Accuracy, Drop, ModelAccuracies, SubtypeRobustness
from windtunnel.core.wording import counted
from windtunnel.report.figures import COLOURS, error_bars
from windtunnel.report.page import render_page
from windtunnel.store.atomic_files import write_whole

PAGE_FILE = "report.html"
MODEL_HEADER = ("model", "kind", "seen subtypes", "unseen subtypes", "drop, points")
TYPE_HEADER = ("type", "seen subtypes", "unseen subtypes", "seen images", "unseen images")


def write_subtype_page(result: SubtypeRobustness, folder: Path) -> Path:
    """Write the HTML page of a study into its folder; returns the file."""
    file = folder / PAGE_FILE
    write_whole(file, subtype_page(result, folder.name).encode())
    return file


def subtype_page(result: SubtypeRobustness, name: str) -> str:
    """The HTML page of a study."""
    return render_page(
        "subtypes.html.j2",
        {"subtypes": unseen_against_seen(result)},
        name=name,
        facts=facts(result),
        chance=chance_text(result),
        notes=result.notes,
        models=(MODEL_HEADER, model_rows(result.models)),
        types=[(model.model, (TYPE_HEADER, type_rows(model))) for model in result.models],
    )


def facts(result: SubtypeRobustness) -> str:
    """How many types, subtypes and images the result is of."""
    first = result.models[0]
    return (
        f"{counted(len(result.types), 'type')}; {counted(first.seen.subtypes, 'seen subtype')}, "
        f"{counted(first.seen.images, 'held-out image')}; {counted(first.unseen.subtypes, 'unseen subtype')}"
        f", {counted(first.unseen.images, 'image')}"
    )


def chance_text(result: SubtypeRobustness) -> str:
    """The accuracy of a random guess, and of always predicting the most frequent type."""
    return (
        f"{100 * result.chance:.1f} % by a random guess; always {result.frequent_type}, the most frequent "
        f"type: {100 * result.frequent_seen:.1f} % of seen, {100 * result.frequent_unseen:.1f} % of unseen"
    )


def model_rows(models: Sequence[ModelAccuracies]) -> list[list[str]]:
    """A table row per model, with the columns of MODEL_HEADER."""
    return [
        [model.model, model.kind, _percent(model.seen), _percent(model.unseen), _points(model.drop)]
        for model in models
    ]


def type_rows(model: ModelAccuracies) -> list[list[str]]:
    """A table row per type of a model, with the columns of TYPE_HEADER."""
    return [
        [
            row.type,
            _percent(row.seen),
            _percent(row.unseen),
            f"{row.seen.images:,} of {counted(row.seen.subtypes, 'subtype')}",
            f"{row.unseen.images:,} of {counted(row.unseen.subtypes, 'subtype')}",
        ]
        for row in model.types
    ]


def unseen_against_seen(result: SubtypeRobustness) -> dict[str, Any]:
    """Plotly scatter plot of the accuracy on unseen subtypes against that on seen ones, with intervals."""
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{model.model} ({model.kind})",
            "x": [100 * model.seen.value],
            "y": [100 * model.unseen.value],
            "error_x": error_bars([asdict(model.seen)], 100),
            "error_y": error_bars([asdict(model.unseen)], 100),
            "marker": {"size": 10, "color": COLOURS[number % len(COLOURS)]},
            "hovertemplate": "seen %{x:.1f} %, unseen %{y:.1f} %",
        }
        for number, model in enumerate(result.models)
    ]
    same = {
        "type": "scatter",
        "mode": "lines",
        "name": "same accuracy",
        "x": [0, 100],
        "y": [0, 100],
        "line": {"width": 1, "dash": "dash", "color": COLOURS[-1]},
        "hoverinfo": "skip",
    }
    chance = {
        **same,
        "name": "random guess",
        "y": [100 * result.chance, 100 * result.chance],
        "line": {"width": 1, "dash": "dot", "color": COLOURS[-1]},
    }
    return {
        "data": [same, chance, *points],
        "layout": {
            "xaxis": {"title": {"text": "accuracy on seen subtypes, %"}, "range": [0, 101]},
            "yaxis": {"title": {"text": "accuracy on unseen subtypes, %"}, "range": [0, 101]},
            "height": 520,
            "showlegend": True,
        },
    }


def _percent(accuracy: Accuracy) -> str:
    return f"{100 * accuracy.value:.1f} % [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"


def _points(drop: Drop) -> str:
    return f"{100 * drop.value:+.1f} [{100 * drop.low:+.1f}, {100 * drop.high:+.1f}]"
