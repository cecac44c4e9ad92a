"""The deployment check: what each swapped step of the pipeline costs, and where it changes pixels.

A page shows it with `section` in its document, `bars` among its figures and `differences` as its pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.imaging import Image
from windtunnel.metrics.observed import Observed
from windtunnel.metrics.pipeline import (
    distinct_methods,
    identical_steps,
    not_finite,
    reference_of,
    step_columns,
)
from windtunnel.metrics.score import Measure, measure_run
from windtunnel.pipeline import axis_of
from windtunnel.report.failures import THUMBNAIL_PX
from windtunnel.report.figures import COLOURS
from windtunnel.report.originals import open_originals, thumbnail
from windtunnel.stats.paired import holm, paired_difference
from windtunnel.store.run import Run

ALPHA = 0.05
BAR_PX = 22
AXIS_TITLES = {
    "decode": "decoder",
    "resize": "resizer",
    "geometry": "geometry",
    "colour": "colour handling",
    "numerics": "numerics",
}
# A difference of this many grey levels is drawn white.
WHITE = 64


def section(run: Run) -> dict[str, Any] | None:
    """The check's numbers, the costliest step first; None for a run that swaps no step."""
    seen = run.observed
    if not step_columns(run) or len(seen.ids) < 2:
        return None
    before, same = reference_of(seen), identical_steps(run, seen)
    costs = measure_run(run, ["step_cost"])
    flips = {one.condition: one for one in measure_run(run, ["step_flip_share"])}
    mean, largest = seen.pixel_change, seen.pixel_change_max
    p_values = {
        one.condition: paired_difference(_share(one, 1), _share(one, 0)).p
        for one in costs
        if one.condition not in same
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    rows: list[dict[str, Any]] = [
        {
            "step": one.condition,
            "axis": axis_of(one.condition),
            "accuracy": 1 - _share(one, 0).value,
            "cost": _with_interval(one),
            "flips": _with_interval(flips[one.condition]),
            "p": adjusted.get(one.condition, 1.0),
            "identical": one.condition in same,
            "not_finite": not_finite(seen, one.condition),
            "pixel_change": _number(mean[:, seen.column(one.condition)].mean()),
            "pixel_change_max": _number(largest[:, seen.column(one.condition)].max()),
        }
        for one in costs
    ]
    rows.sort(key=lambda row: (-row["cost"]["value"], -row["flips"]["value"]))
    return {
        "reference": before,
        "accuracy": 1 - _share(costs[0], 1).value,
        "pictures": len(seen.ids),
        "answer": _answer(rows, len(seen.ids)),
        "rows": rows,
        "axes": _axes(measure_run(run, ["axis_accuracy"]), seen),
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
    """One row per axis: how many methods, mean, standard deviation and range of accuracy, and flips."""
    found: dict[str, dict[str, Any]] = {}
    for one in measures:
        axis, _, what = one.metric.partition("_")
        counts = {"methods": len(one.parts), "distinct": distinct_methods(seen, one.parts)}
        row = found.setdefault(axis, {"axis": AXIS_TITLES[axis], **counts})
        row[what] = _with_interval(one)
    return list(found.values())


def _answer(rows: Sequence[dict[str, Any]], pictures: int) -> str:
    """Which step costs most, in a sentence or two."""
    sure = [row for row in rows if row["p"] <= ALPHA and row["cost"]["value"] > 0]
    gains = [row for row in rows if row["p"] <= ALPHA and row["cost"]["value"] < 0]
    parts = []
    if sure:
        shown = ", ".join(f"{row['step']} ({100 * row['cost']['value']:.1f} points)" for row in sure)
        parts.append(f"Surely costly: {shown}.")
    if gains:
        shown = ", ".join(f"{row['step']} ({-100 * row['cost']['value']:.1f} points)" for row in gains)
        parts.append(f"Surely better than what is declared: {shown}; windtunnel doctor says more.")
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any picture: none of them can cost anything here."
    if not parts:
        parts.append(f"No step surely costs accuracy: {pictures:,} pictures cannot tell these from chance.")
    widest = max(rows, key=lambda row: row["flips"]["value"] - abs(row["cost"]["value"]))
    if widest["flips"]["value"] > abs(widest["cost"]["value"]):
        parts.append(
            f"Accuracy hides flips: {widest['step']} changes {widest['flips']['value']:.1%} of the answers "
            f"and {100 * abs(widest['cost']['value']):.1f} points of accuracy."
        )
    return " ".join(parts)


def bars(found: dict[str, Any]) -> dict[str, Any]:
    """Cost of every step with its interval, the costliest at the top, a colour per axis."""
    rows = found["rows"][::-1]
    axes = list(AXIS_TITLES)
    traces = []
    for number, axis in enumerate(axes):
        chosen = [row for row in rows if row["axis"] == axis]
        if not chosen:
            continue
        value, low, high = ([100 * row["cost"][key] for row in chosen] for key in ("value", "low", "high"))
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
                "hovertemplate": "%{y}<br>costs %{x:.1f} points, changes %{customdata:.1f} % of the answers"
                "<extra></extra>",
            }
        )
    order = [row["step"] for row in rows]
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": f"accuracy lost against {found['reference']}, points"}},
            "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": order},
            "height": 160 + BAR_PX * len(rows),
            "showlegend": True,
        },
    }


@dataclass(frozen=True)
class Seen:
    """A picture before and after a step, and where the two differ."""

    picture: str
    step: str
    change: float
    before: str
    after: str
    where: str


def differences(run: Run) -> list[Seen]:
    """For the costliest step of every axis that changes pixels, a picture and where it differs.

    The picture is the one whose answer most steps change; nothing is shown of one that has changed since.
    """
    found = section(run)
    if found is None:
        return []
    steps: dict[str, str] = {}
    for row in found["rows"]:
        if row["pixel_change"]:
            steps.setdefault(row["axis"], row["step"])
    seen = run.observed
    reference = seen.chosen[:, [seen.column(found["reference"])]]
    row = int((seen.chosen[:, step_columns(run)] != reference).sum(axis=1).argmax())
    originals = open_originals(run)
    if originals is None:
        return []
    shown = []
    for step in steps.values():
        made = originals.under(str(seen.ids[row]), found["reference"], step)
        if made:
            before, after = (frames[0] for frames in made)
            shown.append(_seen(str(seen.ids[row]), step, before, after))
    return shown


def _seen(id_: str, step: str, before: Image, after: Image) -> Seen:
    away = np.abs(before.astype(np.int16) - after)
    drawn = np.minimum(away.max(axis=2) * (255 / WHITE), 255).astype(np.uint8)
    where = np.repeat(drawn[:, :, None], 3, axis=2)
    return Seen(
        id_, step, float(away.mean()), *(thumbnail(image, THUMBNAIL_PX) for image in (before, after, where))
    )


def markdown(found: dict[str, Any]) -> list[str]:
    """The check as lines of Markdown."""
    from windtunnel.report.markdown import markdown_table

    header = ["step", "accuracy lost, points", "95 % interval", "p (Holm)", "answers changed", "pixels"]
    return [
        "## Deployment check",
        "",
        found["answer"],
        "",
        *markdown_table(header, [_markdown_row(row) for row in found["rows"]]),
        "",
        *markdown_table(
            [
                "axis",
                "methods",
                "mean accuracy",
                "std, points",
                "without chance",
                "95 % interval",
                "largest - smallest, points",
                "95 % interval",
                "answers not the same",
            ],
            [
                [
                    row["axis"],
                    methods(row),
                    f"{100 * row['mean_accuracy']['value']:.1f} %",
                    points(row["accuracy_std"]["value"]),
                    points(row["accuracy_std_corrected"]["value"]),
                    _ends(row["accuracy_std"]),
                    points(row["accuracy_range"]["value"]),
                    _ends(row["accuracy_range"]),
                    f"{100 * row['flip_share']['value']:.1f} %",
                ]
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


def _markdown_row(row: dict[str, Any]) -> list[str]:
    cost = row["cost"]
    return [
        row["step"],
        f"{100 * cost['value']:.1f}",
        f"{100 * cost['low']:.1f} to {100 * cost['high']:.1f}",
        "" if row["identical"] else f"{row['p']:.2g}",
        f"{row['flips']['value']:.1%}",
        pixels(row),
    ]


def pixels(row: dict[str, Any]) -> str:
    """How far a step's pixels are from the canvas, in words."""
    if row["axis"] == "numerics":
        lost = f"; no finite answer on {row['not_finite']:,} pictures" if row["not_finite"] else ""
        return f"the same pixels, other arithmetic{lost}"
    if row["identical"]:
        return "identical pixels"
    if row["pixel_change"] is None:
        return "of another size, or not seen"
    return f"{row['pixel_change']:.2f} levels, at most {row['pixel_change_max']:.0f}"
