"""Accuracy drops of several runs: table rows, a bar chart, notes and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from windtunnel.analysis.shifts import Share, Shift, TagDrop
from windtunnel.metrics.headlines import PM_0
from windtunnel.report.figures import BAR_PX, COLOURS

# The drop comes first: on a narrow page the last columns are visible only after scrolling.
DROP_HEADER = ("model", "benchmark", "drop, points", "clean accuracy", "shifted accuracy", "n")
TAG_HEADER = ("tag", "benchmark", "runs", "median drop, points", "smallest drop, points", "model")
CSV_COLUMNS = ("model", "tags", "suite", "data", "natural", "over", "quantity", "value", "low", "high", "n",
               "run", "caveats")  # fmt: skip


def missing_drop_notes(shifts: Sequence[Shift]) -> list[str]:
    """Notes on runs without a drop, or with a drop over fewer images than their accuracies."""
    missing = [
        f"{shift.model}, {shift.test}: "
        + (
            "no drop, because there are no clean images."
            if shift.shifted
            else "no accuracy on shifted images."
        )
        for shift in shifts
        if shift.drop is None
    ]
    return missing + [
        f"{shift.model}, {shift.test}: the drop is over {shift.of_fewer}, those of classes with both clean "
        "and shifted images."
        for shift in shifts
        if shift.of_fewer
    ]


def caveat_lines(shifts: Sequence[Shift]) -> list[str]:
    """The caveats of all runs, a sentence each."""
    return [f"{shift.model}, {shift.test}: {caveat}." for shift in shifts for caveat in shift.caveats]


def drop_rows(shifts: Sequence[Shift]) -> list[list[str]]:
    """A table row per run, with the columns of DROP_HEADER."""
    return [
        [
            _model_text(shift),
            _benchmark_text(shift),
            _points_text(shift.drop),
            f"{PM_0} {percent_text(shift.clean)}" if shift.frames else percent_text(shift.clean),
            f"{shift.frames} {percent_text(shift.shifted)}".lstrip(),
            _image_count_text(shift),
        ]
        for shift in shifts
    ]


def tag_rows(tags: Sequence[TagDrop]) -> list[list[str]]:
    """A table row per tag and benchmark, with the columns of TAG_HEADER."""
    return [
        [
            drop.tag,
            drop.test,
            str(drop.runs),
            f"{100 * drop.median:.1f}",
            f"{100 * drop.best:.1f}",
            drop.best_model,
        ]
        for drop in tags
    ]


def accuracy_bars(shifts: Sequence[Shift], names: Sequence[str]) -> dict[str, Any]:
    """Plotly bars of clean and shifted accuracy, a pair per run, with intervals."""
    order = list(reversed(range(len(shifts))))
    traces = []
    for title, colour, shares in (
        ("shifted", COLOURS[1], [shift.shifted for shift in shifts]),
        ("clean", COLOURS[0], [shift.clean for shift in shifts]),
    ):
        known = [(names[index], share) for index in order if (share := shares[index]) is not None]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": title,
                "y": [name for name, _ in known],
                "x": [100 * share.value for _, share in known],
                "error_x": _error_bars([share for _, share in known]),
                "marker": {"color": colour},
                "customdata": [f"{percent_text(share)}, n = {share.n:,}" for _, share in known],
                "hovertemplate": f"%{{y}}<br>{title} %{{customdata}}<extra></extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": "accuracy, %"}, "range": [0, 100]},
            "yaxis": {"type": "category", "automargin": True, "categoryorder": "array",
                      "categoryarray": [names[index] for index in order]},
            # Plotly draws the last trace at the top of a group.
            "legend": {"traceorder": "reversed"},
            "height": 130 + 2 * BAR_PX * len(shifts),
            "showlegend": True,
        },
    }  # fmt: skip


def bar_names(shifts: Sequence[Shift]) -> list[str]:
    """A short name per run: model, suite and data without the parts that all runs share."""
    parts: list[tuple[str, ...]] = [(_model_text(shift), shift.suite.partition("@")[0]) for shift in shifts]
    if len(set(parts)) < len(shifts):
        # The data is added only if model and suite do not distinguish the runs.
        parts = [(*pair, shift.data) for pair, shift in zip(parts, shifts, strict=True)]
    shared = {part for part in parts[0] if all(part in row for row in parts)}
    return numbered(["<br>".join(part for part in row if part not in shared) or row[0] for row in parts])


def numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number appended to those that occur more than once."""
    return [
        f"{name} ({names[: index + 1].count(name)})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]


def drops_csv(shifts: Sequence[Shift]) -> str:
    """Clean accuracy, shifted accuracy and drop of every run as CSV, a line each; values are fractions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for shift in shifts:
        for quantity in ("clean", "shifted", "drop"):
            share: Share | None = getattr(shift, quantity)
            if share:
                writer.writerow(
                    [shift.model, " ".join(shift.tags), shift.suite, shift.data, shift.natural, shift.over,
                     quantity, share.value, share.low, share.high, share.n, shift.run,
                     "; ".join(shift.caveats)]
                )  # fmt: skip
    return out.getvalue()


def percent_text(share: Share | None) -> str:
    """A share with its interval: `61.0 % [57.9, 64.1]`; "" for None."""
    if share is None:
        return ""
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _points_text(share: Share | None) -> str:
    return percent_text(share).replace(" %", "")


def _model_text(shift: Shift) -> str:
    return f"{shift.model} (caveat)" if shift.caveats else shift.model


def _benchmark_text(shift: Shift) -> str:
    """The suite, followed by the dataset unless one name contains the other."""
    suite = shift.suite.partition("@")[0]
    if suite in shift.data or shift.data in suite:
        return suite
    # The folder imagenetv2-matched-frequency-format-val contains the suite's name without hyphens.
    contains_suite = suite.replace("-", "") in shift.data.replace("-", "").replace("_", "")
    return shift.data if contains_suite else f"{suite}, {shift.data}"


def _image_count_text(shift: Shift) -> str:
    """The number of images; clean + shifted for natural sets, whose clean and shifted images differ."""
    if shift.natural and not shift.frames and shift.clean and shift.shifted:
        return f"{shift.clean.n:,} + {shift.shifted.n:,}"
    share = shift.shifted or shift.clean
    return f"{share.n:,}" if share else ""


def _error_bars(shares: Sequence[Share]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [100 * (share.high - share.value) for share in shares],
        "arrayminus": [100 * (share.value - share.low) for share in shares],
        "thickness": 1,
        "width": 3,
    }
