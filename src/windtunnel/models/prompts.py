"""Class prompts of zero-shot classifiers: templates and the names of classes, in a TOML file."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from typing import Any

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.core.locations import Location
from windtunnel.published.imagenet import imagenet_names

PLACE = "{}"
FORM = 'templates = ["a photo of a {}."] and classes = ["cat", "dog"]'


@dataclass(frozen=True)
class Prompts:
    """Templates, and the name of every class in the order of outputs.

    Attributes:
        templates: texts with `{}` in the place of a class's name.
        names: what prompts call the classes.
        labels: what the data calls them, or `imagenet-1k`.
    """

    templates: tuple[str, ...]
    names: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The digest of templates and names."""
        text = json.dumps([self.templates, self.names])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def of_class(self, place: int) -> list[str]:
        """The prompts of a class: every template with its name."""
        return [template.replace(PLACE, self.names[place]) for template in self.templates]


def read_prompts(path: Location) -> Prompts:
    """The prompts of a TOML file; an unknown key is an error.

    `classes` is a list of names, a table from the data's labels to names, or "imagenet-1k".
    """
    if not path.is_file():
        raise UserError(f"No such file of prompts: {path}. Write a TOML file with {FORM}.")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from error
    for key in table:
        if key not in ("templates", "classes"):
            raise unknown_name(f"key in {path}", key, ("templates", "classes"))
    templates = _texts(table.get("templates"), "templates", path)
    for template in templates:
        if template.count(PLACE) != 1:
            raise UserError(f"{path}: the template {template!r} needs {PLACE} once, for the class's name.")
    names, labels = _classes(table.get("classes"), path)
    return Prompts(templates, names, labels)


def _classes(given: Any, path: Location) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the classes, and their labels."""
    if given == IMAGENET_1K:
        return tuple(imagenet_names().values()), (IMAGENET_1K,)
    if isinstance(given, dict):
        return _texts(list(given.values()), "classes", path), tuple(given)
    names = _texts(given, "classes", path)
    return names, names


def _texts(given: Any, key: str, path: Location) -> tuple[str, ...]:
    if isinstance(given, list) and given and all(isinstance(text, str) and text.strip() for text in given):
        return tuple(given)
    what = "is missing" if given is None else "is not a list of texts"
    raise UserError(f"{path}: {key} {what}; write {FORM}.")
