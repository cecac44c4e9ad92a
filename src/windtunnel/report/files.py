"""Writing report files: those of a run into its folder, and the page of several runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis.multi_run import Several
from windtunnel.analysis.public_placement import Placed
from windtunnel.core.locations import Location
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.markdown import run_markdown
from windtunnel.report.missing_plugins import missing_plugins_note
from windtunnel.report.multi_run import render_multi_run
from windtunnel.report.page import render
from windtunnel.report.saliency import Explain, explain_nothing
from windtunnel.report.sections import ReportInput
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.store.atomic_files import write_whole


@dataclass(frozen=True)
class Written:
    """The result of writing a report.

    Attributes:
        html: the HTML page.
        failures: a line for every third-party section that failed.
        missing_plugins: a note on plug-ins of the run that are not registered.
    """

    html: Location
    failures: tuple[str, ...] = ()
    missing_plugins: str = ""


def write_reports(
    run: ScoredRun, scores: list[Score], explain: Explain = explain_nothing, placed: Sequence[Placed] = ()
) -> Written:
    """Write report.html, report.md, scores.json and scores.csv into the run folder.

    Args:
        run: the run.
        scores: its scores.
        explain: makes saliency maps of the misclassified images in the report.
        placed: the run among public models, if tables of their results were given.
    """
    document = run_document(run, scores, placed)
    # All contents are made before a file is written. The page is written last, so it is never newer than its
    # numbers. The document is encoded last because rendering adds the sections that failed to it.
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


def write_multi_run_page(runs: Several, file: Location) -> Location:
    """Write the HTML page of several runs; returns the file."""
    write_whole(file, render_multi_run(runs).encode())
    return file
