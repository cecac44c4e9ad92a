"""The HTML page: one file, no request to anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2

from windtunnel.core.metrics import headline_titles, needing
from windtunnel.core.records import RunInfo, read_recipe, read_record
from windtunnel.report import deployment
from windtunnel.report.confusions import Examples
from windtunnel.report.failures import Shown
from windtunnel.report.figures import (
    flip_positions,
    heat_map,
    published_strip,
    reliability_diagram,
    sequence_bars,
    severity_curves,
    top1_by_unit,
)
from windtunnel.report.frame_sets import WorstSets, frame_figures
from windtunnel.report.natural_sets import document_heads
from windtunnel.report.ood_detection import confidence_histogram, detection_rows
from windtunnel.report.recipe import recipe_lines
from windtunnel.report.saliency_overlay import occlusion_scale
from windtunnel.report.score_format import amount, number, unit
from windtunnel.report.timelines import Timelines

# Scores of single sequences: the axis of their bars, and what stands at 100 % of those that are divided.
SEQUENCE_BARS = {
    "flip_probability": "flip probability, %",
    "flip_rate": "flip rate, %",
    "ut5d": "uT5D, ranks",
    "t5d": "T5D, %",
}


def render(
    document: dict[str, Any],
    shown: Shown,
    moving: Timelines,
    confused: Examples,
    differences: Sequence[deployment.Seen] = (),
    sets: WorstSets | None = None,
    public: Mapping[str, Any] | None = None,
) -> str:
    """The page of one run's document, with images.

    They are failures, clips, confusions, where swapped steps change pixels, and frame sets. `public` holds
    the figures of the run among public models.
    """
    return render_page(
        "page.html.j2",
        _figures(document) | dict(public or {}),
        document=document,
        shown=shown,
        moving=moving,
        confused=confused,
        headline=document_heads(document),
        ces=[score for score in document["scores"] if score["metric"] == "ce"],
        others=_others(document),
        rows=_rows(document),
        corrupted=any(one["kind"] == "corruption" for one in document["recipe"]["conditions"]),
        sequences=_sequences(document),
        recipe_lines=recipe_lines(read_record(document["info"], RunInfo), read_recipe(document["recipe"])),
        differences=differences,
        pixels=deployment.pixels,
        levels=deployment.levels,
        points=deployment.points,
        methods=deployment.methods,
        detection=detection_rows(document),
        detection_titles=headline_titles(of_ood_scores=True),
        sets=sets or WorstSets([], ""),
        recipe=json.dumps(document["recipe"], indent=2, ensure_ascii=False),
    )


def render_page(template: str, figures: dict[str, Any], **content: object) -> str:
    """A template with the style, script and figures every page has."""
    return (
        _environment()
        .get_template(template)
        .render(
            **content,
            titles=headline_titles(),
            figures=figures,
            plotly=_plotly() if figures else "",
            style=_resource("page.css"),
            script=_resource("page.js"),
        )
    )


def _figures(document: dict[str, Any]) -> dict[str, Any]:
    """The figures the document has numbers for, by the id of their place on the page."""
    found: dict[str, Any] = {
        f"published_{field['metric']}": published_strip(field) for field in document["published"]
    }
    found |= frame_figures(document)
    if document["detection"]:
        found["sureness"] = confidence_histogram(document["detection"])
    if document["deployment"]:
        found["deployment"] = deployment.bars(document["deployment"])
    if top1_by_unit(document):
        found |= {"curves": severity_curves(document), "heat": heat_map(document)}
    for metric, title in SEQUENCE_BARS.items():
        scores = [score for score in document["scores"] if score["metric"] == metric]
        if scores:
            found[metric] = sequence_bars(scores, title, _reference(document, metric))
    if any(row["flip_share"] for row in document["sequences"]):
        found["positions"] = flip_positions(document["sequences"])
    if document["reliability"]:
        found["reliability"] = reliability_diagram(document)
    return found


def _reference(document: dict[str, Any], metric: str) -> str:
    """Whose score lies at 100 %, "" for scores that are not divided."""
    if not needing("normaliser", [metric]):
        return ""
    return document["baseline"] or "AlexNet"


def _sequences(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per sequence: how it is compared, and its scores by metric."""
    return [
        row
        | {
            score["metric"]: score
            for score in document["scores"]
            if score["condition"] == row["condition"] and score["metric"] in SEQUENCE_BARS
        }
        for row in document["sequences"]
    ]


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per condition: its top-1 and, where there is one, top-5 score."""
    by_condition: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in ("top1_error", "top5_error"):
            by_condition.setdefault(score["condition"], {})[score["metric"]] = score
    return [{"condition": name, **scores} for name, scores in by_condition.items()]


def _others(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The scores that stand nowhere else on the page, by metric."""
    shown = ("top1_error", "top5_error", "ce", *SEQUENCE_BARS, *headline_titles(of_ood_scores=True))
    heads = headline_titles()
    found: dict[str, list[dict[str, Any]]] = {}
    for score in document["scores"]:
        if score["metric"] not in shown and (score["condition"] or score["metric"] not in heads):
            found.setdefault(score["metric"], []).append(score)
    # The score over all conditions first.
    return {
        metric: sorted(scores, key=lambda one: one["condition"] != "") for metric, scores in found.items()
    }


def _for_script(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value).replace("<", "\\u003c")


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("windtunnel", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f}"
    environment.filters["amount"] = amount
    environment.filters["number"] = number
    environment.filters["unit"] = unit
    environment.filters["for_script"] = _for_script
    environment.globals["map_scale"] = occlusion_scale("probability")
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment


def _resource(name: str) -> str:
    return (files("windtunnel.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
