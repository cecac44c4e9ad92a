"""Options records: every field declares its type, default and help text once."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Self, TypeVar

from windtunnel.core.errors import UserError, unknown_name

R = TypeVar("R", bound="Options")
# How a run file and the command line write a value.
Kind = Literal["flag", "number", "decimal", "text", "texts"]
WRITTEN: dict[Kind, tuple[str, str]] = {
    "flag": ("true or false", "mask = true"),
    "number": ("a whole number", "seed = 3"),
    "decimal": ("a number", "max_true_confidence = 0.15"),
    "text": ("a string", 'codec = "png"'),
    "texts": ("a list of strings", 'only = ["fog"]'),
}


@dataclass(frozen=True)
class Field:
    """One option of a record.

    Attributes:
        name: the argument in Python and the key in a run file.
        default: its value if none is given.
        kind: whether it is a flag, a whole number, a decimal number, a text or several texts.
        help: one sentence for `--help` and the reference.
        flag_name: its name on the command line, without `--`.
        metavar: what `--help` shows in place of the value.
        choices: all allowed values, if there are few.
        minimum: the smallest allowed number.
        path: whether its texts are always paths (`file`), sometimes (`maybe`) or never (``).
    """

    name: str
    default: Any
    kind: Kind
    help: str
    flag_name: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    path: Literal["", "file", "maybe"] = ""

    def check_type(self, value: object, where: str) -> None:
        """Refuse a value of a file that has another type than the option."""
        texts = value if isinstance(value, list) else [value]
        fits = {
            "flag": isinstance(value, bool),
            "number": isinstance(value, int) and not isinstance(value, bool),
            "decimal": isinstance(value, int | float) and not isinstance(value, bool),
            "text": isinstance(value, str),
            "texts": isinstance(value, list) and all(isinstance(text, str) for text in texts),
        }[self.kind]
        if not fits:
            what, example = WRITTEN[self.kind]
            raise UserError(f"{where}: {self.name} is {value!r}; write {what}, as in `{example}`.")
        if self.choices and any(text not in self.choices for text in texts):
            raise UserError(f"{where}: {self.name} is {value!r}; give {', '.join(self.choices)}.")
        if self.minimum is not None and isinstance(value, int) and value < self.minimum:
            raise UserError(f"{where}: {self.name} is {value}; give at least {self.minimum}.")


def option_field(
    *,
    default: Any,
    help: str,
    metavar: str | None = None,
    choices: Sequence[str] = (),
    minimum: int | None = None,
    flag_name: str = "",
    path: Literal["", "file", "maybe"] = "",
) -> Any:
    """Declare one option of a record; the field's annotation says whether it is a flag, number or text."""
    about = {
        "help": help, "metavar": metavar, "choices": tuple(choices), "minimum": minimum,
        "flag_name": flag_name, "path": path,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=about)


def same_field(record: type[Options], name: str) -> Any:
    """Declare an option that another record has as well: the same default, help text and checks."""
    (declared,) = (field for field in dataclasses.fields(record) if field.name == name)  # type: ignore[arg-type]
    return dataclasses.field(default=declared.default, metadata=declared.metadata)


@typing.dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option_field,))
def options_record(declared: type[R]) -> type[R]:
    """Make a class a frozen record whose documentation lists every field with its help text."""
    made: type[R] = dataclass(frozen=True, kw_only=True)(declared)
    listed = "\n".join(f"        {field.name}: {field.help}" for field in made.fields())
    made.__doc__ = f"{(made.__doc__ or '').strip()}\n\n    Attributes:\n{listed}\n"
    return made


class Options:
    """The options of one verb. Records are frozen; `with_changes` makes another."""

    @classmethod
    @cache
    def fields(cls) -> tuple[Field, ...]:
        """Every option, in the order in which `--help` lists them."""
        return tuple(_fields(cls))

    @classmethod
    def field(cls, name: str, kind: str = "option", others: Sequence[str] = ()) -> Field:
        """The option of that name; refuses an unknown name and suggests a similar one."""
        known = {field.name: field for field in cls.fields()}
        if name in known:
            return known[name]
        typed = [field.name for field in known.values() if field.flag_name == name]
        if typed:
            raise UserError(f"Unknown {kind} '{name}'. Did you mean {typed[0]}?")
        raise unknown_name(kind, name, [*others, *known])

    def with_changes(self, changes: dict[str, Any]) -> Self:
        """The record with some values replaced."""
        for name in changes:
            self.field(name)
        return dataclasses.replace(self, **_as_lists(self, changes))  # type: ignore[type-var]


def _as_lists(record: Options, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes, with a single text for an option that takes several as a tuple."""
    return {
        name: (value,) if record.field(name).kind == "texts" and isinstance(value, str) else value
        for name, value in changes.items()
    }


def _fields(record: type[Options]) -> Iterator[Field]:
    hints = typing.get_type_hints(record)
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        about = dict(field.metadata)
        flag_name = about.pop("flag_name") or field.name.replace("_", "-")
        yield Field(
            name=field.name,
            default=field.default,
            kind=_kind(hints[field.name]),
            flag_name=flag_name,
            **about,
        )


def _kind(hint: Any) -> Kind:
    """How values of a type are written."""
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if bool in parts:
        return "flag"
    if int in parts:
        return "number"
    if float in parts:
        return "decimal"
    return "texts" if any(typing.get_origin(part) is Sequence for part in parts) else "text"
