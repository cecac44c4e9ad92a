"""The steps between a file and a model's prediction, and the alternatives of each: `axis=value`.

decode      the library that turns bytes into pixels
resize      the library and filter for the change of size
geometry    how size and crop are computed
colour      how decoded colours are handled, or mishandled
numerics    the arithmetic of the network
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from windtunnel.core.conditions import NUMERICS
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.imaging.colour import COLOURS
from windtunnel.imaging.decoders import Decoder, decoders, require_decoder
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.resizers import Resizer, require_resizer, resizer_names
from windtunnel.models import Model
from windtunnel.models.numerics import VARIANTS, why_no_variant

Override = Mapping[str, object]

EVERYTHING = "*"
# The size before cropping with the paper's factor 8/7: 256 for a crop of 224.
MARGIN = 8 / 7
# Increased whenever a step gives other predictions, so that older runs are not paired with newer ones.
REVISIONS = {"numerics=float16": 1, "numerics=int8": 2}
# `axis=*` leaves out a decoder that cannot read more than this share of the images, because they would be
# left out of every other condition too.
UNREADABLE_SHARE = 0.1
NOT_DECODED = "the images are arrays, which are not decoded"
CROPPING = ("short-side", "squash", "crop-then-resize")


def _where(applies: bool, override: Override) -> Override:
    """The override if it applies, else no change."""
    return override if applies else {}


def _whole_px(base: Geometry) -> int:
    """The side of the image before cropping."""
    if base.rule in ("short-side", "squash"):
        return base.resize_px
    return int(base.crop_px * MARGIN)


def _cropping(base: Geometry) -> bool:
    """Whether a geometry crops."""
    return base.rule in CROPPING and base.crop_px > 0


# Steps that need the side of a crop change nothing without one.
GEOMETRIES: dict[str, Callable[[Geometry], Override]] = {
    "short-side": lambda base: {"rule": "short-side", "resize_px": _whole_px(base)},
    "squash": lambda base: {"rule": "squash", "resize_px": _whole_px(base)},
    "exact": lambda base: _where(base.crop_px > 0, {"rule": "exact"}),
    "crop-then-resize": lambda base: _where(base.crop_px > 0, {"rule": "crop-then-resize"}),
    "no-margin": lambda base: _where(base.crop_px > 0, {"rule": "short-side", "resize_px": base.crop_px}),
    "long-side-floor": lambda base: _where(base.rule == "short-side", {"long_side": "floor"}),
    "long-side-round": lambda base: _where(base.rule == "short-side", {"long_side": "round"}),
    "crop-floor": lambda base: _where(_cropping(base), {"crop_offset": "floor"}),
    "crop-round": lambda base: _where(_cropping(base), {"crop_offset": "round"}),
    "crop-ceil": lambda base: _where(_cropping(base), {"crop_offset": "ceil"}),
    "exif-ignore": lambda _: {"exif": "ignore"},
    "exif-apply": lambda _: {"exif": "apply"},
}


def _each(field: str, names: Iterable[str]) -> dict[str, Callable[[Geometry], Override]]:
    """For every name the override that sets a field to it."""
    return {name: partial(_fixed, {field: name}) for name in names}


def _fixed(override: Override, _base: Geometry) -> Override:
    return override


# The values of each axis, computed on demand because plug-ins may be included later.
AXES: dict[str, Callable[[], Mapping[str, Callable[[Geometry], Override]]]] = {
    "decode": lambda: _each("decoder", (decoder.name for decoder in decoders())),
    "resize": lambda: _each("resizer", resizer_names()),
    "geometry": lambda: GEOMETRIES,
    "colour": lambda: _each("colour", COLOURS),
    NUMERICS: lambda: {name: partial(_fixed, {}) for name in VARIANTS},
}
# The axes whose values are plug-ins, which may need a library.
REQUIRED: dict[str, Callable[[str], Decoder | Resizer]] = {
    "decode": require_decoder,
    "resize": require_resizer,
}
# The libraries of steps that are not plug-ins.
AXIS_LIBRARIES = {NUMERICS: "onnx"}


def is_step(unit: str) -> bool:
    """Whether a unit's name is `axis=value`."""
    return "=" in unit


def axis_of(unit: str) -> str:
    """The axis of `axis=value`."""
    return unit.partition("=")[0]


def value_of(unit: str) -> str:
    """The value of `axis=value`."""
    return unit.partition("=")[2]


def library_used(unit: str) -> str:
    """The library that a step uses, by its name on PyPI; "" for none."""
    axis = axis_of(unit)
    return REQUIRED[axis](value_of(unit)).library if axis in REQUIRED else AXIS_LIBRARIES.get(axis, "")


def check_step(unit: str) -> None:
    """Refuse an unknown axis or value."""
    axis, value = axis_of(unit), value_of(unit)
    if axis not in AXES:
        raise unknown_name("axis", axis, AXES, f"write AXIS=VALUE, or AXIS={EVERYTHING} for all")
    if value != EVERYTHING and value not in AXES[axis]():
        raise unknown_name(axis, value, AXES[axis](), f"or {EVERYTHING} for all of them")


def override_of(unit: str, base: Geometry) -> Override | None:
    """The changes of a step to a geometry; None if it changes nothing."""
    override = AXES[axis_of(unit)]()[value_of(unit)](base)
    same = all(asdict(base)[key] == value for key, value in override.items())
    return None if same and axis_of(unit) != NUMERICS else override


def spelt_out(unit: str) -> list[str]:
    """`axis=*` expanded to every step of the axis; other units unchanged, as a list."""
    if value_of(unit) != EVERYTHING:
        return [unit]
    return [f"{axis_of(unit)}={value}" for value in AXES[axis_of(unit)]()]


def overrides_of(units: Sequence[str], base: Geometry) -> dict[str, Override]:
    """The steps among the units that change something, with their changes to a geometry."""
    steps = [step for unit in units if is_step(unit) for step in spelt_out(unit)]
    overrides = {step: override_of(step, base) for step in steps}
    return {step: override for step, override in overrides.items() if override is not None}


def available_units(
    units: Sequence[str], base: Geometry, model: Model | None, formats: Counter[str]
) -> tuple[tuple[str, ...], list[str]]:
    """The units with every `axis=*` expanded, and notes on steps that were left out.

    A step given by name is refused if it is not available, unless it could change no image at all.

    Args:
        units: units of a suite; other units than steps are kept unchanged.
        base: the geometry that steps change.
        model: the model whose arithmetic is changed, or None.
        formats: the number of images in each format.
    """
    available: dict[str, None] = {}
    left_out: dict[str, list[str]] = {}
    own: list[str] = []
    for unit in units:
        if not is_step(unit):
            available[unit] = None
        elif value_of(unit) != EVERYTHING:
            if axis_of(unit) == "decode" and nothing_is_decoded(formats):
                left_out.setdefault(NOT_DECODED, []).append(unit)
            elif reason := _why_not(unit, base, model, Counter()):
                raise UserError(f"{unit}: {reason}.")
            else:
                available[unit] = None
                own += [unit] if override_of(unit, base) is None else []
        else:
            for step in overrides_of([unit], base):
                if reason := _why_not(step, base, model, formats):
                    left_out.setdefault(reason, []).append(step)
                else:
                    available[step] = None
    notes = [f"Left out: {', '.join(steps)}; {reason}." for reason, steps in left_out.items()]
    if own:
        notes.append(f"No change: {', '.join(own)}; the canvas is made this way already.")
    return tuple(available), notes


def refuse_nothing_swapped(units: Sequence[str], base: Geometry, notes: Sequence[str]) -> None:
    """Refuse units that are only steps if none of them changes anything."""
    if units and any(not is_step(unit) for unit in units):
        return
    if notes and not overrides_of(units, base):
        raise UserError(f"No step of the pipeline changes. {' '.join(notes)} Give another AXIS=VALUE.")


def nothing_is_decoded(formats: Mapping[str, int]) -> bool:
    """Whether images of these formats are arrays, which are not decoded."""
    return bool(formats) and not formats.keys() - {"array"}


def _why_not(unit: str, base: Geometry, model: Model | None, formats: Counter[str]) -> str:
    """Why a step is not available here; "" if it is."""
    axis, value = axis_of(unit), value_of(unit)
    try:
        if axis in REQUIRED:
            REQUIRED[axis](value)
        changed: dict[str, Any] = dict(override_of(unit, base) or {})
        replace(base, **changed)  # an impossible geometry is refused here and not during a run
    except UserError as error:
        return str(error).rstrip(".")
    if axis == NUMERICS:
        return why_no_variant(model, value) if model else "no model was given"
    if axis == "decode" and nothing_is_decoded(formats):
        return NOT_DECODED
    if axis == "decode" and (read := require_decoder(value).formats):
        other = sum(count for name, count in formats.items() if name not in read)
        if other > UNREADABLE_SHARE * formats.total():
            return f"{other} of {formats.total()} images are in a format that it does not read"
    if base.rule == "none" and axis in ("resize", "geometry"):
        return "the model takes images of any size, and they are not resized"
    return ""
