"""The page and JSON document of several runs: a comparison, or accuracy drops on several benchmarks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis.comparison import Comparison
from windtunnel.analysis.multi_run import Several
from windtunnel.analysis.plausibility import implausible_runs
from windtunnel.core.metrics import headline_titles
from windtunnel.report.accuracy_drops import (
    DROP_HEADER,
    TAG_HEADER,
    accuracy_bars,
    bar_names,
    caveat_lines,
    drop_rows,
    missing_drop_notes,
    tag_rows,
)
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    comparison_document,
    family_rows,
    family_title,
    headline_formulas,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.report.figures import difference_map, flip_changes
from windtunnel.report.page import render_page
from windtunnel.report.public_placement import placement_content, placement_figures
from windtunnel.report.score_format import scale, unit
from windtunnel.stats.multiple_tests import SIGNIFICANT

# Number of images in the table of changed images.
IMAGES_SHOWN = 15
# Number of changed conditions outside the closed table.
CHANGED_SHOWN = 12
CLEAN = (("top1_error", "clean"), ("top1_error", "native"))


def render_multi_run(runs: Several) -> str:
    """The HTML page of several runs."""
    if runs.comparison:
        return _render_comparison(runs.comparison, runs)
    return render_page(
        "multi_suite.html.j2",
        drop_figures(runs),
        title=multi_suite_title(runs),
        not_compared=runs.not_compared,
        warnings=multi_suite_warnings(runs),
        drops=drop_content(runs),
        runs=run_lines(runs),
    )


def _render_comparison(comparison: Comparison, runs: Several) -> str:
    names = run_names(comparison)
    others = range(1, len(names))
    maps = {f"change_{other}": _change_figure(comparison, other) for other in others}
    plane = score_plane(comparison)
    # For corruptions, the headline table already contains the drops.
    shows_drops = any(shift.natural and shift.drop for shift in runs.shifts)
    return render_page(
        "comparison.html.j2",
        {name: figure for name, figure in maps.items() if figure["data"][0]["y"]}
        | {"score_plane": plane}
        | {name: figure for name, figure in drop_figures(runs).items() if shows_drops or name != "shifts"},
        drops=drop_content(runs),
        shows_drops=shows_drops,
        names=names,
        first_score=min(plane["described"], len(plane["scores"]) - 1),
        document=comparison_document(comparison),
        lines=[line for line in summary_lines(comparison) if line[0] != "warning"],
        headline=headline_rows(comparison),
        families=family_rows(comparison),
        family_title=family_title(comparison),
        formulas=headline_formulas(comparison),
        columns=[changed_columns(comparison, other) for other in others],
        changed=[changed_rows(comparison, other) for other in others],
        maps=[figure["data"][0]["y"] for figure in maps.values()],
        scores=_score_rows(comparison),
        significant=SIGNIFICANT,
        holds_sequences=any(metric == "flip_probability" for metric, _ in comparison.scores),
        shown=CHANGED_SHOWN,
        flips=[flips.images[:IMAGES_SHOWN] for flips in comparison.flips],
    )


def drop_content(runs: Several) -> dict[str, Any]:
    """Tables of accuracy drops, drops by tag, and comparisons with public models."""
    shown = [shift for shift in runs.shifts if shift.shifted]
    return {
        "header": DROP_HEADER,
        "rows": drop_rows(runs.shifts),
        "natural": any(shift.natural and not shift.frames for shift in shown),
        "frames": any(shift.frames for shift in shown),
        "synthetic": any(not shift.natural for shift in shown),
        "tag_header": TAG_HEADER,
        "tags": tag_rows(runs.tags),
        "runs_with_caveats": sum(bool(shift.caveats) for shift in runs.shifts),
        "placed": [placement_content(placement, runs.runs) for placement in runs.placed],
    }


def drop_figures(runs: Several) -> dict[str, Any]:
    """Figures of accuracy drops and of comparisons with public models, by their ids on the page."""
    return {
        "shifts": accuracy_bars(runs.shifts, bar_names(runs.shifts)),
        **placement_figures(runs.placed),
    }


def multi_suite_title(runs: Several) -> str:
    """The title of a page of runs of several benchmarks."""
    models = list(dict.fromkeys(shift.model for shift in runs.shifts))
    suites = list(dict.fromkeys(shift.suite.partition("@")[0] for shift in runs.shifts))
    return f"{', '.join(models)}: {', '.join(suites)}"


def multi_suite_warnings(runs: Several) -> list[str]:
    """What to read before the numbers of several benchmarks: implausible numbers, caveats, missing drops."""
    return [*implausible_runs(runs.runs), *caveat_lines(runs.shifts), *missing_drop_notes(runs.shifts)]


def run_lines(runs: Several) -> list[tuple[str, str]]:
    """A labelled line per run: model, benchmark, conditions and folder."""
    return [
        (f"run {number}", f"{shift.model}   {shift.test}   {shift.over}   {shift.run}")
        for number, shift in enumerate(runs.shifts, start=1)
    ]


def multi_run_document(runs: Several) -> dict[str, Any]:
    """Several runs as one JSON document: comparison, accuracy drops, tags and public models."""
    if runs.comparison:
        content = comparison_document(runs.comparison)
    else:
        content = {"schema": 1, "warnings": multi_suite_warnings(runs)}
    return {
        **content,
        "not_compared": runs.not_compared,
        "shifts": [shift.to_json() for shift in runs.shifts],
        "tags": [asdict(drop) for drop in runs.tags],
        "public": [placement.to_json() for placement in runs.placed],
    }


def score_plane(comparison: Comparison) -> dict[str, Any]:
    """Values of every run for the scatter plot of two scores; clean accuracy and parameters come first."""
    clean = next((comparison.scores[key] for key in CLEAN if key in comparison.scores), None)
    axes: list[dict[str, Any]] = []
    if clean:
        axes.append({"title": "clean accuracy, %", "values": [100 * (1 - score.value) for score in clean]})
    if any(column.parameters for column in comparison.columns):
        sizes = [column.parameters or None for column in comparison.columns]
        axes.append({"title": "parameters", "values": sizes, "log": True})
    described, titles = len(axes), headline_titles()
    for (metric, condition), scores in sorted(comparison.scores.items(), key=lambda item: item[0][1] != ""):
        title = " ".join(filter(None, (titles.get(metric, metric), condition)))
        unit_text = f", {unit(metric)}" if unit(metric) else ""
        values = [scale(metric) * score.value for score in scores]
        axes.append({"title": f"{title}{unit_text}", "values": values})
    return {"models": run_names(comparison), "scores": axes, "described": described}


def _change_figure(comparison: Comparison, other: int) -> dict[str, Any]:
    """Changes of flip probability by sequence, or of error or AP by corruption and severity."""
    flips = _differences(comparison, other, "flip_probability")
    if flips:
        return flip_changes(flips)
    precision = _differences(comparison, other, "ap")
    if precision:
        return difference_map(precision, higher_is_better=True)
    return difference_map(_differences(comparison, other, "top1_error"))


def _differences(
    comparison: Comparison, other: int, metric: str
) -> dict[str, tuple[float, float, float, bool]]:
    """By condition: change of a score, the ends of its interval, and whether it is significant."""
    return {
        change.condition: (
            change.difference.value,
            change.difference.low,
            change.difference.high,
            change.holm_p <= SIGNIFICANT,
        )
        for change in comparison.changes
        if change.other == other and change.metric == metric
    }


def _score_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A row per score that all runs have."""
    return [
        {"metric": metric, "condition": condition, "values": [score.to_json() for score in scores]}
        for (metric, condition), scores in comparison.scores.items()
    ]
