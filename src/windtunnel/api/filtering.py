"""Filter the candidates of a curation project, and audit what happened to each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from windtunnel.core.curation_records import (
    FineTuneRecipe,
    FineTuneSummary,
    HardRecipe,
    HardSummary,
    OodRecipe,
    OodSummary,
    TransferRecipe,
    TransferSummary,
)
from windtunnel.core.errors import ImplausibleScores, UserError
from windtunnel.core.progress import Progress, silent
from windtunnel.curate import audit_text, fine_tuning, hard, ood, transfer
from windtunnel.curate.project import Project, open_project
from windtunnel.curate.steps import FinishedStep
from windtunnel.engine.executors import WorkerOptions, Workers, checked_executor, python_workers
from windtunnel.options import FineTuneOptions, HardOptions, OodOptions, TransferOptions
from windtunnel.report.curation import render_curation
from windtunnel.store.atomic_files import write_whole
from windtunnel.suites.inclusion import include_files

R = TypeVar("R", FineTuneRecipe, HardRecipe, OodRecipe, TransferRecipe)
S = TypeVar("S", FineTuneSummary, HardSummary, OodSummary, TransferSummary)


def filter_hard(
    project: str | Path,
    models: Sequence[Any],
    options: HardOptions = HardOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FinishedStep[HardRecipe, HardSummary]:
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

    Warns:
        ImplausibleScores: a model is near chance, or its preprocessing is not declared; `summary.warnings`
            has the same texts.
    """
    options = options.with_changes(changes)
    include_files(options.include)
    opened = open_project(project)
    return _warned(hard.filter_hard(opened, models, options, _workers(options, opened), progress))


def select_ood(
    project: str | Path,
    models: Sequence[Any],
    options: OodOptions = OodOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FinishedStep[OodRecipe, OodSummary]:
    """Shortlist candidates of other classes that models are confident about, as for ImageNet-O.

    Every candidate gets a row in `audit/ood.parquet`. The arguments are those of `filter_hard`; see
    `windtunnel.options.OodOptions` for the options.
    """
    options = options.with_changes(changes)
    include_files(options.include)
    opened = open_project(project)
    return _warned(ood.select_ood(opened, models, options, _workers(options, opened), progress))


def measure_transfer(
    project: str | Path,
    models: Sequence[Any],
    options: TransferOptions = TransferOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FinishedStep[TransferRecipe, TransferSummary]:
    """Measure how hard a shortlist is for models that did not filter it.

    Their accuracy is measured on the shortlist of `filter_hard`, on as many random candidates, and on the
    candidates whose centre crop every filter model misclassifies, with 95 % intervals.

    Args:
        project: the project's folder.
        models: held-out models; a filter model is refused.
        options: see `windtunnel.options.TransferOptions`.
        progress: counts candidates, once for each model.
        changes: single options by name, such as `seed=3`; they override `options`.

    Returns:
        The step; `summary.accuracies` has a row for each model and group.
    """
    options = options.with_changes(changes)
    include_files(options.include)
    opened = open_project(project)
    return _warned(transfer.measure_transfer(opened, models, options, _workers(options, opened), progress))


def fine_tune(
    project: str | Path,
    model: Any,
    data: Any,
    options: FineTuneOptions = FineTuneOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FinishedStep[FineTuneRecipe, FineTuneSummary]:
    """Train a model further on the classes of a project, and store it there as an ONNX file.

    Args:
        project: the project's folder.
        model: a torch module, or the factory of one (`FILE.py:factory`).
        data: labelled images, in the forms that `run` takes; those that are candidates are left out.
        options: classes and settings of the training; see `windtunnel.options.FineTuneOptions`.
        progress: counts epochs.
        changes: single options by name, such as `epochs=3`; they override `options`.

    Returns:
        The step; `summary.model` is the file, relative to the project.
    """
    options = options.with_changes(changes)
    include_files(options.include)
    return _warned(fine_tuning.fine_tune(open_project(project), model, data, options, progress))


def candidate_audit(project: str | Path, candidate: str) -> list[tuple[str, str]]:
    """What happened to one candidate, row, frame set or video, as labelled lines.

    Args:
        project: the project's folder.
        candidate: its id or the beginning of it; or the URL or file of a row, also of one that is not stored;
            or `row N`; or a video, a frame set, or `SET#INDEX` for one frame.
    """
    return audit_text.candidate_audit(open_project(project), candidate)


def audit_csv(project: str | Path, step: str) -> str:
    """The audit of a step as CSV, a row for each candidate; values of several crops are joined by `; `.

    Args:
        project: the project's folder.
        step: the step, `hard` or `ood`.
    """
    return audit_text.audit_csv(open_project(project), step)


def write_project_page(project: str | Path, out: str | Path | None = None) -> Path:
    """Write the HTML page of a filtered project, and return its path.

    Args:
        project: the project's folder.
        out: the file; default: `report.html` in the project.
    """
    opened = open_project(project)
    file = Path(out) if out is not None else opened.folder / "report.html"
    page = render_curation(opened)
    try:
        write_whole(file, page.encode())
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}; give another file.") from error
    return file


def _warned(step: FinishedStep[R, S]) -> FinishedStep[R, S]:
    """The step, after its warnings are emitted for the caller of the verb."""
    for text in step.summary.warnings:
        warnings.warn(text, ImplausibleScores, stacklevel=3)
    return step


def _workers(options: WorkerOptions, project: Project) -> Workers:
    checked_executor(options.executor, options.address)
    count = python_workers(len(project.stored_candidates()), options, portable=True)
    return Workers(count, options.executor, options.address)
