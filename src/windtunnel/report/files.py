"""Writing a run's reports beside its predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.multi_run import Several
from windtunnel.analysis.public_placement import Placed
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.markdown import run_markdown
from windtunnel.report.missing_plugins import missing_plugins_note
from windtunnel.report.multi_run import render_several
from windtunnel.report.page import render
from windtunnel.report.saliency import Explain, explain_nothing
from windtunnel.report.sections import ReportInput
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.store.files import write_whole


@dataclass(frozen=True)
class Written:
    """Where the page is, how sections of the user's own failed, and which plug-ins were missing."""

    html: Path
    failures: tuple[str, ...] = ()
    missing_plugins: str = ""


def write_reports(
    run: ScoredRun, scores: list[Score], explain: Explain = explain_nothing, placed: Sequence[Placed] = ()
) -> Written:
    """Write report.html, report.md, scores.json and scores.csv into the run folder.

    `explain` makes maps of what the wrong answers of shown images hang on; `placed` is the run among public
    models, where tables of those were given.
    """
    document = run_document(run, scores, placed)
    # Everything is made before anything is written, and the page is written last: a report is never newer
    # than its numbers. The document is encoded last, since it names the sections that failed.
    contents = {
        "report.html": render(document, ReportInput(run, scores, placed, explain)),
        "report.md": run_markdown(document),
        "scores.csv": scores_csv(scores),
        "scores.json": json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    for name, text in reversed(contents.items()):
        write_whole(run.path / name, text.encode())
    failures = tuple(document.get("failed_sections", {}).values())
    return Written(run.path / "report.html", failures, missing_plugins_note(run))


def write_several(found: Several, file: Path) -> Path:
    """Write the page of several runs."""
    write_whole(file, render_several(found).encode())
    return file
