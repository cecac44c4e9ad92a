"""Write reports of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.analysis import leaderboard as boards
from windtunnel.analysis.missing_scores import needed_run
from windtunnel.analysis.multi_run import Several, several
from windtunnel.analysis.public_placement import Placed, place_runs
from windtunnel.core.metrics import metric_of
from windtunnel.core.progress import Progress, silent
from windtunnel.core.scores import Score
from windtunnel.models import load_model
from windtunnel.report.files import Written, write_reports
from windtunnel.report.leaderboard import render_leaderboard
from windtunnel.report.saliency import Explain, explain_nothing, explain_with
from windtunnel.runs import Run, scored_runs
from windtunnel.store.atomic_files import write_whole


def summarise_runs(runs: Sequence[Run | str | Path], public: str | Path | None = None) -> Several:
    """Several runs for one report: compared with the first one, or listed by shift for several suites."""
    return several(*scored_runs(runs), public=public)


def place_among_public(run: Run, public: str | Path) -> list[Placed]:
    """The position of a run over a natural set among the models of public result tables."""
    return list(place_runs([run.scoring], public))


def leaderboard(runs: Sequence[Run | str | Path], progress: Progress = silent) -> boards.Leaderboard:
    """The scores of finished runs, a row per model and columns per suite.

    Args:
        runs: finished runs of any suites; a run that is not comparable with most of its suite is marked.
        progress: counts scored runs.
    """
    return boards.leaderboard(scored_runs(runs), progress)


def write_leaderboard(board: boards.Leaderboard, file: str | Path) -> Path:
    """Write a leaderboard as one HTML page that works offline; returns the file."""
    path = Path(file)
    write_whole(path, render_leaderboard(board, path.parent).encode())
    return path


def write_report(
    run: Run,
    scores: list[Score],
    *,
    model: Any = None,
    preprocess: str | Path | None = None,
    placed: Sequence[Placed] = (),
    progress: Progress = silent,
) -> Written:
    """Write report.html, report.md, scores.json and scores.csv into a run's folder.

    Args:
        run: a finished run.
        scores: its scores.
        model: the run's model, to add saliency maps for the misclassified images that are shown.
        preprocess: the preprocessing of the run, if it was given.
        placed: the run's position among public models.
        progress: counts occluded patches.
    """
    maps: Explain = explain_nothing
    if model is not None:
        maps = explain_with(run.scoring, load_model(model, preprocess), progress)
    return write_reports(run.scoring, scores, maps, placed)


def kind_of_run_needed(run: Run, metric: str) -> str:
    """The kind of run that a metric of OOD scores or frame sets needs, or "" if this run is of that kind."""
    known = metric_of(metric)
    if known is None or not {"ood scores", "frame sets"} & set(known.needs):
        return ""
    return needed_run(run.scoring, metric)
