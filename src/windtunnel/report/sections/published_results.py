"""Comparison of a run's scores with published results, and limits of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windtunnel.core.metrics import needing
from windtunnel.core.scores import Score
from windtunnel.metrics.headlines import PAPERS_SCORE
from windtunnel.metrics.published_figures import BENCHMARKS
from windtunnel.metrics.published_results import METRICS, Neighbour, measured_on, place_among
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import CELL_PX, COLOURS
from windtunnel.report.score_format import decimals
from windtunnel.report.score_format import unit as unit_of
from windtunnel.report.sections import Content, Document, ReportInput, Section

# Names of scores in published tables, by metric and condition.
NATURAL_NAMES = {("aupr", PAPERS_SCORE): "msp_aupr", ("pm_k", "pm-0"): "pm_0", ("pm_k", "pm-10"): "pm_10"}
# Number of published models shown on each side of the run; the others are in a closed table.
NEAREST = 4


class PublishedResults(Section):
    """The run's scores among published results."""

    name = "published-results"
    title = "Comparison with published results"
    help = "The run's scores among published results, and which of those are comparable."
    order = 1100
    json_order = 70

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"published": published_fields(inputs.run, inputs.scores)}

    def applies(self, document: Document) -> bool:
        return bool(document["published"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        fields = document["published"]
        return Content(figures={f"published_{field['metric']}": published_strip(field) for field in fields})

    def markdown(self, document: Document) -> list[str]:
        fields = document["published"]
        sources = {source["name"]: source for field in fields for source in field["sources"]}
        return [
            f"## {self.title}",
            "",
            *(f"- {field['place']}" for field in fields),
            *(
                f"- {name}, measured on {source['measured']}: {_comparability_text(source)}"
                for name, source in sources.items()
            ),
        ]


def _comparability_text(source: dict[str, str]) -> str:
    return source["why_not_comparable"] or "comparable with this run."


def published_fields(run: ScoredRun, scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Every score with published results: its rank, all models, and the comparability of each source.

    Scores that are normalised by a baseline run are left out.
    """
    measured = measured_on(run)
    clean = next(
        (score.value for score in scores if (score.metric, score.condition) == ("top1_error", "clean")), None
    )
    if measured.benchmark not in BENCHMARKS:
        return []
    fields = []
    normalised = needing("normaliser") if run.baseline else []
    scores = _under_published_names(run, scores)
    # mCE and mFR come first: papers compare models by them.
    for score in sorted(scores, key=lambda score: score.metric not in ("mce", "mfr")):
        if score.condition or score.metric not in METRICS or score.metric in normalised:
            continue
        place = place_among(score.value, score.metric, measured)
        if place.of == 1:
            continue
        own = len(place.better)
        fields.append(
            {
                "metric": score.metric,
                "title": METRICS[score.metric].title,
                "value": score.value,
                "clean_error": clean,
                "low": score.low,
                "high": score.high,
                "place": place.describe(),
                # None stands for the run.
                "models": [*map(_row, place.better), None, *map(_row, place.others)],
                "first_shown": max(0, own - NEAREST),
                "last_shown": own + NEAREST,
                "sources": _sources([*place.better, *place.others]),
            }
        )
    return fields


def _under_published_names(run: ScoredRun, scores: Sequence[Score]) -> list[Score]:
    """The scores over all conditions and those of natural sets, with their names in published tables."""
    shifted = {part.name for part in run.parts if part.role == "shifted"}
    renamed = []
    for score in scores:
        if not score.condition:
            renamed.append(score)
        elif name := NATURAL_NAMES.get((score.metric, score.condition)):
            renamed.append(replace(score, metric=name, condition=""))
        elif score.metric == "top1_error" and score.condition in shifted:
            value, low, high = 1 - score.value, 1 - score.high, 1 - score.low
            renamed.append(replace(score, metric="accuracy", condition="", value=value, low=low, high=high))
    return renamed


def _row(neighbour: Neighbour) -> dict[str, Any]:
    model = neighbour.model
    return {
        "name": model.name,
        "value": neighbour.value,
        "source": model.source.name,
        "clean_error": model.values.get("clean_error"),
        "note": model.note,
    }


def _sources(neighbours: Sequence[Neighbour]) -> list[dict[str, str]]:
    """The distinct sources: where the figures are from, their setup, and why they are not comparable."""
    by_name = {neighbour.model.source.name: neighbour for neighbour in neighbours}
    return [
        {
            "name": name,
            "where": neighbour.model.source.where,
            "measured": neighbour.model.source.measured.describe(),
            "why_not_comparable": neighbour.why_not_comparable,
        }
        for name, neighbour in by_name.items()
    ]


def published_strip(field: dict[str, Any]) -> dict[str, Any]:
    """Plotly strip plot of a score: a row of points per source, and the run with its interval."""
    published = [model for model in field["models"] if model]
    hover = f"{field['title']} %{{x:.{decimals(field['metric'])}f}} {unit_of(field['metric'])}"
    traces: list[dict[str, Any]] = []
    for position, source in enumerate(source["name"] for source in field["sources"]):
        models = [model for model in published if model["source"] == source]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": source,
                "x": [100 * model["value"] for model in models],
                "y": [source] * len(models),
                "text": [model["name"] for model in models],
                "marker": {"size": 9, "opacity": 0.7, "color": COLOURS[position + 1]},
                "hovertemplate": f"%{{text}}<br>{hover}<extra>{source}</extra>",
            }
        )
    value, low, high = (100 * field[key] for key in ("value", "low", "high"))
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "this run",
            "x": [value],
            "y": ["this run"],
            "error_x": {"type": "data", "symmetric": False, "array": [high - value],
                        "arrayminus": [value - low]},
            "marker": {"size": 13, "symbol": "diamond", "color": COLOURS[0]},
            "hovertemplate": f"this run<br>{hover}<extra></extra>",
        }
    )  # fmt: skip
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": f"{field['title']}, {unit_of(field['metric'])}"}},
            "yaxis": {"type": "category", "automargin": True},
            "height": 110 + CELL_PX * len(traces),
            "showlegend": False,
        },
    }


published_results = PublishedResults()
