"""Filter the candidates of a curation project, and audit what happened to each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.progress import Progress, silent
from windtunnel.curate import audit_text, hard
from windtunnel.curate.project import Project, StepRecord, open_project
from windtunnel.engine.executors import WorkerOptions, Workers, checked_executor, python_workers
from windtunnel.options import HardOptions
from windtunnel.suites.inclusion import include_files


def filter_hard(
    project: str | Path,
    models: Sequence[Any],
    options: HardOptions = HardOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> StepRecord:
    """Shortlist the candidates that an ensemble of models never classifies correctly, as for ImageNet-A.

    Every candidate gets a row in `audit/hard.parquet` with the prediction of every model and crop, the stage
    at which it left, and the reason. Predictions are stored; other thresholds need no further predictions.

    Args:
        project: the project's folder.
        models: the filter models, in the forms that `run` takes.
        options: classes, thresholds and so on; see `windtunnel.options.HardOptions`.
        progress: counts candidates, once for each model.
        changes: single options by name, such as `pair_cap=5`; they override `options`.

    Returns:
        The step: its recipe, and in `summary` the number of candidates after each stage.

    Raises:
        UserError: the inputs do not fit; nothing was predicted.
    """
    options = options.with_changes(changes)
    include_files(options.include)
    opened = open_project(project)
    return hard.filter_hard(opened, models, options, _workers(options, opened), progress)


def candidate_audit(project: str | Path, candidate: str) -> list[tuple[str, str]]:
    """What happened to one candidate, as labelled lines.

    Args:
        project: the project's folder.
        candidate: its id, or the beginning of it.
    """
    return audit_text.candidate_audit(open_project(project), candidate)


def _workers(options: WorkerOptions, project: Project) -> Workers:
    checked_executor(options.executor, options.address)
    count = python_workers(len(project.stored_candidates()), options, portable=True)
    return Workers(count, options.executor, options.address)
