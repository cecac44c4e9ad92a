"""Curation projects: collect candidates, and export natural sets."""

from __future__ import annotations

from pathlib import Path

from windtunnel.curate.project import open_project
from windtunnel.curate.status import ProjectStatus
from windtunnel.curate.status import project_status as _status_of


def project_status(project: str | Path) -> ProjectStatus:
    """What was done in a curation project: steps, counts by status and stage, and the next command.

    Args:
        project: the project's folder.
    """
    return _status_of(open_project(project))
