"""Writing a run's reports beside its predictions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.comparison import Comparison
from windtunnel.metrics.score import Score
from windtunnel.report.deployment import differences
from windtunnel.report.failures import worst_failures
from windtunnel.report.markdown import run_markdown
from windtunnel.report.page import render
from windtunnel.report.several import render_several
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.store.run import Run


@dataclass(frozen=True)
class Written:
    """Where the reports lie."""

    html: Path
    markdown: Path
    json: Path
    csv: Path


def write_reports(run: Run, scores: list[Score]) -> Written:
    """Write report.html, report.md, scores.json and scores.csv into the run folder."""
    names = ("report.html", "report.md", "scores.json", "scores.csv")
    written = Written(*(run.path / name for name in names))
    document = run_document(run, scores)
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    written.json.write_text(text + "\n", encoding="utf-8")
    written.csv.write_text(scores_csv(scores), encoding="utf-8")
    written.markdown.write_text(run_markdown(document), encoding="utf-8")
    written.html.write_text(render(document, worst_failures(run), differences(run)), encoding="utf-8")
    return written


def write_comparison(found: Comparison, file: Path) -> Path:
    """Write the page of several runs."""
    file.write_text(render_several(found), encoding="utf-8")
    return file
