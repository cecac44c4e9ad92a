"""The deployment check: the accuracy that each pipeline step costs, and the pixels that it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.analysis.deployment import axis_spreads, replaced_steps
from windtunnel.core.conditions import NUMERICS
from windtunnel.core.images import Image
from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.pipeline_steps import reference_of, step_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.pipeline_steps import AXIS_TITLES, axis_row, step_row, step_verdict
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import THUMBNAIL_PX, open_source_images, thumbnail
from windtunnel.suites.pipeline_steps import axis_of

BAR_PX = 22
PHONE_BAR_PX = 32
# A difference of this many grey levels is drawn white, or the largest one of an image if that is smaller.
WHITE = 64


class Deployment(Section):
    """The cost of each replaced pipeline step, and the pixels that it changes."""

    name = "deployment"
    title = "Deployment check"
    help = "The accuracy that each replaced step of the pipeline costs, and the pixels that it changes."
    order = 500
    json_order = 90

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"deployment": deployment_check(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["deployment"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        formats = {
            "pixels": pixels_text,
            "levels": levels_text,
            "points": points_text,
            "methods": methods_text,
        }
        return Content(
            {"differences": pixel_differences(inputs.run), **formats},
            {"deployment": step_bars(document["deployment"])},
        )

    def markdown(self, document: Document) -> list[str]:
        return _markdown(document["deployment"])


def deployment_check(run: ScoredRun) -> dict[str, Any] | None:
    """The numbers of the check, the costliest step first; None for a run that replaces no step.

    Without labels there are no accuracies, and the step that changes the most predictions comes first.
    """
    steps = replaced_steps(run)
    if not steps:
        return None
    observed, cost = run.observed.with_unlabelled, steps[0].cost
    return {
        "reference": reference_of(observed),
        "labelled": cost is not None,
        "accuracy": cost.accuracy + cost.difference.value if cost else None,
        "images": len(observed.ids),
        "verdict": step_verdict(steps, len(observed.ids)),
        "rows": [step_row(step) for step in steps],
        "axes": [axis_row(axis) for axis in axis_spreads(run)],
    }


def step_bars(check: dict[str, Any]) -> dict[str, Any]:
    """Plotly bars: the cost of every step with its interval, the costliest at the top, a colour per axis.

    Without labels, the bars are the shares of predictions that change.
    """
    rows = check["rows"][::-1]
    quantity, hover = "cost", "costs %{x:.1f} points, changes %{customdata:.1f} % of the predictions"
    title = f"accuracy lost against {check['reference']}, points"
    if not check["labelled"]:
        quantity, hover = "flips", "changes %{x:.1f} % of the predictions"
        title = f"predictions changed against {check['reference']}, %"
    traces = [
        _bar_trace(
            [row for row in rows if row["axis"] == axis], quantity, hover, COLOURS[number % len(COLOURS)]
        )
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
        # On a phone the names are above the bars: next to them, they would take most of the width.
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


def _bar_trace(rows: list[dict[str, Any]], quantity: str, hover: str, colour: str) -> dict[str, Any]:
    """The bars of one axis: `cost` or `flips` of its steps with their intervals."""
    value, low, high = ([100 * row[quantity][key] for row in rows] for key in ("value", "low", "high"))
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
        "hovertemplate": f"%{{y}}<br>{hover}<extra></extra>",
    }


@dataclass(frozen=True)
class PixelDifference:
    """An image without and with a replaced step, and the map of their difference.

    Attributes:
        image: the image's id.
        step: the replaced step.
        change: mean absolute difference in grey levels.
        white: the difference in grey levels that is drawn white.
        before, after, where: the two images and their difference as data URIs.
    """

    image: str
    step: str
    change: float
    white: int
    before: str
    after: str
    where: str


def pixel_differences(run: ScoredRun) -> list[PixelDifference]:
    """An image under the step of every axis that changes pixels most.

    The image is the one with the largest change among those whose prediction the step changes, or among all
    images. Images that have changed since the run are left out.
    """
    observed = run.observed.with_unlabelled
    steps = _most_changing_steps(run, observed) if step_columns(run) and len(observed.ids) else []
    sources = open_source_images(run) if steps else None
    if sources is None:
        return []
    reference = reference_of(observed)
    before = observed.chosen[:, observed.column(reference)]
    differences = []
    for step in steps:
        change = np.nan_to_num(observed.pixel_change[:, observed.column(step)])
        flips = flipped(observed.chosen[:, observed.column(step)], before) & (change > 0)
        row = int(np.where(flips, change, 0).argmax() if flips.any() else change.argmax())
        image_id = str(observed.ids[row])
        frames = sources.frames_under(image_id, reference, step)
        if frames:
            differences.append(_pixel_difference(image_id, step, frames[0][0], frames[1][0]))
    return differences


def _most_changing_steps(run: ScoredRun, observed: Observed) -> list[str]:
    """The step of every axis that changes pixels most; axes that change no pixel are left out."""
    change = {
        column: float(np.nan_to_num(observed.pixel_change[:, column]).mean()) for column in step_columns(run)
    }
    axes: dict[str, int] = {}
    for column in sorted(change, key=lambda column: -change[column]):
        if change[column] > 0:
            axes.setdefault(axis_of(observed.conditions[column]), column)
    return [observed.conditions[axes[axis]] for axis in AXIS_TITLES if axis in axes]


def _pixel_difference(image_id: str, step: str, before: Image, after: Image) -> PixelDifference:
    difference = np.abs(before.astype(np.int16) - after)
    white = min(WHITE, max(1, int(difference.max())))
    grey = np.minimum(difference.max(axis=2) * (255 / white), 255).astype(np.uint8)
    where = np.repeat(grey[:, :, None], 3, axis=2)
    images = (thumbnail(image, THUMBNAIL_PX) for image in (before, after, where))
    return PixelDifference(image_id, step, float(difference.mean()), white, *images)


def points_text(value: float) -> str:
    """A difference of accuracies in points, with three decimals like published standard deviations."""
    return f"{100 * value:.3f}"


def methods_text(row: dict[str, Any]) -> str:
    """The number of methods of an axis, and of distinct ones if some are identical."""
    all_distinct = row["distinct"] == row["methods"]
    return f"{row['methods']}" if all_distinct else f"{row['methods']}, {row['distinct']} distinct"


def _interval_text(score: dict[str, float]) -> str:
    return f"{points_text(score['low'])} to {points_text(score['high'])}"


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
        points_text(row["accuracy_std"]["value"]),
        points_text(row["accuracy_std_corrected"]["value"]),
        _interval_text(row["accuracy_std"]),
        points_text(row["accuracy_range"]["value"]),
        _interval_text(row["accuracy_range"]),
    ]


def pixels_text(row: dict[str, Any]) -> str:
    """The pixel change of a step: mean and largest difference in grey levels."""
    if row["axis"] == NUMERICS:
        lost = f"; no finite prediction on {row['not_finite']:,} images" if row["not_finite"] else ""
        return f"0 (other arithmetic){lost}"
    if row["identical"]:
        return "0 (identical)"
    if row["pixel_change"] is None:
        return "unknown (another image size)"
    return f"mean {levels_text(row['pixel_change'])}, largest {row['pixel_change_max']:.0f}"


def levels_text(change: float) -> str:
    """A mean change in grey levels; a small change is not rounded to zero."""
    return f"{change:.2f}" if change >= 0.005 else "under 0.01"


def _markdown(check: dict[str, Any]) -> list[str]:
    """The check as lines of Markdown."""
    cost = ["accuracy lost, points", "95 % interval", "p (Holm)"] if check["labelled"] else []
    spread = [
        "mean accuracy",
        "std, points",
        "std corrected, points",
        "95 % interval",
        "range, points",
        "95 % interval",
    ]
    spread = spread if check["labelled"] else []
    return [
        f"## {deployment.title}",
        "",
        check["verdict"],
        "",
        *markdown_table(
            ["step", *cost, "flips", "95 % interval", "pixel change, grey levels"],
            [
                [row["step"], *_markdown_cost(row), *_markdown_share(row["flips"]), pixels_text(row)]
                for row in check["rows"]
            ],
        ),
        "",
        *markdown_table(
            ["axis", "methods", *spread, "images that flip", "95 % interval"],
            [
                [row["axis"], methods_text(row), *_markdown_spread(row), *_markdown_share(row["flip_share"])]
                for row in check["axes"]
            ],
        ),
    ]


deployment = Deployment()
