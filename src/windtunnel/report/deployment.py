"""The deployment check: what each swapped step of the pipeline costs, and where it changes pixels.

A page shows it with `section` in its document, `bars` among its figures and `differences` as its images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.core.images import Image
from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.not_finite import not_finite_under
from windtunnel.metrics.pipeline_steps import (
    distinct_methods,
    identical_steps,
    reference_of,
    step_columns,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.failures import THUMBNAIL_PX
from windtunnel.report.figures import COLOURS
from windtunnel.report.source_images import open_originals, thumbnail
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import holm, paired_difference
from windtunnel.suites.pipeline_steps import axis_of

ALPHA = 0.05
BAR_PX = 22
PHONE_BAR_PX = 32
AXIS_TITLES = {
    "decode": "decoder",
    "resize": "resizer",
    "geometry": "geometry",
    "colour": "colour handling",
    "numerics": "numerics",
}
# A difference of this many grey levels is drawn white, or the largest of an image where that is less.
WHITE = 64


def section(run: ScoredRun) -> dict[str, Any] | None:
    """The check's numbers, the costliest step first; None for a run that swaps no step.

    Without labels nothing is said of accuracy, and the step that changes most answers is the first.
    """
    rows = step_rows(run)
    if not rows:
        return None
    seen, first = run.observed.answered, rows[0]
    labelled = first["cost"] is not None
    return {
        "reference": reference_of(seen),
        "labelled": labelled,
        "accuracy": first["accuracy"] + first["cost"]["value"] if labelled else None,
        "images": len(seen.ids),
        "answer": step_verdict(rows, len(seen.ids)),
        "rows": rows,
        "axes": _axes(measure_run(run, ["axis_accuracy"]), seen),
    }


def step_rows(run: ScoredRun) -> list[dict[str, Any]]:
    """Every swapped step: its cost, p adjusted over all steps (Holm), answers and pixels that change.

    The costliest step comes first; none of a run that swaps no step, or has fewer than two images.
    """
    seen = run.observed.answered
    if not step_columns(run) or len(seen.ids) < 2:
        return []
    same = identical_steps(run, seen)
    costs = {one.condition: one for one in measure_run(run, ["step_cost"])}
    mean, largest = seen.pixel_change, seen.pixel_change_max
    p_values = {
        step: paired_difference(_share(one, 1), _share(one, 0)).p
        for step, one in costs.items()
        if step not in same
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    rows: list[dict[str, Any]] = [
        {
            "step": one.condition,
            "axis": axis_of(one.condition),
            **_judged(costs.get(one.condition), adjusted),
            "flips": _with_interval(one),
            "identical": one.condition in same,
            "not_finite": not_finite_under(run, seen, [one.condition]),
            "pixel_change": _number(mean[:, seen.column(one.condition)].mean()),
            "pixel_change_max": _number(largest[:, seen.column(one.condition)].max()),
        }
        for one in measure_run(run, ["step_flip_share"])
    ]
    return sorted(rows, key=lambda row: (-row["cost"]["value"] if costs else 0.0, -row["flips"]["value"]))


def certain(row: Mapping[str, Any]) -> bool:
    """Whether a step changes accuracy at 5 %, adjusted over all steps of the run."""
    return bool(row["p"] <= ALPHA)


def _judged(cost: Measure | None, adjusted: Mapping[str, float]) -> dict[str, Any]:
    """What labels say of a step: accuracy, cost and p; None each where there are none."""
    if cost is None:
        return {"accuracy": None, "cost": None, "p": None}
    return {
        "accuracy": 1 - _share(cost, 0).value,
        "cost": _with_interval(cost),
        "p": adjusted.get(cost.condition, 1.0),
    }


def _share(cost: Measure, column: int) -> Measure:
    """The errors after a step (0) or before it (1), which its cost is the difference of."""
    name = cost.parts[column]
    return Measure("top1_error", name, "", (name,), cost.columns[:, [column]], groups=cost.groups)


def _with_interval(measure: Measure) -> dict[str, float]:
    low, high = measure.interval()
    return {"value": measure.value, "low": low, "high": high}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _axes(measures: Sequence[Measure], seen: Observed) -> list[dict[str, Any]]:
    """One row per axis: how many methods, flips, and with labels mean, scatter and range of accuracy."""
    found: dict[str, dict[str, Any]] = {}
    for one in measures:
        axis, _, what = one.metric.partition("_")
        counts = {"methods": len(one.parts), "distinct": distinct_methods(seen, one.parts)}
        row = found.setdefault(axis, {"axis": AXIS_TITLES[axis], **counts})
        row[what] = _with_interval(one)
    return list(found.values())


def step_verdict(rows: Sequence[dict[str, Any]], images: int) -> str:
    """Which step costs most, in a sentence or two; without labels, which changes most answers."""
    if rows[0]["cost"] is None:
        return _unlabelled_answer(rows)
    sure = [row for row in rows if certain(row) and row["cost"]["value"] > 0]
    gains = [row for row in rows if certain(row) and row["cost"]["value"] < 0]
    parts = []
    if sure:
        shown = ", ".join(f"{row['step']} ({100 * row['cost']['value']:.1f} points)" for row in sure)
        parts.append(f"Surely costly: {shown}.")
    if gains:
        shown = ", ".join(f"{row['step']} ({-100 * row['cost']['value']:.1f} points)" for row in gains)
        parts.append(f"Surely better than what is declared: {shown}; windtunnel doctor says more.")
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image: none of them can cost anything here."
    if not parts:
        parts.append(f"No step surely costs accuracy: {images:,} images cannot tell these from chance.")
    widest = max(rows, key=lambda row: row["flips"]["value"] - abs(row["cost"]["value"]))
    if widest["flips"]["value"] > abs(widest["cost"]["value"]):
        parts.append(
            f"Accuracy hides flips: {widest['step']} changes {100 * widest['flips']['value']:.1f} % of the "
            f"answers and {100 * abs(widest['cost']['value']):.1f} points of accuracy."
        )
    return " ".join(parts)


def _unlabelled_answer(rows: Sequence[dict[str, Any]]) -> str:
    """Which step changes most answers, in a sentence or two."""
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image: none of them can change an answer here."
    parts = ["No image has a label: what a step costs in accuracy cannot be said."]
    first = rows[0]
    share, low, high = (100 * first["flips"][key] for key in ("value", "low", "high"))
    if share:
        parts.append(f"{first['step']} changes most answers: {share:.1f} % [{low:.1f}, {high:.1f}].")
    else:
        parts.append("No step changes an answer.")
    return " ".join(parts)


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
    axes = list(AXIS_TITLES)
    traces = []
    for number, axis in enumerate(axes):
        chosen = [row for row in rows if row["axis"] == axis]
        if not chosen:
            continue
        value, low, high = ([100 * row[shown][key] for row in chosen] for key in ("value", "low", "high"))
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": AXIS_TITLES[axis],
                "x": value,
                "y": [row["step"] for row in chosen],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [end - middle for end, middle in zip(high, value, strict=True)],
                    "arrayminus": [middle - end for middle, end in zip(value, low, strict=True)],
                    "thickness": 1,
                    "width": 3,
                },
                "marker": {"color": COLOURS[number % len(COLOURS)]},
                "customdata": [100 * row["flips"]["value"] for row in chosen],
                "hovertemplate": f"%{{y}}<br>{told}<extra></extra>",
            }
        )
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
    seen = run.observed.answered
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


def markdown(found: dict[str, Any]) -> list[str]:
    """The check as lines of Markdown."""
    from windtunnel.report.markdown import markdown_table

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
        "## Deployment check",
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
        "",
    ]


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
