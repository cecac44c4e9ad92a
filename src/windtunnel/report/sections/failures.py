"""Images that could not be scored, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from windtunnel.core.wording import counted
from windtunnel.metrics.not_finite import not_finite_section
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Document, ReportInput, Section

# Images that scores.json and the page name, and those that Markdown names.
FAILURES_KEPT = 1000
FAILURES_SHOWN = 20


class Failures(Section):
    """The images that could not be scored under some condition, by name and reason."""

    name = "failures"
    title = "Failures"
    help = "Images that could not be scored under at least one condition, with status and reason."
    order = 2000
    json_order = 160

    def data(self, given: ReportInput) -> dict[str, Any]:
        observed = given.run.observed
        failed = [asdict(one) for one in observed.unscored]
        return {
            "unlabelled": observed.unlabelled,
            "not_finite": not_finite_section(given.run),
            "failed_images": len(failed),
            "failed_by_status": dict(Counter(entry["status"] for entry in failed)),
            "failures": failed[:FAILURES_KEPT],
        }

    def markdown(self, document: Document) -> list[str]:
        failed = document["failed_images"]
        if not failed:
            return [f"## {self.title}", "", "None: every image was scored under every condition."]
        rows = [
            [one["image"], f"{one['conditions']:,}", one["condition"], one["status"], one["reason"]]
            for one in document["failures"][:FAILURES_SHOWN]
        ]
        more = failed - len(rows)
        count = "predictions" if document["sequences"] else "conditions"
        images = counted(document["recipe"]["data"]["count"], "image")
        return [
            f"## {self.title}",
            "",
            f"{failed:,} of {images} could not be scored under at least one condition.",
            "",
            *markdown_table(["image", count, "first under", "status", "reason"], rows),
            *(["", f"{more:,} more in report.html and scores.json."] if more else []),
        ]


failures = Failures()
