"""The deployment check: what each swapped step of the pipeline costs, and where it changes pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.core.images import Image
from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.pipeline_steps import reference_of, step_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import THUMBNAIL_PX, open_originals, thumbnail
from windtunnel.report.step_costs import AXIS_TITLES, axis_rows, step_rows, step_verdict
from windtunnel.suites.pipeline_steps import axis_of

BAR_PX = 22
PHONE_BAR_PX = 32
# A difference of this many grey levels is drawn white, or the largest of an image where that is less.
WHITE = 64


class Deployment(Section):
    """What each swapped step of the pipeline costs, and where it changes pixels."""

    name = "deployment"
    title = "Deployment check"
    help = "The accuracy that each swapped step of the pipeline costs, and where it changes pixels."
    order = 500
    json_order = 90

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"deployment": deployment_check(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["deployment"])

    def content(self, document: Document, given: ReportInput) -> Content:
        words = {"pixels": pixels, "levels": levels, "points": points, "methods": methods}
        return Content(
            {"differences": differences(given.run), **words}, {"deployment": bars(document["deployment"])}
        )

    def markdown(self, document: Document) -> list[str]:
        return _markdown(document["deployment"])


def deployment_check(run: ScoredRun) -> dict[str, Any] | None:
    """The check's numbers, the costliest step first; None for a run that swaps no step.

    Without labels nothing is said of accuracy, and the step that changes most answers is the first.
    """
    rows = step_rows(run)
    if not rows:
        return None
    seen, first = run.observed.with_unlabelled, rows[0]
    labelled = first["cost"] is not None
    return {
        "reference": reference_of(seen),
        "labelled": labelled,
        "accuracy": first["accuracy"] + first["cost"]["value"] if labelled else None,
        "images": len(seen.ids),
        "answer": step_verdict(rows, len(seen.ids)),
        "rows": rows,
        "axes": axis_rows(measure_run(run, ["axis_accuracy"]), seen),
    }


def bars(found: dict[str, Any]) -> dict[str, Any]:
    """Cost of every step with its interval, the costliest at the top, a colour per axis.

    Without labels it is the share of answers that change.
    """
    rows = found["rows"][::-1]
    shown = "cost" if found["labelled"] else "flips"
    told = "costs %{x:.1f} points, changes %{customdata:.1f} % of the answers"
    title = f"accuracy lost against {found['reference']}, points"
    if not found["labelled"]:
        told, title = "changes %{x:.1f} % of the answers", f"answers other than under {found['reference']}, %"
    traces = [
        _bar_trace([row for row in rows if row["axis"] == axis], shown, told, COLOURS[number % len(COLOURS)])
        for number, axis in enumerate(AXIS_TITLES)
        if any(row["axis"] == axis for row in rows)
    ]
    ordered = {"type": "category", "categoryorder": "array", "categoryarray": [row["step"] for row in rows]}
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": title}},
            "yaxis": ordered,
            "height": 160 + BAR_PX * len(rows),
            "showlegend": True,
        },
        # Beside the bars the names would leave a phone little room: they stand above them.
        "phone": {
            "height": 130 + PHONE_BAR_PX * len(rows),
            "yaxis": {**ordered, "showticklabels": False, "showgrid": False},
            "annotations": [
                {
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "y": row["step"],
                    "yshift": 11,
                    "text": row["step"],
                    "showarrow": False,
                    "font": {"size": 11},
                }
                for row in rows
            ],
            "bargap": 0.65,
        },
    }


def _bar_trace(rows: list[dict[str, Any]], shown: str, told: str, colour: str) -> dict[str, Any]:
    """The bars of one axis: `cost` or `flips` of its steps with their intervals."""
    value, low, high = ([100 * row[shown][key] for row in rows] for key in ("value", "low", "high"))
    return {
        "type": "bar",
        "orientation": "h",
        "name": AXIS_TITLES[rows[0]["axis"]],
        "x": value,
        "y": [row["step"] for row in rows],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [end - middle for end, middle in zip(high, value, strict=True)],
            "arrayminus": [middle - end for middle, end in zip(value, low, strict=True)],
            "thickness": 1,
            "width": 3,
        },
        "marker": {"color": colour},
        "customdata": [100 * row["flips"]["value"] for row in rows],
        "hovertemplate": f"%{{y}}<br>{told}<extra></extra>",
    }


@dataclass(frozen=True)
class Seen:
    """An image before and after a step, and where the two differ."""

    image: str
    step: str
    change: float
    white: int
    before: str
    after: str
    where: str


def differences(run: ScoredRun) -> list[Seen]:
    """For the step of every axis that changes pixels most, an image and where it differs.

    Of the images whose answer the step changes, or else of all, it is the one that differs most; nothing is
    shown of one that has changed since.
    """
    seen = run.observed.with_unlabelled
    steps = _most_changed(run, seen) if step_columns(run) and len(seen.ids) else []
    originals = open_originals(run) if steps else None
    if originals is None:
        return []
    reference = reference_of(seen)
    before = seen.chosen[:, seen.column(reference)]
    shown = []
    for step in steps:
        change = np.nan_to_num(seen.pixel_change[:, seen.column(step)])
        flips = flipped(seen.chosen[:, seen.column(step)], before) & (change > 0)
        row = int(np.where(flips, change, 0).argmax() if flips.any() else change.argmax())
        made = originals.under(str(seen.ids[row]), reference, step)
        if made:
            shown.append(_seen(str(seen.ids[row]), step, *(frames[0] for frames in made)))
    return shown


def _most_changed(run: ScoredRun, seen: Observed) -> list[str]:
    """Of every axis that changes any pixel the step that changes most, in the order of axes."""
    change = {
        column: float(np.nan_to_num(seen.pixel_change[:, column]).mean()) for column in step_columns(run)
    }
    axes: dict[str, int] = {}
    for column in sorted(change, key=lambda column: -change[column]):
        if change[column] > 0:
            axes.setdefault(axis_of(seen.conditions[column]), column)
    return [seen.conditions[axes[axis]] for axis in AXIS_TITLES if axis in axes]


def _seen(id_: str, step: str, before: Image, after: Image) -> Seen:
    away = np.abs(before.astype(np.int16) - after)
    white = min(WHITE, max(1, int(away.max())))
    drawn = np.minimum(away.max(axis=2) * (255 / white), 255).astype(np.uint8)
    where = np.repeat(drawn[:, :, None], 3, axis=2)
    images = (thumbnail(image, THUMBNAIL_PX) for image in (before, after, where))
    return Seen(id_, step, float(away.mean()), white, *images)


def points(value: float) -> str:
    """A difference of accuracies, in points; published standard deviations are thousandths of one."""
    return f"{100 * value:.3f}"


def methods(row: dict[str, Any]) -> str:
    """How many methods an axis has, and how many of them differ."""
    same = row["distinct"] == row["methods"]
    return f"{row['methods']}" if same else f"{row['methods']}, {row['distinct']} distinct"


def _ends(score: dict[str, float]) -> str:
    return f"{points(score['low'])} to {points(score['high'])}"


def _markdown_cost(row: dict[str, Any]) -> list[str]:
    cost = row["cost"]
    if cost is None:
        return []
    return [
        f"{100 * cost['value']:.1f}",
        f"{100 * cost['low']:.1f} to {100 * cost['high']:.1f}",
        "" if row["identical"] else f"{row['p']:.2g}",
    ]


def _markdown_share(share: dict[str, float]) -> list[str]:
    return [f"{100 * share['value']:.1f} %", f"{100 * share['low']:.1f} to {100 * share['high']:.1f}"]


def _markdown_spread(row: dict[str, Any]) -> list[str]:
    if "mean_accuracy" not in row:
        return []
    return [
        f"{100 * row['mean_accuracy']['value']:.1f} %",
        points(row["accuracy_std"]["value"]),
        points(row["accuracy_std_corrected"]["value"]),
        _ends(row["accuracy_std"]),
        points(row["accuracy_range"]["value"]),
        _ends(row["accuracy_range"]),
    ]


def pixels(row: dict[str, Any]) -> str:
    """How far a step's pixels are from the canvas, in words."""
    if row["axis"] == "numerics":
        lost = f"; no finite prediction on {row['not_finite']:,} images" if row["not_finite"] else ""
        return f"the same pixels, other arithmetic{lost}"
    if row["identical"]:
        return "identical pixels"
    if row["pixel_change"] is None:
        return "of another size, or not seen"
    return f"{levels(row['pixel_change'])} levels, at most {row['pixel_change_max']:.0f}"


def levels(change: float) -> str:
    """A mean change in grey levels; a change is never shown as none."""
    return f"{change:.2f}" if change >= 0.005 else "under 0.01"


def _markdown(found: dict[str, Any]) -> list[str]:
    """The check as lines of Markdown."""
    cost = ["accuracy lost, points", "95 % interval", "p (Holm)"] if found["labelled"] else []
    spread = [
        "mean accuracy",
        "std, points",
        "without chance",
        "95 % interval",
        "largest - smallest, points",
        "95 % interval",
    ]
    spread = spread if found["labelled"] else []
    return [
        f"## {deployment.title}",
        "",
        found["answer"],
        "",
        *markdown_table(
            ["step", *cost, "answers changed", "95 % interval", "pixels"],
            [
                [row["step"], *_markdown_cost(row), *_markdown_share(row["flips"]), pixels(row)]
                for row in found["rows"]
            ],
        ),
        "",
        *markdown_table(
            ["axis", "methods", *spread, "answers not the same", "95 % interval"],
            [
                [row["axis"], methods(row), *_markdown_spread(row), *_markdown_share(row["flip_share"])]
                for row in found["axes"]
            ],
        ),
    ]


deployment = Deployment()
