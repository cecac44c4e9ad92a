"""The JSON files of video sets: where they are stored and how they are read."""

from __future__ import annotations

import json
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location

# The folders in which a set may store its JSON files, relative to its root.
JSON_FOLDERS = ("metadata", "", "misc")
JSON_PLACES = ", ".join(folder or "the folder itself" for folder in JSON_FOLDERS)


def find_json(root: Location, name: str) -> Location | None:
    """The path of a JSON file of a video set, or None."""
    return next((root / folder / name for folder in JSON_FOLDERS if (root / folder / name).is_file()), None)


def read_json(root: Location, name: str, kind: type) -> Any:
    """The content of a JSON file of a video set, which must have the type `kind`."""
    file = find_json(root, name)
    if file is None:
        raise UserError(f"{root} has no {name} in {JSON_PLACES}; put it there.")
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read as JSON: {error}.") from error
    if not isinstance(content, kind):
        raise UserError(f"{file} is not a JSON object.")
    return content
