"""Runs among public models: scatter plots on logit axes, tables and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.public_models import PublicResult
from windtunnel.analysis.public_placement import OwnPoint, Placed
from windtunnel.analysis.shifts import Share
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.accuracy_axes import percent_ticks, place
from windtunnel.report.accuracy_drops import numbered, percent_text
from windtunnel.report.figures import COLOURS
from windtunnel.report.markdown_table import markdown_table
from windtunnel.stats.accuracy_fits import Fit

# Space between the outermost point and the axis, in logits.
MARGIN = 0.2
HEADER = (
    "run",
    "clean accuracy",
    "shifted accuracy",
    "accuracy on the line",
    "above the line, points",
    "better than, public results",
)


def placement_figures(placed: Sequence[Placed]) -> dict[str, Any]:
    """A scatter plot per natural set, by the id of its element on the page."""
    return {f"public_{number}": public_scatter(placement) for number, placement in enumerate(placed, start=1)}


def public_scatter(placement: Placed) -> dict[str, Any]:
    """Plotly scatter plot of clean and shifted accuracy: public models, their line, and the runs."""
    pairs, points = placement.field.pairs, placement.points
    clean = [place(result.top1) for result, _ in pairs]
    shifted = [place(result.top1) for _, result in pairs]
    x_range = _axis_range([*clean, *(place(point.clean.value) for point in points)])
    y_range = _axis_range([*shifted, *(place(point.shifted.value) for point in points)])
    public = {
        "type": "scatter",
        "mode": "markers",
        "name": f"{len(pairs):,} public results",
        "x": clean,
        "y": shifted,
        "text": [_public_text(*pair) for pair in pairs],
        "marker": {"size": 5, "opacity": 0.45, "color": COLOURS[7]},
        "hovertemplate": "%{text}<extra></extra>",
    }
    return {
        "data": [public, *_line_traces(placement.field.fit, x_range), *_run_traces(points)],
        "layout": {
            "xaxis": {"title": {"text": "clean accuracy, %"}, "range": x_range, **percent_ticks()},
            "yaxis": {
                "title": {"text": f"{placement.title} accuracy, %"},
                "range": y_range,
                **percent_ticks(),
            },
            "height": 520,
            "showlegend": True,
        },
    }


def _line_traces(fit: Fit | None, x_range: tuple[float, float]) -> list[dict[str, Any]]:
    """The least-squares line of the public models, if there is one."""
    if fit is None:
        return []
    return [
        {"type": "scatter", "mode": "lines", "name": f"line, r = {fit.correlation:.3f}", "x": list(x_range),
         "y": fit.axis_value(np.array(x_range)).tolist(), "hoverinfo": "skip",
         "line": {"dash": "dash", "width": 1.5, "color": COLOURS[0]}}
    ]  # fmt: skip


def _run_traces(points: Sequence[OwnPoint]) -> list[dict[str, Any]]:
    """A marker with intervals per run."""
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "x": [place(point.clean.value)],
            "y": [place(point.shifted.value)],
            "error_x": _logit_bars(point.clean),
            "error_y": _logit_bars(point.shifted),
            "text": [
                f"{label}<br>clean {percent_text(point.clean)}<br>shifted {percent_text(point.shifted)}"
            ],
            "marker": {"size": 13, "symbol": "diamond", "color": COLOURS[1 + index % 6]},
            "hovertemplate": "%{text}<extra></extra>",
        }
        for index, (label, point) in enumerate(zip(point_labels(points), points, strict=True))
    ]


def placement_content(placement: Placed, runs: Sequence[ScoredRun]) -> dict[str, Any]:
    """The content of a page on runs among public models: the JSON object, table rows, and caveats by run."""
    by_path = {str(run.path): run for run in runs}
    labels = point_labels(placement.points)
    caveat_lines = [
        (label, [*point.differences, *(caveats(by_path[point.run]) if point.run in by_path else ())])
        for label, point in zip(labels, placement.points, strict=True)
    ]
    return {
        **placement.to_json(),
        "header": list(HEADER),
        "rows": [
            [
                label,
                percent_text(point.clean),
                percent_text(point.shifted),
                *_line_cells(point, placement.field.fit),
                f"{point.better_than:,} of {len(placement.field.pairs):,}",
            ]
            for label, point in zip(labels, placement.points, strict=True)
        ],
        "caveats": [{"run": label, "lines": lines} for label, lines in caveat_lines if lines],
    }


def point_labels(points: Sequence[OwnPoint]) -> list[str]:
    """A name per run: the model's name, followed by the part of the set if names repeat."""
    names = [point.name for point in points]
    has_repeats = len(set(names)) < len(names)
    return numbered([f"{point.name}, {point.part}" for point in points] if has_repeats else names)


def _line_cells(point: OwnPoint, fit: Fit | None) -> tuple[str, str]:
    """The accuracy on the line and the distance above it, or the reason why there is none."""
    if point.line is None or point.above is None:
        return ("no line" if fit is None else "none: clean accuracy is 0 or 100 %"), ""
    above = point.above
    return (
        f"{100 * point.line:.1f} %",
        f"{100 * above.value:+.1f} [{100 * above.low:+.1f}, {100 * above.high:+.1f}]",
    )


def placement_markdown(placements: Sequence[dict[str, Any]]) -> list[str]:
    """Runs among public models as lines of Markdown."""
    lines = []
    for placement in placements:
        fit = f", r = {placement['fit']['correlation']:.3f} on logit axes" if placement["fit"] else ""
        lines += [
            f"## {placement['title']}: comparison with {placement['models']:,} public results{fit}",
            "",
            *markdown_table(placement["header"], placement["rows"]),
            "",
            *(f"- {note}" for note in placement["notes"]),
            *(f"- {caveat['run']}: {'; '.join(caveat['lines'])}." for caveat in placement["caveats"]),
            "",
        ]
    return lines


def _axis_range(values: Sequence[float]) -> tuple[float, float]:
    return min(values) - MARGIN, max(values) + MARGIN


def _logit_bars(share: Share) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [place(share.high) - place(share.value)],
        "arrayminus": [place(share.value) - place(share.low)],
        "thickness": 1.5,
        "width": 4,
    }


def _public_text(clean: PublicResult, shifted: PublicResult) -> str:
    size = f"{clean.parameters / 1e6:,.1f} million parameters<br>" if clean.parameters else ""
    pixels = f", {clean.img_size} px" if clean.img_size else ""
    return (
        f"{clean.model}{pixels}<br>{size}clean {100 * clean.top1:.1f} %, shifted {100 * shifted.top1:.1f} %"
    )
