"""Runs of several tests beside each other, and among public models: rows, figures, JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.multi_run import Several
from windtunnel.analysis.public_models import Fit, PublicResult, logit
from windtunnel.analysis.public_placement import OwnPoint, Placed
from windtunnel.analysis.shifts import Share, Shift, TagDrop
from windtunnel.metrics.headlines import PM_0
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.comparison import comparison_document
from windtunnel.report.figures import BAR_PX, COLOURS
from windtunnel.report.markdown_table import markdown_table

# Logits grow without end: what lies beyond is drawn here.
EDGE = 0.001
TICKS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9)
# Space between the outermost point and the axis, in logits.
MARGIN = 0.2
# What a table is read for stands first: a narrow page shows the rest when it is scrolled.
SHIFT_HEADER = ("model", "test", "drop, points", "clean accuracy", "shifted accuracy", "n")
TAG_HEADER = ("tag", "test", "runs", "median drop, points", "best drop, points", "whose")
PLACE_HEADER = ("run", "clean accuracy", "shifted accuracy", "the line gives", "above it, points")
CSV_COLUMNS = ("model", "tags", "suite", "data", "natural", "over", "quantity", "value", "low", "high", "n",
               "run", "marks")  # fmt: skip


def beside_content(found: Several) -> dict[str, Any]:
    """What a page of several runs says beside any comparison."""
    shown = [one for one in found.shifts if one.shifted]
    return {
        "header": SHIFT_HEADER,
        "rows": shift_rows(found.shifts),
        "natural": any(one.natural and not one.frames for one in shown),
        "frames": any(one.frames for one in shown),
        "synthetic": any(not one.natural for one in shown),
        "tag_header": TAG_HEADER,
        "tags": tag_rows(found.tags),
        "marked": sum(bool(one.marks) for one in found.shifts),
        "placed": [placed_content(one, found.runs) for one in found.placed],
    }


def beside_figures(found: Several) -> dict[str, Any]:
    """The figures of the same, by the id of their place on the page."""
    return {
        "shifts": shift_bars(found.shifts, bar_names(found.shifts)),
        **placed_figures(found.placed),
    }


def placed_figures(placed: Sequence[Placed]) -> dict[str, Any]:
    """Runs among public models, a figure per natural set."""
    return {f"public_{place}": public_scatter(one) for place, one in enumerate(placed, start=1)}


def unmeasured(shifts: Sequence[Shift]) -> list[str]:
    """Which runs have no drop to show, or one of fewer images than the accuracies beside it, and why."""
    lacking = [
        f"{one.model}, {one.test}: "
        + ("no clean images, so no drop." if one.shifted else "no accuracy on shifted images.")
        for one in shifts
        if one.drop is None
    ]
    return lacking + [
        f"{one.model}, {one.test}: the drop is of {one.of_fewer}, of classes with clean and shifted ones."
        for one in shifts
        if one.of_fewer
    ]


def marked(shifts: Sequence[Shift]) -> list[str]:
    """Which runs have numbers unlike others', and why."""
    return [f"{one.model}, {one.test}: {mark}." for one in shifts for mark in one.marks]


def several_title(found: Several) -> str:
    """What a page of runs that are not compared is called."""
    models = list(dict.fromkeys(one.model for one in found.shifts))
    tests = list(dict.fromkeys(one.suite.partition("@")[0] for one in found.shifts))
    return f"{', '.join(models)}: {', '.join(tests)}"


def run_lines(found: Several) -> list[tuple[str, str]]:
    """Which runs these are, a labelled line each."""
    return [
        (f"run {place}", f"{one.model}   {one.test}   {one.over}   {one.run}")
        for place, one in enumerate(found.shifts, start=1)
    ]


def shift_rows(shifts: Sequence[Shift]) -> list[list[str]]:
    """A row per run: model, test, drop and accuracies with their intervals, images."""
    return [
        [
            _model(one),
            _test(one),
            _points(one.drop),
            f"{PM_0} {_per_cent(one.clean)}" if one.frames else _per_cent(one.clean),
            f"{one.frames} {_per_cent(one.shifted)}".lstrip(),
            _counts(one),
        ]
        for one in shifts
    ]


def tag_rows(tags: Sequence[TagDrop]) -> list[list[str]]:
    """A row per tag and test: runs, median and best drop, and whose that is."""
    return [
        [
            one.tag,
            one.test,
            str(one.runs),
            f"{100 * one.median:.1f}",
            f"{100 * one.best:.1f}",
            one.best_model,
        ]
        for one in tags
    ]


def shift_bars(shifts: Sequence[Shift], names: Sequence[str]) -> dict[str, Any]:
    """Clean and shifted accuracy of every run, a pair of bars each, with their intervals."""
    order = list(reversed(range(len(shifts))))
    traces = []
    for title, colour, shares in (
        ("shifted", COLOURS[1], [one.shifted for one in shifts]),
        ("clean", COLOURS[0], [one.clean for one in shifts]),
    ):
        known = [(names[place], share) for place in order if (share := shares[place]) is not None]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": title,
                "y": [name for name, _ in known],
                "x": [100 * one.value for _, one in known],
                "error_x": _bars([one for _, one in known]),
                "marker": {"color": colour},
                "customdata": [f"{_per_cent(one)}, n = {one.n:,}" for _, one in known],
                "hovertemplate": f"%{{y}}<br>{title} %{{customdata}}<extra></extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": "accuracy, %"}, "range": [0, 100]},
            "yaxis": {"type": "category", "automargin": True, "categoryorder": "array",
                      "categoryarray": [names[place] for place in order]},
            "height": 130 + 2 * BAR_PX * len(shifts),
            "showlegend": True,
        },
    }  # fmt: skip


def bar_names(shifts: Sequence[Shift]) -> list[str]:
    """A short name per run: what tells it from the others, numbered where nothing does."""
    told: list[tuple[str, ...]] = [(_model(one), one.suite.partition("@")[0]) for one in shifts]
    if len(set(told)) < len(shifts):
        # Mostly a suite says on which data it was run.
        told = [(*pair, one.data) for pair, one in zip(told, shifts, strict=True)]
    alike = {part for part in told[0] if all(part in row for row in told)}
    names = ["<br>".join(part for part in row if part not in alike) or row[0] for row in told]
    return _numbered(names)


def _numbered(names: Sequence[str]) -> list[str]:
    """The same names, each of those that are alike with its number."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def public_scatter(placed: Placed) -> dict[str, Any]:
    """Public models by clean and shifted accuracy on logit axes, the line, and the runs among them."""
    pairs, points, fit = placed.field.pairs, placed.points, placed.field.fit
    across = [_at(one.top1) for one, _ in pairs]
    up = [_at(one.top1) for _, one in pairs]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{len(pairs):,} public results",
            "x": across,
            "y": up,
            "text": [_public_text(clean, shifted) for clean, shifted in pairs],
            "marker": {"size": 5, "opacity": 0.45, "color": COLOURS[7]},
            "hovertemplate": "%{text}<extra></extra>",
        }
    ]
    x_range, y_range = (
        (min(values) - MARGIN, max(values) + MARGIN)
        for values in (
            [*across, *(_at(one.clean.value) for one in points)],
            [*up, *(_at(one.shifted.value) for one in points)],
        )
    )
    if fit:
        ends = [x_range[0], x_range[1]]
        traces.append(
            {"type": "scatter", "mode": "lines", "name": f"line, r = {fit.correlation:.3f}", "x": ends,
             "y": [fit.intercept + fit.slope * x for x in ends], "hoverinfo": "skip",
             "line": {"dash": "dash", "width": 1.5, "color": COLOURS[0]}}
        )  # fmt: skip
    traces += [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "x": [_at(one.clean.value)],
            "y": [_at(one.shifted.value)],
            "error_x": _logit_bars(one.clean),
            "error_y": _logit_bars(one.shifted),
            "text": [f"{label}<br>clean {_per_cent(one.clean)}<br>shifted {_per_cent(one.shifted)}"],
            "marker": {"size": 13, "symbol": "diamond", "color": COLOURS[1 + place % 6]},
            "hovertemplate": "%{text}<extra></extra>",
        }
        for place, (label, one) in enumerate(zip(point_labels(points), points, strict=True))
    ]
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "clean accuracy, %"}, "range": x_range, **_logit_ticks()},
            "yaxis": {"title": {"text": f"{placed.title} accuracy, %"}, "range": y_range, **_logit_ticks()},
            "height": 520,
            "showlegend": True,
        },
    }


def placed_content(placed: Placed, runs: Sequence[ScoredRun]) -> dict[str, Any]:
    """What a page says of runs among public models: JSON's content, rows of a table, notes of every run."""
    by_path = {str(run.path): run for run in runs}
    labels = point_labels(placed.points)
    told = [
        (label, [*one.unlike, *(caveats(by_path[one.run]) if one.run in by_path else ())])
        for label, one in zip(labels, placed.points, strict=True)
    ]
    return {
        **placed.to_json(),
        "header": list(PLACE_HEADER),
        "rows": [
            [label, _per_cent(one.clean), _per_cent(one.shifted), *_above(one, placed.field.fit)]
            for label, one in zip(labels, placed.points, strict=True)
        ],
        "unlike": [{"run": label, "lines": lines} for label, lines in told if lines],
    }


def point_labels(points: Sequence[OwnPoint]) -> list[str]:
    """A name per run: the model's, with the part it was shown where a model stands there twice."""
    names = [one.name for one in points]
    return _numbered(
        names if len(set(names)) == len(names) else [f"{one.name}, {one.part}" for one in points]
    )


def _above(one: OwnPoint, fit: Fit | None) -> tuple[str, str]:
    """What the line gives, and how far above it a run is; or why there is neither."""
    if one.line is None or one.above is None:
        return "none: " + ("no line" if fit is None else "clean is 0 or 100 %"), ""
    above = one.above
    return (
        f"{100 * one.line:.1f} %",
        f"{100 * above.value:+.1f} [{100 * above.low:+.1f}, {100 * above.high:+.1f}]",
    )


def public_markdown(placed: Sequence[dict[str, Any]]) -> list[str]:
    """Runs among public models."""
    lines = []
    for one in placed:
        fit = f", r = {one['fit']['correlation']:.3f} on logit axes" if one["fit"] else ""
        lines += [
            f"## {one['title']}: among {one['models']:,} public results{fit}",
            "",
            *markdown_table(one["header"], one["rows"]),
            "",
            *(f"- {note}" for note in one["notes"]),
            *(f"- {told['run']}: {'; '.join(told['lines'])}." for told in one["unlike"]),
            "",
        ]
    return lines


def several_document(found: Several) -> dict[str, Any]:
    """Several runs as one JSON document: what each shift costs, tags, public models, and the comparison."""
    compared = comparison_document(found.comparison) if found.comparison else {"schema": 1}
    return {
        **compared,
        "not_compared": found.not_compared,
        "shifts": [one.to_json() for one in found.shifts],
        "tags": [asdict(one) for one in found.tags],
        "public": [one.to_json() for one in found.placed],
    }


def shifts_csv(shifts: Sequence[Shift]) -> str:
    """Every run's clean accuracy, shifted accuracy and drop, a line each, fractions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for one in shifts:
        for quantity in ("clean", "shifted", "drop"):
            share: Share | None = getattr(one, quantity)
            if share:
                writer.writerow(
                    [one.model, " ".join(one.tags), one.suite, one.data, one.natural, one.over, quantity,
                     share.value, share.low, share.high, share.n, one.run, "; ".join(one.marks)]
                )  # fmt: skip
    return out.getvalue()


def _model(one: Shift) -> str:
    return f"{one.model} (marked)" if one.marks else one.model


def _test(one: Shift) -> str:
    """The suite, and the data where they are not called after it: a table has little room."""
    suite = one.suite.partition("@")[0]
    if suite in one.data or one.data in suite:
        return suite
    # The folder of ImageNet-V2 says it all: imagenetv2-matched-frequency-format-val.
    said = suite.replace("-", "") in one.data.replace("-", "").replace("_", "")
    return one.data if said else f"{suite}, {one.data}"


def _counts(one: Shift) -> str:
    """Of natural sets clean and shifted images are different ones, but frame sets have the same anchors."""
    if one.natural and not one.frames and one.clean and one.shifted:
        return f"{one.clean.n:,} + {one.shifted.n:,}"
    share = one.shifted or one.clean
    return f"{share.n:,}" if share else ""


def _per_cent(share: Share | None) -> str:
    if share is None:
        return ""
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _points(share: Share | None) -> str:
    return _per_cent(share).replace(" %", "")


def _bars(shares: Sequence[Share]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [100 * (one.high - one.value) for one in shares],
        "arrayminus": [100 * (one.value - one.low) for one in shares],
        "thickness": 1,
        "width": 3,
    }


def _at(share: float) -> float:
    """Where a share stands on a logit axis."""
    return logit(min(max(share, EDGE), 1 - EDGE))


def _logit_bars(share: Share) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [_at(share.high) - _at(share.value)],
        "arrayminus": [_at(share.value) - _at(share.low)],
        "thickness": 1.5,
        "width": 4,
    }


def _logit_ticks() -> dict[str, Any]:
    return {"tickvals": [_at(tick / 100) for tick in TICKS], "ticktext": [f"{tick:g}" for tick in TICKS]}


def _public_text(clean: PublicResult, shifted: PublicResult) -> str:
    size = f"{clean.parameters / 1e6:,.1f} million parameters<br>" if clean.parameters else ""
    return (
        f"{clean.model}, {clean.img_size} px<br>{size}clean {100 * clean.top1:.1f} %, "
        f"shifted {100 * shifted.top1:.1f} %"
    )
