"""Plug-ins with parameters, written as a call: `clahe`, `clahe(clip=3, tiles=4)`.

Calls before a model are separated by bars: `clahe(clip=3)|flip|model.onnx`. A value with a comma, a bar,
quotes or parentheses is written in quotes: `temperature(file='a,b.json')`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import file_digest
from windtunnel.core.registry import Plugin, Registry, registry_of
from windtunnel.core.wording import article

Value = int | float | str
Settings = Mapping[str, Value]

SEPARATOR = "|"
_QUOTED = re.compile(r"""=\s*(?:'[^']*'|"[^"]*")""")
# A text that needs no quotes.
_BARE = re.compile(r"[^\s,|'\"()](?:[^,|'\"()]*[^\s,|'\"()])?")
_CALL = re.compile(r"\s*(?P<name>[\w/-]+)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_PARAMETERS = re.compile(r"(?P<before>.+?)\((?P<arguments>\s*\w+\s*=.*)\)\s*", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a plug-in; the type of its default is its type.

    Attributes:
        name: what users write.
        default: the value if none is given.
        help: a description in one line.
        low, high: the range of a number.
        choices: the allowed texts; () for any text.
        odd: whether a whole number must be odd.
        path: whether a text is a path, which files resolve relative to their own folder.
    """

    name: str
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    odd: bool = False
    path: bool = False

    def checked(self, value: object, plugin: str) -> Value:
        """A value as given in a text or in TOML; refuses another type, and what is out of range."""
        if isinstance(self.default, str):
            text = str(value)
            if self.choices and text not in self.choices:
                raise UserError(f"{plugin}: {self.name} is {text!r}; give {' or '.join(self.choices)}.")
            return text
        whole = isinstance(self.default, int)
        number = number_of(value)
        in_range = number is not None and self.low <= number <= self.high
        fits = (
            number is not None
            and not (whole and number != int(number))
            and not (self.odd and number % 2 == 0)
        )
        if number is None or not in_range or not fits:
            kind = "an odd number" if self.odd else "a whole number" if whole else "a number"
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
    if match is None or len(split_chain(text)) > 1:
        example = registry.get(registry.shipped()[0]).written
        raise UserError(
            f"'{text}' is not {article(registry.kind)}; write NAME or NAME(PARAMETER=VALUE, ...), such as "
            f"{example}. {registry.command} lists them."
        )
    plugin = registry.get(match["name"])
    given = parse_arguments(match["arguments"] or "", text, plugin.written)
    return Call(plugin, plugin.settings(given))


def split_parameters(text: str, written: str) -> tuple[str, dict[str, object]]:
    """The text before parentheses, and the parameters in them: `timm:resnet50(weights=best.pth)`.

    The name of a file may end in parentheses. `written` is how users write such a text.
    """
    match = None if _is_file(text) else _PARAMETERS.fullmatch(text)
    if match is None:
        return text, {}
    return match["before"].strip(), parse_arguments(match["arguments"], text, written)


def parse_arguments(arguments: str, text: str, written: str) -> dict[str, object]:
    """The parameters in `clip=3, tiles=4`, by name; refuses what is not NAME=VALUE."""
    given: dict[str, object] = {}
    for argument in filter(None, map(str.strip, _split(arguments, ","))):
        name, equals, value_text = (part.strip() for part in argument.partition("="))
        value = _unquoted(value_text)
        if not equals or not name or not value_text or value is None or name in given:
            raise UserError(
                f"{text}: '{argument}' is not understood; write each parameter once, as NAME=VALUE: "
                f"{written}."
            )
        given[name] = value
    return given


def split_chain(text: str) -> list[str]:
    """The calls of a text that are separated by bars; bars in quotes separate nothing."""
    return _split(text, SEPARATOR)


def split_wrapped(text: str) -> tuple[tuple[str, ...], str]:
    """The wrappers and the model of a text: `clahe|tencrop|m.onnx` is (("clahe", "tencrop"), "m.onnx").

    The name of a file may contain a bar.
    """
    if SEPARATOR not in text or _is_file(text):
        return (), text
    *wrappers, model = split_chain(text)
    return tuple(wrappers), model.strip()


def _is_file(text: str) -> bool:
    """Whether there is a file or folder of that name; a text may be too long for one."""
    try:
        return Path(text).exists()
    except OSError:
        return False


def with_values(text: str, change: Callable[[str, str, str], str]) -> str:
    """A call with other values: `change` gets the names of plug-in and parameter, and the value.

    A text that is no call is returned unchanged.
    """
    match = _CALL.fullmatch(text)
    if match is None or match["arguments"] is None:
        return text
    arguments = []
    for argument in _split(match["arguments"], ","):
        name, equals, written = (part.strip() for part in argument.partition("="))
        value = _unquoted(written)
        if not equals or value is None:
            return text
        changed = change(match["name"], name, value)
        arguments.append(argument.strip() if changed == value else f"{name}={written_value(changed)}")
    return f"{match['name']}({', '.join(arguments)})"


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that are not in the quotes of a value."""
    masked = _QUOTED.sub(lambda match: "=" * len(match[0]), text)
    parts, start = [], 0
    for part in masked.split(separator):
        parts.append(text[start : start + len(part)])
        start += len(part) + len(separator)
    return parts


def _unquoted(text: str) -> str | None:
    """A value without its quotes; None if quotes do not match."""
    if text[:1] not in ("'", '"'):
        return text
    return text[1:-1] if len(text) > 1 and text[-1] == text[0] else None


def call_text(name: str, settings: Settings) -> str:
    """A plug-in with settings as text: `clahe(clip=3)`."""
    arguments = ", ".join(f"{key}={written_value(value)}" for key, value in settings.items())
    return f"{name}({arguments})" if arguments else name


def written_value(value: Value) -> str:
    """A value as text, short if that is exact: `0.5`, `4/255`."""
    if isinstance(value, float):
        exact = (f"{value:g}", f"{value * 255:.0f}/255")
        return next((text for text in exact if number_of(text) == value), repr(value))
    text = str(value)
    if not isinstance(value, str) or _BARE.fullmatch(text):
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"


def number_of(value: object) -> float | None:
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
