"""The folder of an exported set, whatever its layout: recipe, lock, files and checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.curate.set_files import checksums_text
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder

# The name of the step in a project, before the name of the set.
STEP = "export"
PARTS = {
    "project": "project",
    "candidates": "candidates",
    "audit": "filtration",
    "verdicts": "verdicts",
    "options": "options",
}
EXPORT = FolderKind("set", "set.json", 1, PARTS, lock=".windtunnel/lock", option="out")
MANIFEST, DATASHEET, CHECKSUMS = "manifest", "datasheet.html", "SHA256SUMS"


class ExportRecipe(Record, frozen=True):
    """Everything that determines the bytes of an exported set."""

    project: str
    candidates: str
    audit: str
    verdicts: str
    options: dict[str, Any]


class ExportFolder(RecipeFolder):
    """The folder of one exported set."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, EXPORT)
        self.folder = path
        self._digests: dict[str, str] = {}

    @contextmanager
    def opened(self, recipe: ExportRecipe) -> Iterator[None]:
        """Hold the lock of a new set, or of one with the same recipe, and write its checksums last."""
        self.check_free()
        with self.locked():
            if not self.create_recipe_file(recipe.to_json()):
                self._refuse_other(recipe)
            yield
            content = self.recipe_path.read_bytes()
            self._digests[self.kind.recipe_file] = hashlib.sha256(content).hexdigest()
            self.write(CHECKSUMS, checksums_text(self._digests).encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a file unless it has this content already."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            write_whole(path, content)
        self._digests[name] = hashlib.sha256(content).hexdigest()

    def _refuse_other(self, recipe: ExportRecipe) -> None:
        """Refuse a set of another recipe, and name the difference."""
        content = self.read_recipe_file()
        content.pop("schema")
        try:
            stored = read_record(content, ExportRecipe)
        except RecordError as error:
            raise self.damaged(error) from error
        differing = [f"other {PARTS[part]}" for part in self.differing_parts(stored, recipe)]
        if differing:
            raise UserError(
                f"{self.path} contains a set with {', '.join(differing)}; choose another folder with "
                f"{option('out')}."
            )
