"""Out-of-distribution scores on the page: how each tells out from in, and how the paper's score falls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from windtunnel.core.metric_names import DETECTION_TITLES, OF_DETECTION
from windtunnel.metrics.headlines import PAPERS_SCORE
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS

BINS = 25


def detection_section(run: ScoredRun) -> dict[str, Any]:
    """How many images are out and in, and how the paper's score falls over both; {} for other runs."""
    found = run.detectors if set(OF_DETECTION) & set(run.metrics) else None
    if found is None:
        return {}
    # The score is the largest probability negated: shown as that probability.
    confidence = -found.values[PAPERS_SCORE]
    edges = np.linspace(0, 1, BINS + 1)
    shares = {
        name: (np.histogram(confidence[some], edges)[0] / some.sum()).tolist()
        for name, some in (("out", found.out), ("in", ~found.out))
    }
    out_counts = {name: int(found.out[found.taken_by(name)].sum()) for name in found.values}
    return {
        "n_out": int(found.out.sum()),
        "n_in": int((~found.out).sum()),
        "n_out_by_score": out_counts,
        "edges": edges.tolist(),
        **shares,
    }


def detection_rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per out-of-distribution score: its name, images, chance, and by metric how it tells them.

    KL-matching is judged on fewer images, and so has a chance of its own:
    chance = out images / (out + in images), the AUPR of a score that says nothing.
    """
    rows: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in DETECTION_TITLES:
            rows.setdefault(score["condition"], {})[score["metric"]] = score
    whole = {name: found for name, found in rows.items() if set(found) == set(DETECTION_TITLES)}
    out = document["detection"].get("n_out_by_score", {})
    return [
        {
            "score": name,
            "n_in": found["aupr"]["n"] - out[name],
            "chance": out[name] / found["aupr"]["n"],
            **found,
        }
        for name, found in whole.items()
    ]


def confidence_histogram(section: Mapping[str, Any]) -> dict[str, Any]:
    """How sure the model is of out and of in images, as shares of each."""
    edges = section["edges"]
    middles = [50 * (low + high) for low, high in pairwise(edges)]
    return {
        "data": [
            {
                "type": "bar",
                "name": f"{name}, {section[f'n_{name}']:,} images",
                "x": middles,
                "y": [100 * share for share in section[name]],
                "marker": {"color": colour, "opacity": 0.6},
                "hovertemplate": f"about %{{x:.0f}} % sure: %{{y:.1f}} % of {name} images<extra></extra>",
            }
            for name, colour in (("in", COLOURS[0]), ("out", COLOURS[1]))
        ],
        "layout": {
            "barmode": "overlay",
            "bargap": 0,
            "xaxis": {"title": {"text": "largest probability, %"}, "range": [0, 100]},
            "yaxis": {"title": {"text": "share of images, %"}},
            "height": 360,
            "showlegend": True,
        },
    }
