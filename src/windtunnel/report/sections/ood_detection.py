"""Out-of-distribution scores on the page: how each tells out from in, and how the paper's score falls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from windtunnel.core.metrics import headline_titles, needing
from windtunnel.metrics.headlines import PAPERS_SCORE
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS
from windtunnel.report.sections import Content, Document, ReportInput, Section

BINS = 25


class OodDetection(Section):
    """How well each OOD score separates OOD images from ID images."""

    name = "ood-detection"
    title = "Told from the clean images"
    help = "How well each OOD score separates OOD images from ID images, and the confidence on both."
    order = 600
    json_order = 100

    @property
    def shows(self) -> list[str]:
        """The metrics of OOD scores that head reports."""
        return list(headline_titles(of_ood_scores=True))

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"detection": detection_section(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(detection_rows(document))

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content(
            {"rows": detection_rows(document), "metrics": headline_titles(of_ood_scores=True)},
            {"sureness": confidence_histogram(document["detection"])},
        )


def detection_section(run: ScoredRun) -> dict[str, Any]:
    """How many images are out and in, and how the paper's score falls over both; {} for other runs."""
    found = run.detectors if needing("ood scores", run.metrics) else None
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
    titles = headline_titles(of_ood_scores=True)
    rows: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in titles:
            rows.setdefault(score["condition"], {})[score["metric"]] = score
    whole = {name: found for name, found in rows.items() if set(found) == set(titles)}
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


ood_detection = OodDetection()
