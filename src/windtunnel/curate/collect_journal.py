"""Outcomes of rows while a batch is collected, in a journal that survives a kill."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from windtunnel.core.candidates import CandidateStatus
from windtunnel.curate.project import CANDIDATES_FOLDER, Project
from windtunnel.store.atomic_files import write_whole

JOURNAL_SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Outcome:
    """What became of one row, before duplicates are marked."""

    row: int
    status: CandidateStatus
    reason: str = ""
    id: str = ""
    file: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    bytes: int = 0


def journal_path(project: Project, batch: str) -> Path:
    """The journal of a batch."""
    return project.folder / CANDIDATES_FOLDER / f"{batch}{JOURNAL_SUFFIX}"


class Journal:
    """Outcomes so far, one JSON object per line after the digest of the recipe; a torn line is ignored.

    Of another recipe only stored images are kept.
    """

    def __init__(self, project: Project, batch: str, recipe: str) -> None:
        self._path = journal_path(project, batch)
        self._path.parent.mkdir(exist_ok=True)
        lines = self._path.read_bytes().split(b"\n")[:-1] if self._path.exists() else []
        self.same_recipe = bool(lines) and lines[0] == recipe.encode()
        found = [outcome for line in lines[1:] if (outcome := _outcome(line))]
        self.outcomes = [outcome for outcome in found if self.same_recipe or outcome.status == "ok"]
        text = b"\n".join([recipe.encode(), *(_line(outcome) for outcome in self.outcomes), b""])
        if not self.same_recipe or self._path.read_bytes() != text:
            write_whole(self._path, text)

    def add(self, outcome: Outcome) -> None:
        """Append an outcome."""
        with self._path.open("ab") as stream:
            stream.write(_line(outcome) + b"\n")

    def remove(self) -> None:
        """Remove the journal of a finished batch."""
        self._path.unlink()


def _line(outcome: Outcome) -> bytes:
    return json.dumps(asdict(outcome), ensure_ascii=True).encode()


def _outcome(line: bytes) -> Outcome | None:
    try:
        return Outcome(**json.loads(line))
    except (ValueError, TypeError):
        return None
