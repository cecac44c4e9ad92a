"""A run file: the TOML file that describes one run."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.calls import SEPARATOR, split_wrapped, with_values
from windtunnel.core.errors import UserError, first_line
from windtunnel.core.locations.urls import is_url
from windtunnel.options.record import Field
from windtunnel.options.run import RunOptions

# Keys that are arguments of `run`; all others are options.
SUBJECT = ("model", "data", "suite")


@dataclass(frozen=True)
class RunFile:
    """A run as described by a file.

    Attributes:
        models: one model, or several that are run over the same images.
        data: the images.
        suite: the suite; None if it depends on the data.
        options: all other keys of the file.
    """

    models: tuple[str, ...]
    data: str
    suite: str | None = None
    options: RunOptions = RunOptions()  # noqa: RUF009 (frozen)


def is_run_file(argument: str) -> bool:
    """Whether the only argument of `run` is a run file."""
    return argument.endswith(".toml")


def read_run_file(path: str | Path) -> RunFile:
    """Read a TOML file with the keys `model`, `data`, `suite` and any field of RunOptions.

    Relative paths are relative to the file.
    """
    file = Path(path)
    table = _table(file)
    subject: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    for name, value in table.items():
        if name == "model":
            subject["models"] = _models(file, value)
        elif name in SUBJECT:
            if not isinstance(value, str):
                raise UserError(f'{file}: {name} is {value!r}; write a string, as in `{name} = "demo"`.')
            subject[name] = resolved_path(file.parent, value, bare=name == "data")
        else:
            changes[name] = _value(file, RunOptions.field(name, f"key in {file}:", SUBJECT), value)
    for name in ("model", "data"):
        if name not in table:
            raise UserError(f'{file} names no {name}; add a line such as `{name} = "demo"`.')
    return RunFile(**subject, options=RunOptions().with_changes(changes))


def _models(file: Path, value: Any) -> tuple[str, ...]:
    """One model or a list of models, with paths relative to the file."""
    models = value if isinstance(value, list) else [value]
    if not models or not all(isinstance(model, str) for model in models):
        raise UserError(
            f'{file}: model is {value!r}; write a string or a list of strings, as in `model = "demo"`.'
        )
    return tuple(_resolved_model(file.parent, model) for model in models)


def _resolved_model(folder: Path, text: str) -> str:
    """A model, and files of its wrappers (`temperature(file=t.json)|m.onnx`), relative to a folder."""
    if (folder / text).exists():
        return resolved_path(folder, text, bare=False)
    wrappers, model = split_wrapped(text)

    def relative(_plugin: str, _parameter: str, value: str) -> str:
        is_number = re.fullmatch(r"[-+\d.e/]+", value) is not None
        return value if is_number else resolved_path(folder, value, bare=True)

    texts = [with_values(wrapper, relative) for wrapper in wrappers]
    return SEPARATOR.join([*texts, resolved_path(folder, model, bare=False)])


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"There is no file {file}; give a run file, or a model and data.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {first_line(error)}.") from error


def _value(file: Path, field: Field, value: Any) -> Any:
    """A value of the file as the record stores it, with paths relative to the file."""
    field.check_type(value, str(file))
    if field.path == "file":
        made = [
            text if is_url(text) else str(file.parent / text)
            for text in ([value] if field.kind == "text" else value)
        ]
        return made[0] if field.kind == "text" else tuple(made)
    if field.path == "maybe" and field.kind == "text":
        return resolved_path(file.parent, value, bare=field.name == "clean")
    if field.path == "maybe":  # UNIT.SETTING=VALUE
        parts = [text.partition("=") for text in value]
        return tuple(
            name + equals + resolved_path(file.parent, text, bare=True) for name, equals, text in parts
        )
    return tuple(value) if field.kind == "texts" else value


def resolved_path(folder: Path, text: str, *, bare: bool) -> str:
    """A path relative to a folder; text that is not a path is returned unchanged.

    Text is a path if it begins with a dot or if such a file exists; `file.py:factory` and `archive#part` also
    contain a file. Text without a dot or slash is a path only with `bare`, for options that take folders.
    """
    if text == "demo" or not (bare or "." in text or "/" in text):
        return text
    for separator in ("", "#", ":"):
        head = text.rpartition(separator)[0] if separator else text
        if head and (folder / head).exists():
            return str(folder / head) + text[len(head) :]
    return str(folder / text) if text.startswith(".") else text
