"""The variants of an experiment: trainings and wrapped models, read from a TOML file and checked."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.core.calls import written_value
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.models.wrapping import parse_wrapper
from windtunnel.train.augmentation import Augmentation
from windtunnel.train.mixing import Mix
from windtunnel.train.remedies import Remedies
from windtunnel.train.settings import Settings

# Fields of a training variant, by the record that they belong to.
FIELDS: dict[str, Any] = {
    field.name: record for record in (Remedies, Mix, Augmentation) for field in dataclasses.fields(record)
}
SETTINGS = tuple(field.name for field in dataclasses.fields(Settings) if field.name != "seed")
WRAPPED_KEYS = ("from", "wrappers")
KEYS = (*FIELDS, "settings", "grid", *WRAPPED_KEYS)

_NAME = re.compile(r"[\w.+-]+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

Number = int | float


@dataclass(frozen=True)
class Variant:
    """One row of the result.

    Attributes:
        name: its name; of a grid with the parameters, `adversarial(epsilon=0.01)`.
        group: its name in the file.
        parameters: the values of its grid.
        settings, mix, augmentation, remedies: how it is trained; those of the variant it wraps.
        of: the variant whose trained models it wraps; "" for a training.
        wrappers: the wrappers, the first of which sees the images first.
    """

    name: str
    group: str
    parameters: Mapping[str, Number | str]
    settings: Settings
    mix: Mix = Mix()  # noqa: RUF009 (frozen)
    augmentation: Augmentation = Augmentation()  # noqa: RUF009 (frozen)
    remedies: Remedies = Remedies()  # noqa: RUF009 (frozen)
    of: str = ""
    wrappers: tuple[str, ...] = ()

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The corruptions that its models have seen in training, as models declare them."""
        return tuple(dict.fromkeys((*self.augmentation.corruptions, *self.remedies.trained_on())))


def read_variants(tables: Mapping[str, Any], settings: Settings, where: str) -> tuple[Variant, ...]:
    """The variants of a file, in its order; a grid gives one of each combination.

    Args:
        tables: the tables of the variants, by name.
        settings: the settings of the experiment, which variants may change.
        where: the file, for messages.
    """
    made: list[Variant] = []
    for group, table in tables.items():
        place = f"{where}: variants.{group}"
        if not _NAME.fullmatch(group):
            raise UserError(
                f"{where}: a variant is named '{group}'; use letters, digits and - + . _ for its name."
            )
        if not isinstance(table, dict):
            raise UserError(f"{place} is {table!r}; write it as a table, [variants.{group}].")
        for key in table:
            if key not in KEYS:
                raise unknown_name(f"key in {place}:", key, KEYS, *_hint(key))
        for parameters in _grid_points(table.get("grid", {}), place):
            made.append(_variant(group, table, parameters, settings, place))
    if not made:
        raise UserError(f"{where} has no variants; write a table for each, such as [variants.standard].")
    return tuple(_with_trainings(made, where))


def _hint(key: str) -> tuple[str, ...]:
    return (f"write settings = {{ {key} = ... }}",) if key in SETTINGS else ()


def _grid_points(grid: Any, place: str) -> Iterator[dict[str, Number | str]]:
    """Every combination of parameters; one without parameters if there is no grid."""
    valid = isinstance(grid, dict) and all(
        isinstance(values, list)
        and values
        and all(isinstance(value, int | float | str) and not isinstance(value, bool) for value in values)
        for values in grid.values()
    )
    if not valid:
        raise UserError(
            f"{place}: grid is {grid!r}; give a list of numbers or texts for each parameter, such as "
            "grid = { epsilon = [0.01, 0.02] }."
        )
    for name, values in grid.items():
        if len(set(values)) < len(values):
            raise UserError(f"{place}: grid has a value of {name} twice; remove one.")
    for point in itertools.product(*grid.values()):
        yield dict(zip(grid, point, strict=True))


def _variant(
    group: str,
    table: Mapping[str, Any],
    parameters: Mapping[str, Number | str],
    settings: Settings,
    place: str,
) -> Variant:
    used: set[str] = set()
    content = {
        key: _filled(value, parameters, used, f"{place}: {key}")
        for key, value in table.items()
        if key != "grid"
    }
    if unused := [name for name in parameters if name not in used]:
        raise UserError(
            f"{place}: the grid has {unused[0]}, which no text contains; write {{{unused[0]}}} where its "
            f'value belongs, such as loss = "adversarial(epsilon={{{unused[0]}}})".'
        )
    inside = ", ".join(f"{name}={written_value(value)}" for name, value in parameters.items())
    name = f"{group}({inside})" if inside else group
    if wrapped := [key for key in WRAPPED_KEYS if key in content]:
        return _wrapped(name, group, content, parameters, settings, wrapped, place)
    try:
        own = {
            record: {key: _value(content[key]) for key in content if FIELDS.get(key) is record}
            for record in (Mix, Augmentation, Remedies)
        }
        return Variant(
            name,
            group,
            dict(parameters),
            changed_settings(settings, content.get("settings", {}), place),
            Mix(**own[Mix]),
            Augmentation(**own[Augmentation]),
            Remedies(**own[Remedies]),
        )
    except UserError as error:
        raise _placed(error, place) from error


def changed_settings(settings: Settings, table: Any, where: str) -> Settings:
    """Settings with the values of a table; refuses unknown keys."""
    if not isinstance(table, dict):
        raise UserError(
            f"{where}: settings is {table!r}; give a table, such as settings = {{ epochs = 20 }}."
        )
    for key in table:
        if key == "seed":
            raise UserError(f"{where}: settings has a seed; seeds = N of the experiment numbers trainings.")
        if key not in SETTINGS:
            raise unknown_name(f"setting in {where}", key, SETTINGS)
    return replace(settings, **{key: _value(value) for key, value in table.items()})


def _wrapped(
    name: str,
    group: str,
    content: Mapping[str, Any],
    parameters: Mapping[str, Number | str],
    settings: Settings,
    given: list[str],
    place: str,
) -> Variant:
    others = [key for key in content if key not in WRAPPED_KEYS]
    if others:
        raise UserError(
            f"{place} has {given[0]} and {others[0]}; a variant wraps the trained models of another one, or "
            "is trained itself."
        )
    of, wrappers = content.get("from"), content.get("wrappers")
    if not isinstance(of, str) or not isinstance(wrappers, list) or not wrappers:
        raise UserError(
            f'{place}: give both the variant to wrap and a list of wrappers, such as from = "standard", '
            'wrappers = ["clahe(clip=2)"].'
        )
    try:
        for text in wrappers:
            parse_wrapper(str(text))
    except UserError as error:
        raise _placed(error, place) from error
    return Variant(name, group, dict(parameters), settings, of=of, wrappers=tuple(map(str, wrappers)))


def _with_trainings(variants: list[Variant], where: str) -> Iterator[Variant]:
    """The variants, those that wrap with the training of the wrapped one; refuses unknown ones."""
    names = [variant.name for variant in variants]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{where} has the variant {twice[0]} twice; remove one.")
    trained = {variant.name: variant for variant in variants if not variant.of}
    for variant in variants:
        if not variant.of:
            yield variant
            continue
        if variant.of not in trained:
            raise unknown_name(
                f"variant in {where}: variants.{variant.group}: from =",
                variant.of,
                trained,
                "one that is trained",
            )
        base = trained[variant.of]
        yield replace(
            variant,
            settings=base.settings,
            mix=base.mix,
            augmentation=base.augmentation,
            remedies=base.remedies,
        )


def _filled(value: Any, parameters: Mapping[str, Number | str], used: set[str], where: str) -> Any:
    """A value with the parameters of the grid; a text that is one placeholder becomes the value itself."""
    if isinstance(value, list):
        return [_filled(item, parameters, used, where) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, parameters, used, where) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    for name in _PLACEHOLDER.findall(value):
        if name not in parameters:
            raise UserError(
                f"{where} has {{{name}}}, which the grid does not have; add grid = {{ {name} = [...] }}."
            )
        used.add(name)
    if whole := _PLACEHOLDER.fullmatch(value):
        return parameters[whole[1]]
    return _PLACEHOLDER.sub(lambda match: written_value(parameters[match[1]]), value)


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _placed(error: UserError, place: str) -> UserError:
    text = str(error)
    return error if text.startswith(place) else UserError(f"{place}: {text}")
