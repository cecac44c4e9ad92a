"""All conditions of a detector with AP, AP50, AP75 and localisation AP."""

from __future__ import annotations

from typing import Any

from windtunnel.core.detections import MOST_DETECTIONS
from windtunnel.core.metrics import title_of
from windtunnel.core.wording import counted
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import number
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.stats.bootstrap import WEIGHTED_REPLICATES

METRICS = ("ap", "ap50", "ap75", "localisation_ap")


class DetectionConditions(Section):
    """A row per condition."""

    name = "detection-conditions"
    title = "AP of all conditions"
    help = "A table of all conditions: AP, AP50, AP75 and localisation AP with 95 % intervals."
    order = 1890
    json_order = 155
    tasks = ("detection",)

    @property
    def shows(self) -> tuple[str, ...]:
        """The scores of single conditions."""
        return METRICS

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        detected, groups = inputs.run.detected, inputs.run.groups
        resampled = "images" if groups is None else f"groups of images by {inputs.run.group}"
        return {
            "detection": {
                "images": len(detected.ids),
                "objects": detected.objects,
                "crowds": int(detected.true.crowd.sum()),
                "definition": (
                    f"{counted(len(detected.ids), 'image')}, {counted(detected.objects, 'object')} and "
                    f"{counted(int(detected.true.crowd.sum()), 'crowd')}, in which detections do not count. "
                    f"All scores in %, higher is better, at most {MOST_DETECTIONS} detections per image. "
                    "AP is the mean over IoU thresholds 0.50, 0.55 ... 0.95; AP50 and AP75 are at one "
                    f"threshold; localisation AP ignores categories. 95 % intervals are by "
                    f"{WEIGHTED_REPLICATES} bootstrap replicates over {resampled}. "
                    "AP of few images is biased upwards: compare it only over the same images."
                ),
            }
        }

    def applies(self, document: Document) -> bool:
        return bool(_rows(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"header": _header(document), "rows": _rows(document)})

    def markdown(self, document: Document) -> list[str]:
        header = ["condition", *(text for title in _header(document) for text in (title, "95 % interval"))]
        definition = document["detection"]["definition"]
        return [f"## {self.title}", "", definition, "", *markdown_table(header, _rows(document))]


def _metrics(document: Document) -> list[str]:
    measured = {score["metric"] for score in document["scores"]}
    return [metric for metric in METRICS if metric in measured]


def _header(document: Document) -> list[str]:
    return [f"{title_of(metric)}, %" for metric in _metrics(document)]


def _rows(document: Document) -> list[list[str]]:
    """One row per condition: its name, then value and interval of every metric."""
    scores = {(score["metric"], score["condition"]): score for score in document["scores"]}
    names = dict.fromkeys(condition for metric, condition in scores if metric in METRICS)
    rows = []
    for name in names:
        row = [name]
        for metric in _metrics(document):
            score = scores.get((metric, name))
            row += (
                [
                    number(score["value"], metric),
                    f"{number(score['low'], metric)} to {number(score['high'], metric)}",
                ]
                if score
                else ["", ""]
            )
        rows.append(row)
    return rows


detection_conditions = DetectionConditions()
