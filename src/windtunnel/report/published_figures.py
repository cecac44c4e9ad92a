"""The published figures around a run's scores, and what keeps them from being like with like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windtunnel.core.metric_names import NORMALISED, NORMALISED_SEQUENCES
from windtunnel.core.scores import Score
from windtunnel.metrics.headlines import PAPERS_SCORE
from windtunnel.metrics.published_results import BENCHMARKS, METRICS, Neighbour, measured_on, place_among
from windtunnel.metrics.scored_run import ScoredRun

# By metric and condition of a score, what published tables call it.
NATURAL_NAMES = {("aupr", PAPERS_SCORE): "msp_aupr", ("pm_k", "pm-0"): "pm_0", ("pm_k", "pm-10"): "pm_10"}
# Published models shown on either side of one's own; the page holds the rest folded.
NEAREST = 4


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
    divided = (*NORMALISED, *NORMALISED_SEQUENCES) if run.baseline else ()
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
            "unlike": one.unlike,
        }
        for name, one in found.items()
    ]
