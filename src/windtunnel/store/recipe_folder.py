"""Folders that belong to one recipe: runs, made sets and trainings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, live_location
from windtunnel.core.option_names import option
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.core.wording import listed
from windtunnel.store.atomic_files import (
    LOCK_FILE,
    UNFINISHED,
    create_file,
    locked,
    refuse_unwritable,
    write_whole,
)


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder with a recipe.

    Attributes:
        what: its name in messages: `run`, `set` or `training`.
        recipe_file: the file with the recipe.
        schema: the version of that file which this windtunnel reads and writes.
        parts: names for messages of the fields in which two recipes may differ, in the order in which they
            are reported.
        lock: the lock file.
        option: the option that names the folder, or "".
    """

    what: str
    recipe_file: str
    schema: int
    parts: Mapping[str, str]
    lock: str = LOCK_FILE
    option: str = ""


class RecipeFolder:
    """A folder of one recipe, locked while it is written; other recipes cannot continue it."""

    def __init__(self, path: Location, kind: FolderKind) -> None:
        self.path = live_location(path)
        self.kind = kind

    @property
    def recipe_path(self) -> Location:
        """The location of the recipe file."""
        return self.path / self.kind.recipe_file

    def check_free(self, *, nothing_made: bool = True) -> None:
        """Refuse a path that cannot be written or contains other files, before anything is written.

        A folder with only a lock and an unfinished recipe file, left by a killed process, is free.
        """
        refuse_unwritable(self.path, self.kind.what)
        if self.recipe_path.exists() or not self.path.exists():
            return
        left = {self.kind.lock.partition("/")[0], f"{self.kind.recipe_file}{UNFINISHED}"}
        allowed = left if nothing_made else set()
        others = any(entry.name not in allowed for entry in self.path.iterdir())
        if others and not self.recipe_path.exists():  # another process may just have begun the same
            how = f" with {option(self.kind.option)}" if self.kind.option else ""
            raise UserError(
                f"{self.path} contains other files; give a separate folder for the {self.kind.what}{how}."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock; the system frees it even after a kill."""
        with locked(self.path, self.kind.lock):
            yield

    def create_recipe_file(self, content: Mapping[str, Any]) -> bool:
        """Write the recipe file unless there is one, and return whether it was written."""
        return create_file(self.recipe_path, self._recipe_text(content))

    def write_recipe_file(self, content: Mapping[str, Any]) -> None:
        """Write the recipe file atomically, and only if its content has changed."""
        text = self._recipe_text(content)
        if not self.recipe_path.is_file() or self.recipe_path.read_bytes() != text:
            write_whole(self.recipe_path, text)

    def _recipe_text(self, content: Mapping[str, Any]) -> bytes:
        stored = {"schema": self.kind.schema, **content}
        return (json.dumps(stored, indent=2, ensure_ascii=False) + "\n").encode()

    def read_recipe_file(self) -> dict[str, Any]:
        """The content of the recipe file; refuses another schema version and a damaged file."""
        try:
            content: dict[str, Any] = json.loads(self.recipe_path.read_text(encoding="utf-8"))
            version = int(content["schema"])
        except OSError as error:
            reason = error.strerror or error
            raise UserError(f"{self.recipe_path} cannot be read: {reason}; nothing was changed.") from error
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(error) from error
        current, what = self.kind.schema, self.kind.what
        if version > current:
            raise UserError(
                f"{self.path} was written with {what} schema {version}; this windtunnel reads schema "
                f"{current}: upgrade it."
            )
        if version < current:
            raise UserError(
                f"{self.path} was written with {what} schema {version}, before release 0.1.0; "
                f"this windtunnel reads schema {current}. "
                f"Make the {what} again in another folder; nothing was changed."
            )
        return content

    def damaged(self, reason: object) -> UserError:
        """The error for a recipe file that windtunnel cannot have written."""
        return UserError(
            f"{self.recipe_path} is damaged ({reason}); restore it from a copy, or give another folder. "
            "Nothing was changed."
        )

    def refuse_other_recipe(self, recipe: Record) -> None:
        """Refuse a folder of another recipe, and name the difference; a folder without a recipe is free."""
        if not self.recipe_path.exists():
            return
        try:
            stored = read_record(self.read_recipe_file().get("recipe"), type(recipe))
        except RecordError as error:
            raise self.damaged(error) from error
        if changed := self.differing_parts(stored, recipe):
            raise UserError(
                f"{self.path} contains another {self.kind.what} (different "
                f"{listed([self.kind.parts[part] for part in changed])}); give another folder."
            )

    def differing_parts(self, stored: Record, recipe: Record) -> list[str]:
        """The fields in which two recipes differ, in the order in which they are reported."""
        return [part for part in self.kind.parts if getattr(stored, part) != getattr(recipe, part)]
