"""The page of several runs: compared with the first, or, of several tests, only beside each other."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.comparison import SIGNIFICANT, Comparison
from windtunnel.analysis.multi_run import Several
from windtunnel.core.metrics import headline_titles
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    comparison_document,
    headline_formulas,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.report.figures import difference_map, flip_changes
from windtunnel.report.multi_suite import (
    beside_content,
    beside_figures,
    marked,
    run_lines,
    several_title,
    unmeasured,
)
from windtunnel.report.page import render_page
from windtunnel.report.score_format import scale, unit

FLIPPED_SHOWN = 15
# Changed conditions that are not folded.
CHANGED_SHOWN = 12


def render_several(found: Several) -> str:
    """The page of several runs."""
    if found.comparison:
        return _render_compared(found.comparison, found)
    return render_page(
        "shifts.html.j2",
        beside_figures(found),
        title=several_title(found),
        not_compared=found.not_compared,
        warnings=[*marked(found.shifts), *unmeasured(found.shifts)],
        beside=beside_content(found),
        runs=run_lines(found),
    )


def _render_compared(found: Comparison, around: Several) -> str:
    names = run_names(found)
    maps = {f"change_{other}": _change_figure(found, other) for other in range(1, len(names))}
    axes = plane(found)
    # Of corruptions the table side by side says it all.
    natural = any(one.natural and one.drop for one in around.shifts)
    return render_page(
        "comparison.html.j2",
        {name: figure for name, figure in maps.items() if figure["data"][0]["y"]}
        | {"plane": axes}
        | {name: figure for name, figure in beside_figures(around).items() if natural or name != "shifts"},
        beside=beside_content(around),
        beside_shown=natural,
        names=names,
        first_score=min(axes["described"], len(axes["scores"]) - 1),
        document=comparison_document(found),
        lines=[line for line in summary_lines(found) if line[0] != "warning"],
        headline=headline_rows(found),
        formulas=headline_formulas(found),
        columns=[changed_columns(found, other) for other in range(1, len(names))],
        changed=[changed_rows(found, other) for other in range(1, len(names))],
        maps=[figure["data"][0]["y"] for figure in maps.values()],
        scores=_score_rows(found),
        significant=SIGNIFICANT,
        holds_sequences=any(metric == "flip_probability" for metric, _ in found.scores),
        shown=CHANGED_SHOWN,
        flips=[one.images[:FLIPPED_SHOWN] for one in found.flips],
    )


def plane(found: Comparison) -> dict[str, Any]:
    """Every score of every run, to draw any against any other; first what describes the models."""
    clean = next((found.scores[key] for key in CLEAN if key in found.scores), None)
    axes: list[dict[str, Any]] = []
    if clean:
        axes.append({"title": "clean accuracy, %", "values": [100 * (1 - one.value) for one in clean]})
    if any(column.parameters for column in found.columns):
        sizes = [column.parameters or None for column in found.columns]
        axes.append({"title": "parameters", "values": sizes, "log": True})
    described, titles = len(axes), headline_titles()
    for (metric, condition), scores in sorted(found.scores.items(), key=lambda one: one[0][1] != ""):
        title = " ".join(filter(None, (titles.get(metric, metric), condition)))
        measured = f", {unit(metric)}" if unit(metric) else ""
        axes.append({"title": f"{title}{measured}", "values": [scale(metric) * one.value for one in scores]})
    return {"models": run_names(found), "scores": axes, "described": described}


CLEAN = (("top1_error", "clean"), ("top1_error", "native"))


def _change_figure(found: Comparison, other: int) -> dict[str, Any]:
    """What changed: flips by sequence, or errors by corruption and severity."""
    flips = _differences(found, other, "flip_probability")
    return flip_changes(flips) if flips else difference_map(_differences(found, other, "top1_error"))


def _differences(found: Comparison, other: int, metric: str) -> dict[str, tuple[float, float, float, bool]]:
    """By condition: change of a score, its interval, and whether it is sure."""
    return {
        one.condition: (
            one.difference.value,
            one.difference.low,
            one.difference.high,
            one.holm_p <= SIGNIFICANT,
        )
        for one in found.changes
        if one.other == other and one.metric == metric
    }


def _score_rows(found: Comparison) -> list[dict[str, Any]]:
    """Every shared score, a row each."""
    return [
        {"metric": metric, "condition": condition, "values": [score.to_json() for score in scores]}
        for (metric, condition), scores in found.scores.items()
    ]
