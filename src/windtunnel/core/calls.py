"""Plug-ins with parameters, written as a call: `clahe`, `clahe(clip=3, tiles=4)`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import file_digest
from windtunnel.core.registry import Plugin, Registry, registry_of
from windtunnel.core.wording import article

Value = int | float | str
Settings = Mapping[str, Value]

_CALL = re.compile(r"\s*(?P<name>[\w/-]+)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a plug-in; the type of its default is its type.

    Attributes:
        name: what users write.
        default: the value if none is given.
        help: a description in one line.
        low, high: the range of a number.
        choices: the allowed texts; () for any text.
    """

    name: str
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def checked(self, value: object, plugin: str) -> Value:
        """A value as given in a text or in TOML; refuses another type, and what is out of range."""
        if isinstance(self.default, str):
            text = str(value)
            if self.choices and text not in self.choices:
                raise UserError(f"{plugin}: {self.name} is {text!r}; give {' or '.join(self.choices)}.")
            return text
        whole = isinstance(self.default, int)
        number = _number(value)
        in_range = number is not None and self.low <= number <= self.high
        if number is None or not in_range or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise UserError(f"{plugin}: {self.name} is {value!r}; give {kind} {self._range}.")
        return int(number) if whole else number

    @property
    def _range(self) -> str:
        if math.isinf(self.high):
            return f"from {self.low:g}"
        return f"from {self.low:g} to {self.high:g}"

    @property
    def written(self) -> str:
        """The parameter with its default, as users write it; `file=FILE` if it has none."""
        default = self.name.upper() if self.default == "" else written_value(self.default)
        return f"{self.name}={default}"


class CalledPlugin(Plugin):
    """A plug-in with parameters. A subclass declares its facts.

    Attributes:
        name: what users write.
        help: a description in one line.
        source: where the method comes from, and who chose the default parameters.
        parameters: its parameters.
    """

    name: str = ""
    help: str = ""
    source: str = ""
    parameters: tuple[Parameter, ...] = ()

    def settings(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters, checked; those that are not given have their defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                if not known:
                    raise UserError(f"{self.name} has no parameters, and {name} is given; write {self.name}.")
                raise unknown_name(f"parameter of {self.name}", name, known)
        return {
            name: parameter.checked(given[name], self.name) if name in given else parameter.default
            for name, parameter in known.items()
        }

    @property
    def written(self) -> str:
        """The plug-in with its parameters and their defaults, as users write it."""
        arguments = ", ".join(parameter.written for parameter in self.parameters)
        return f"{self.name}({arguments})" if arguments else self.name

    def assets(self) -> dict[str, str]:
        """The digest of the file of a third-party plug-in, by kind and name; empty for shipped ones."""
        if self.is_shipped:
            return {}
        file = Path(str(sys.modules[type(self).__module__].__file__))
        return {f"{registry_of(self).kind} {self.name}": file_digest(file)}


P = TypeVar("P", bound=CalledPlugin)


@dataclass(frozen=True)
class Call(Generic[P]):
    """A plug-in with all its parameters, checked."""

    plugin: P
    settings: Settings

    @property
    def text(self) -> str:
        """The call with all its parameters, as users write it."""
        return call_text(self.plugin.name, self.settings)


def parse_call(text: str, registry: Registry[P]) -> Call[P]:
    """A plug-in with its parameters: `clahe`, `clahe(clip=3, tiles=4)`."""
    match = _CALL.fullmatch(text)
    if match is None:
        example = registry.get(registry.shipped()[0]).written
        raise UserError(
            f"'{text}' is not {article(registry.kind)}; write NAME or NAME(PARAMETER=VALUE, ...), such as "
            f"{example}. {registry.command} lists them."
        )
    plugin = registry.get(match["name"])
    given: dict[str, object] = {}
    for argument in filter(None, map(str.strip, (match["arguments"] or "").split(","))):
        name, equals, value = (part.strip() for part in argument.partition("="))
        if not equals or not name or not value or name in given:
            raise UserError(
                f"{text}: '{argument}' is not understood; write each parameter once, as NAME=VALUE: "
                f"{plugin.written}."
            )
        given[name] = value
    return Call(plugin, plugin.settings(given))


def call_text(name: str, settings: Settings) -> str:
    """A plug-in with settings as text: `clahe(clip=3)`."""
    arguments = ", ".join(f"{key}={written_value(value)}" for key, value in settings.items())
    return f"{name}({arguments})" if arguments else name


def written_value(value: Value) -> str:
    """A value as text, short if that is exact: `0.5`, `4/255`."""
    if isinstance(value, float):
        exact = (f"{value:g}", f"{value * 255:.0f}/255")
        return next((text for text in exact if _number(text) == value), repr(value))
    return str(value)


def _number(value: object) -> float | None:
    """A finite number, or the number or fraction (`8/255`) that a text contains; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        if isinstance(value, str) and "/" in value:
            over, under = value.split("/")
            number = float(over) / float(under)
        else:
            number = float(value)
    except (ValueError, ZeroDivisionError):
        return None
    return number if math.isfinite(number) else None
