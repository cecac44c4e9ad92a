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
from windtunnel.report.confusions import examples
from windtunnel.report.deployment import differences
from windtunnel.report.failures import worst_failures
from windtunnel.report.frame_sets import worst_sets
from windtunnel.report.markdown import run_markdown
from windtunnel.report.multi_run import render_several
from windtunnel.report.multi_suite import placed_figures
from windtunnel.report.page import render
from windtunnel.report.saliency import Explain, explain_nothing
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.report.timelines import timelines
from windtunnel.store.files import write_whole


@dataclass(frozen=True)
class Written:
    """Where the reports lie."""

    html: Path
    markdown: Path
    json: Path
    csv: Path


def write_reports(
    run: ScoredRun, scores: list[Score], explain: Explain = explain_nothing, placed: Sequence[Placed] = ()
) -> Written:
    """Write report.html, report.md, scores.json and scores.csv into the run folder.

    `explain` makes maps of what the wrong answers of shown images hang on; `placed` is the run among public
    models, where tables of those were given.
    """
    names = ("report.html", "report.md", "scores.json", "scores.csv")
    written = Written(*(run.path / name for name in names))
    document = run_document(run, scores, placed)
    # Everything is made before anything is written: a report is never newer than its numbers.
    contents = {
        written.json: json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        written.csv: scores_csv(scores),
        written.markdown: run_markdown(document),
        written.html: render(
            document,
            worst_failures(run, explain),
            timelines(run),
            examples(run, document["confusions"], explain),
            differences(run),
            worst_sets(run),
            placed_figures(placed),
        ),
    }
    for path, text in contents.items():
        write_whole(path, text.encode())
    return written


def write_several(found: Several, file: Path) -> Path:
    """Write the page of several runs."""
    write_whole(file, render_several(found).encode())
    return file
