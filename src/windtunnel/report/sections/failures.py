"""Images that could not be scored, with reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from windtunnel.core.wording import counted
from windtunnel.metrics.not_finite import not_finite_section
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import ANY_TASK, Document, ReportInput, Section

# Numbers of images that scores.json and the page list, and that Markdown lists.
FAILURES_LISTED = 1000
FAILURES_SHOWN = 20


class Failures(Section):
    """The images that could not be scored under some condition."""

    name = "failures"
    title = "Failures"
    help = "Images that could not be scored under at least one condition, with status and reason."
    order = 2000
    json_order = 160
    tasks = ANY_TASK

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        observed = inputs.run.predicted
        failed = [asdict(unscored) for unscored in observed.unscored]
        return {
            "unlabelled": observed.unlabelled,
            "not_finite": not_finite_section(inputs.run),
            "failed_images": len(failed),
            "failed_by_status": dict(Counter(entry["status"] for entry in failed)),
            "failures": failed[:FAILURES_LISTED],
        }

    def markdown(self, document: Document) -> list[str]:
        failed = document["failed_images"]
        if not failed:
            return [f"## {self.title}", "", "None: every image was scored under every condition."]
        rows = [
            [entry["image"], f"{entry['conditions']:,}", entry["condition"], entry["status"], entry["reason"]]
            for entry in document["failures"][:FAILURES_SHOWN]
        ]
        more = failed - len(rows)
        counts = "failed predictions" if document.get("sequences") else "failed conditions"
        images = counted(document["recipe"]["data"]["count"], "image")
        return [
            f"## {self.title}",
            "",
            f"{failed:,} of {images} could not be scored under at least one condition.",
            "",
            *markdown_table(["image", counts, "first condition", "status", "reason"], rows),
            *(["", f"{more:,} more are in report.html and scores.json."] if more else []),
        ]


failures = Failures()
