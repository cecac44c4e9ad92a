"""Folders that belong to one recipe: runs, made sets and trainings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.records import Record
from windtunnel.store.files import LOCK_FILE, UNFINISHED, locked, write_whole


@dataclass(frozen=True)
class FolderKind:
    """What a folder holds.

    Attributes:
        what: its name for people: `run`, `set` or `training`.
        recipe_file: the file that says which recipe the folder belongs to.
        schema: the version of that file which this windtunnel reads and writes.
        parts: for people, the name of each field of the recipe in which two recipes may differ; the first
            differing fields are named in this order.
        lock: the lock file.
    """

    what: str
    recipe_file: str
    schema: int
    parts: Mapping[str, str]
    lock: str = LOCK_FILE


class RecipeFolder:
    """A folder that is created for one recipe, locked while it is written, and continued by no other."""

    def __init__(self, path: Path, kind: FolderKind) -> None:
        self.path = path
        self.kind = kind

    @property
    def recipe_path(self) -> Path:
        """The file that says which recipe the folder belongs to."""
        return self.path / self.kind.recipe_file

    def check_free(self, *, nothing_made: bool = True) -> None:
        """Refuse a path that cannot be written or holds something else, before anything is written.

        A process killed in its first moment leaves a lock and perhaps half a recipe file, and has made
        nothing; such a folder is free.
        """
        parent = next(place for place in (self.path, *self.path.absolute().parents) if place.exists())
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file; give a folder for the {self.kind.what}.")
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            reason = "not writable" if parent.is_dir() else "no folder"
            raise UserError(f"{self.path} cannot be written ({parent} is {reason}); give another folder.")
        if not self.path.exists() or self.recipe_path.exists():
            return
        left = {self.kind.lock.partition("/")[0], f"{self.kind.recipe_file}{UNFINISHED}"}
        ours = left if nothing_made else set()
        if any(entry.name not in ours for entry in self.path.iterdir()):
            raise UserError(
                f"{self.path} holds other files; give a folder of its own for the {self.kind.what}."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock; the system frees it even after a kill."""
        with locked(self.path, self.kind.lock):
            yield

    def write_recipe_file(self, content: Mapping[str, Any]) -> None:
        """Write the recipe file whole or not at all, and only where it says something new."""
        stored = {"schema": self.kind.schema, **content}
        text = (json.dumps(stored, indent=2, ensure_ascii=False) + "\n").encode()
        if not self.recipe_path.is_file() or self.recipe_path.read_bytes() != text:
            write_whole(self.recipe_path, text)

    def read_recipe_file(self) -> dict[str, Any]:
        """What the recipe file holds; another schema version or a damaged file is refused in one line."""
        try:
            content: dict[str, Any] = json.loads(self.recipe_path.read_text(encoding="utf-8"))
            version = int(content["schema"])
        except OSError as error:
            reason = error.strerror or error
            raise UserError(f"{self.recipe_path} cannot be read: {reason}; nothing was changed.") from error
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(error) from error
        ours, what = self.kind.schema, self.kind.what
        if version > ours:
            raise UserError(
                f"{self.path} was written with {what} schema {version}; this windtunnel reads schema {ours}: "
                "upgrade it."
            )
        if version < ours:
            raise UserError(
                f"{self.path} was written with {what} schema {version}, before release 0.1.0; "
                f"this windtunnel reads schema {ours}. "
                f"Make the {what} again in another folder; nothing was changed."
            )
        return content

    def damaged(self, reason: object) -> UserError:
        """The error for a recipe file that windtunnel cannot have written."""
        return UserError(
            f"{self.recipe_path} is damaged ({reason}); restore it from a copy, or give another folder. "
            "Nothing was changed."
        )

    def differing_parts(self, stored: Record, recipe: Record) -> list[str]:
        """The fields in which two recipes differ, in the order in which people are told of them."""
        return [part for part in self.kind.parts if getattr(stored, part) != getattr(recipe, part)]
