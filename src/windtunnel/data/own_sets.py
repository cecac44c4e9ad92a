"""A user's own natural sets: folders with a `windtunnel.toml` that declares what they are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.core.records import OwnSet, RecordError, read_record
from windtunnel.published.natural_sets import NaturalSet, extended_by, natural_sets

DECLARATION = "windtunnel.toml"
TABLE = "natural_set"
# Parts of every run over a natural set.
TAKEN = ("clean", "all")


def own_natural_set(source: object) -> NaturalSet | None:
    """The set that a folder declares by its `windtunnel.toml`, or None if it has no such file."""
    if not isinstance(source, str | Location):
        return None
    file = location_of(source) / DECLARATION
    try:
        if not file.is_file():
            return None
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise UserError(f"{file} is not valid TOML: {error}.") from error
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}.") from error
    if set(content) != {TABLE}:
        raise UserError(
            f"{file} has the keys {', '.join(sorted(content)) or 'none'}; declare one table [{TABLE}] with "
            "name, extends and title."
        )
    try:
        own = read_record(content[TABLE], OwnSet)
    except RecordError as error:
        raise UserError(f"{file}: {error}; see the declaration of own sets in the documentation.") from error
    return extended_by(checked_declaration(own, str(file)))


def find_own_sets(folder: Path) -> dict[Path, NaturalSet | str]:
    """The sets that a folder and the folders in it declare; of an unusable declaration, what is wrong."""
    if not folder.is_dir():
        raise UserError(
            f"No such folder: {folder}. Give folders of natural sets, or folders that contain them."
        )
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise UserError(
            f"{folder} cannot be read: {error.strerror or error}; give another folder."
        ) from error
    found: dict[Path, NaturalSet | str] = {}
    for path in (folder, *inside):
        try:
            declared = own_natural_set(path)
        except UserError as error:
            found[path] = str(error)
        else:
            if declared is not None:
                found[path] = declared
    return found


def own_bases() -> list[str]:
    """The sets that an own set may extend: those of a user's own images and frames."""
    return [name for name, natural in natural_sets().items() if natural.output_rule == "own"]


def checked_declaration(own: OwnSet, where: str) -> OwnSet:
    """The declaration; refuses a name, base or class list that a run cannot use."""
    published = {part for natural in natural_sets().values() for part in (natural.name, natural.part)}
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", own.name):
        raise UserError(
            f"{where}: name is '{own.name}'; give lower-case letters, digits and hyphens, such as my-set."
        )
    if own.name in published or own.name in TAKEN:
        raise UserError(f"{where}: name is '{own.name}', the name of a published set; give another.")
    if own.extends not in own_bases():
        raise UserError(f"{where}: extends is '{own.extends}'; give {', '.join(own_bases())}.")
    if len(set(own.classes)) < len(own.classes):
        raise UserError(f"{where}: classes contains a name twice; remove one.")
    return own
