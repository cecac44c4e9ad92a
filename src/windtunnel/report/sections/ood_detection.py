"""OOD detection: how well each OOD score separates OOD from ID images, and the confidence on both."""

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
    title = "OOD detection"
    help = "How well each OOD score separates OOD images from ID images, and the confidence on both."
    order = 600
    json_order = 100

    @property
    def shows(self) -> list[str]:
        """The headline metrics of OOD scores."""
        return list(headline_titles(of_ood_scores=True))

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"detection": detection_data(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(detection_rows(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(
            {"rows": detection_rows(document), "metrics": headline_titles(of_ood_scores=True)},
            {"confidence": confidence_histogram(document["detection"])},
        )


def detection_data(run: ScoredRun) -> dict[str, Any]:
    """Numbers of OOD and ID images, and histograms of the confidence on both; {} for other runs."""
    detectors = run.detectors if needing("ood scores", run.metrics) else None
    if detectors is None:
        return {}
    # The score msp is the negated largest probability.
    confidence = -detectors.values[PAPERS_SCORE]
    edges = np.linspace(0, 1, BINS + 1)
    shares = {
        name: (np.histogram(confidence[members], edges)[0] / members.sum()).tolist()
        for name, members in (("ood", detectors.out), ("id", ~detectors.out))
    }
    ood_counts = {name: int(detectors.out[detectors.taken_by(name)].sum()) for name in detectors.values}
    return {
        "n_ood": int(detectors.out.sum()),
        "n_id": int((~detectors.out).sum()),
        "n_ood_by_score": ood_counts,
        "edges": edges.tolist(),
        **shares,
    }


def detection_rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per OOD score: its name, ID images, AUPR by chance, and its scores by metric.

    chance = OOD images / (OOD + ID images), the AUPR of an uninformative score. KL-matching is evaluated on
    fewer ID images, so its chance level differs.
    """
    titles = headline_titles(of_ood_scores=True)
    rows: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in titles:
            rows.setdefault(score["condition"], {})[score["metric"]] = score
    complete = {name: scores for name, scores in rows.items() if set(scores) == set(titles)}
    n_ood = document["detection"].get("n_ood_by_score", {})
    return [
        {
            "score": name,
            "n_id": scores["aupr"]["n"] - n_ood[name],
            "chance": n_ood[name] / scores["aupr"]["n"],
            **scores,
        }
        for name, scores in complete.items()
    ]


def confidence_histogram(section: Mapping[str, Any]) -> dict[str, Any]:
    """Plotly histograms of the confidence on OOD and on ID images, as shares of each."""
    edges = section["edges"]
    middles = [50 * (low + high) for low, high in pairwise(edges)]
    return {
        "data": [
            {
                "type": "bar",
                "name": f"{name.upper()}, {section[f'n_{name}']:,} images",
                "x": middles,
                "y": [100 * share for share in section[name]],
                "marker": {"color": colour, "opacity": 0.6},
                "hovertemplate": "confidence %{x:.0f} %<br>%{y:.1f} % of images"
                + f"<extra>{name.upper()}</extra>",
            }
            for name, colour in (("id", COLOURS[0]), ("ood", COLOURS[1]))
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
