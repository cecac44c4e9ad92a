"""Curation projects: collect candidates, and export natural sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windtunnel.core.progress import Progress, silent
from windtunnel.curate.collect import Collected, collect
from windtunnel.curate.export import ExportedSet, export
from windtunnel.curate.project import Project, open_project
from windtunnel.curate.status import ProjectStatus
from windtunnel.curate.status import project_status as _status_of
from windtunnel.options import CollectOptions, ExportOptions
from windtunnel.report.datasheet import render_datasheet


def collect_candidates(
    table: str | Path,
    project: str | Path,
    options: CollectOptions = CollectOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> Collected:
    """Store the images of a table of URLs or files, or of a dataset, as candidates of a project.

    Args:
        table: a CSV file with a column `url` or `file`, or a dataset.
        project: the project's folder; it is created if there is none.
        options: rate, limits and other options; see `windtunnel.options.CollectOptions`.
        progress: counts rows.
        changes: single options by name, such as `rate="30/min"`; they override `options`.

    Returns:
        The finished step; its summary counts the rows by status, `label_changes` the images whose label the
        command changed.
    """
    return collect(Project(Path(project)), table, options.with_changes(changes), progress)


def export_set(
    project: str | Path,
    out: str | Path,
    options: ExportOptions = ExportOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> ExportedSet:
    """Write a natural set from a project: class folders, manifest, datasheet, declaration and checksums.

    Args:
        project: the project's folder.
        out: the set's folder, which `run` reads; an existing one of the same recipe is completed.
        options: step, verdicts and facts of the set; see `windtunnel.options.ExportOptions`.
        progress: counts images.
        changes: single options by name, such as `reviewed="verdicts.csv"`; they override `options`.
    """
    opened = open_project(project)
    return export(opened, Path(out), options.with_changes(changes), render_datasheet, progress)


def project_status(project: str | Path) -> ProjectStatus:
    """What was done in a curation project: steps, counts by status and stage, and the next command.

    Args:
        project: the project's folder.
    """
    return _status_of(open_project(project))
