"""A model's declaration as the text of its TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from windtunnel.core.locations import Location
from windtunnel.models.preprocess import Preprocess

# Facts that most models' files contain; they are kept if they were declared.
FROM_THE_GRAPH = ("layout", "dtype")
# Facts that are written even with their default value.
WRITTEN = {
    "geometry": ("rule", "resizer", "resize_px", "crop_px"),
    "tensor": ("channels", "divisor", "mean", "std"),
}


def declaration_text(
    preprocess: Preprocess,
    before: Mapping[str, Any],
    *,
    labels: Sequence[str] = (),
    outputs: str = "",
    comment: str = "",
) -> str:
    """The text of a TOML file that declares preprocessing and keeps earlier declarations.

    Args:
        preprocess: the model's preprocessing.
        before: the parsed declaration that it replaces, {} for none.
        labels: class names in the order of the outputs, if they change.
        outputs: the kind of outputs, if it changes.
        comment: a comment for the top of the file.
    """
    rest = {key: value for key, value in before.items() if key not in ("preset", "geometry", "tensor")}
    rest |= {"labels": list(labels)} if labels else {}
    rest |= {"outputs": outputs} if outputs else {}
    lines = [f"# {comment}"] if comment else []
    lines += [f"{key} = {_toml(value)}" for key, value in rest.items()]
    usual = Preprocess()
    for name, always in WRITTEN.items():
        part = getattr(preprocess, name)
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        unusual = {key for key, value in values.items() if value != getattr(getattr(usual, name), key)}
        from_graph = set(before.get(name, {})) & set(FROM_THE_GRAPH)
        shown = (set(always) | unusual) - set(FROM_THE_GRAPH) | from_graph
        declared = {key: value for key, value in values.items() if key in shown}
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in declared.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def declared_before(path: Location) -> dict[str, Any]:
    """The declarations in a TOML file; empty if there is no file."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _toml(value: object) -> str:
    """A text, number or list as TOML, in the same form as JSON."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
