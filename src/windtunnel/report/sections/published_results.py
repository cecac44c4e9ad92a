"""The published figures around a run's scores, and what keeps them from being like with like."""

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

# By metric and condition of a score, what published tables call it.
NATURAL_NAMES = {("aupr", PAPERS_SCORE): "msp_aupr", ("pm_k", "pm-0"): "pm_0", ("pm_k", "pm-10"): "pm_10"}
# Published models shown on either side of one's own; the page holds the rest folded.
NEAREST = 4


class PublishedResults(Section):
    """The run's scores among published ones."""

    name = "published-results"
    title = "Among published models"
    help = "The run's scores among published ones, and how far those are comparable."
    order = 1100
    json_order = 70

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"published": published_field(given.run, given.scores)}

    def applies(self, document: Document) -> bool:
        return bool(document["published"])

    def content(self, document: Document, given: ReportInput) -> Content:
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
                f"- {name}, measured on {source['measured']}: {source['unlike'] or 'like with like.'}"
                for name, source in sources.items()
            ),
        ]


def published_field(run: ScoredRun, scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Each score that has published company: its place, its neighbours, and per source why it is unlike.

    Scores divided by a stored run have none.
    """
    measured = measured_on(run)
    clean = next(
        (one.value for one in scores if (one.metric, one.condition) == ("top1_error", "clean")), None
    )
    if measured.benchmark not in BENCHMARKS:
        return []
    found = []
    divided = needing("normaliser") if run.baseline else []
    scores = _under_published_names(run, scores)
    # mCE and mFR first: they are what the field compares.
    for score in sorted(scores, key=lambda one: one.metric not in ("mce", "mfr")):
        if score.condition or score.metric not in METRICS or score.metric in divided:
            continue
        place = place_among(score.value, score.metric, measured)
        if place.of == 1:
            continue
        everyone = [*map(_row, place.better), None, *map(_row, place.others)]
        own = len(place.better)
        found.append(
            {
                "metric": score.metric,
                "title": METRICS[score.metric].title,
                "value": score.value,
                "clean_error": clean,
                "low": score.low,
                "high": score.high,
                "place": place.describe(),
                # None is the run itself.
                "models": everyone,
                "first_shown": max(0, own - NEAREST),
                "last_shown": own + NEAREST,
                "sources": _sources([*place.better, *place.others]),
            }
        )
    return found


def _under_published_names(run: ScoredRun, scores: Sequence[Score]) -> list[Score]:
    """The scores over everything, and those of a natural set that papers publish, as papers name them."""
    shifted = {part.name for part in run.parts if part.role == "shifted"}
    found = []
    for score in scores:
        if not score.condition:
            found.append(score)
        elif name := NATURAL_NAMES.get((score.metric, score.condition)):
            found.append(replace(score, metric=name, condition=""))
        elif score.metric == "top1_error" and score.condition in shifted:
            value, low, high = 1 - score.value, 1 - score.high, 1 - score.low
            found.append(replace(score, metric="accuracy", condition="", value=value, low=low, high=high))
    return found


def _row(one: Neighbour) -> dict[str, Any]:
    return {
        "name": one.model.name,
        "value": one.value,
        "source": one.model.source.name,
        "clean_error": one.model.values.get("clean_error"),
        "note": one.model.note,
    }


def _sources(neighbours: Sequence[Neighbour]) -> list[dict[str, str]]:
    """Where the figures stand, what they were measured on, and why they are unlike; a source once."""
    found = {one.model.source.name: one for one in neighbours}
    return [
        {
            "name": name,
            "where": one.model.source.where,
            "measured": one.model.source.measured.describe(),
            "unlike": one.why_not_comparable,
        }
        for name, one in found.items()
    ]


def published_strip(field: dict[str, Any]) -> dict[str, Any]:
    """A score among the published ones: a row of dots per source, one's own with its interval."""
    others = [one for one in field["models"] if one]
    shown = f"{field['title']} %{{x:.{decimals(field['metric'])}f}} {unit_of(field['metric'])}"
    traces: list[dict[str, Any]] = []
    for place, source in enumerate(source["name"] for source in field["sources"]):
        rows = [one for one in others if one["source"] == source]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": source,
                "x": [100 * one["value"] for one in rows],
                "y": [source] * len(rows),
                "text": [one["name"] for one in rows],
                "marker": {"size": 9, "opacity": 0.7, "color": COLOURS[place + 1]},
                "hovertemplate": f"%{{text}}<br>{shown}<extra>{source}</extra>",
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
            "hovertemplate": f"this run<br>{shown}<extra></extra>",
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
