"""The steps between a file and a model's answer, and what each may be swapped for: `axis=value`.

decode      which library turns bytes into pixels
resize      which library and filter changes the size
geometry    how size and crop are computed
colour      how decoded colours are handled, or mishandled
numerics    which arithmetic the network runs in
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.imaging.colour import COLOURS
from windtunnel.imaging.decoders import Decoder, decoders, require_decoder
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.resizers import Resizer, require_resizer, resizer_names
from windtunnel.models import Model
from windtunnel.models.numerics import VARIANTS, why_no_variant

Override = Mapping[str, object]

EVERYTHING = "*"
# The whole image of the paper's 8/7: 256 for a crop of 224.
MARGIN = 8 / 7
# Raised whenever a step gives other answers than before, so that older runs are not paired with newer ones.
REVISIONS = {"numerics=float16": 1, "numerics=int8": 2}
# A decoder that cannot read more of the images than this is no part of "everything available": it would
# take them from every other condition.
UNREADABLE_SHARE = 0.1
NOT_DECODED = "the images are arrays, and nothing is decoded"
CROPPING = ("short-side", "squash", "crop-then-resize")


def _where(applies: bool, override: Override) -> Override:
    """An override where it can change anything."""
    return override if applies else {}


def _whole_px(base: Geometry) -> int:
    """The side of the whole image around the crop."""
    if base.rule in ("short-side", "squash"):
        return base.resize_px
    return int(base.crop_px * MARGIN)


def _cropping(base: Geometry) -> bool:
    """Whether a geometry cuts something off."""
    return base.rule in CROPPING and base.crop_px > 0


# What needs the side of a crop has nothing to change where there is none.
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
    """For every name the override that puts it into a field."""
    return {name: partial(_fixed, {field: name}) for name in names}


def _fixed(override: Override, _base: Geometry) -> Override:
    return override


# By axis, what there is at the time: plug-ins may be included later.
AXES: dict[str, Callable[[], Mapping[str, Callable[[Geometry], Override]]]] = {
    "decode": lambda: _each("decoder", (decoder.name for decoder in decoders())),
    "resize": lambda: _each("resizer", resizer_names()),
    "geometry": lambda: GEOMETRIES,
    "colour": lambda: _each("colour", COLOURS),
    "numerics": lambda: {name: partial(_fixed, {}) for name in VARIANTS},
}
# The axes whose values are plug-ins, which may need a library.
REQUIRED: dict[str, Callable[[str], Decoder | Resizer]] = {
    "decode": require_decoder,
    "resize": require_resizer,
}
# The libraries of steps that are no plug-ins.
AXIS_LIBRARIES = {"numerics": "onnx"}


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
    """The library that a step brings in, by its name on PyPI; "" for none."""
    axis = axis_of(unit)
    return REQUIRED[axis](value_of(unit)).library if axis in REQUIRED else AXIS_LIBRARIES.get(axis, "")


def check_step(unit: str) -> None:
    """Refuse an axis or a value there is not."""
    axis, value = axis_of(unit), value_of(unit)
    if axis not in AXES:
        raise unknown_name("axis", axis, AXES, f"write AXIS=VALUE, or AXIS={EVERYTHING} for all")
    if value != EVERYTHING and value not in AXES[axis]():
        raise unknown_name(axis, value, AXES[axis](), f"or {EVERYTHING} for all there are")


def override_of(unit: str, base: Geometry) -> Override | None:
    """What a step changes of a geometry; None where it changes nothing."""
    override = AXES[axis_of(unit)]()[value_of(unit)](base)
    same = all(asdict(base)[key] == value for key, value in override.items())
    return None if same and axis_of(unit) != "numerics" else override


def spelt_out(unit: str) -> list[str]:
    """`axis=*` as every step there is; any other unit as it is."""
    if value_of(unit) != EVERYTHING:
        return [unit]
    return [f"{axis_of(unit)}={value}" for value in AXES[axis_of(unit)]()]


def overrides_of(units: Sequence[str], base: Geometry) -> dict[str, Override]:
    """The steps among some units that change something, and what each changes of a geometry."""
    steps = [step for unit in units if is_step(unit) for step in spelt_out(unit)]
    overrides = {step: override_of(step, base) for step in steps}
    return {step: override for step, override in overrides.items() if override is not None}


def available_units(
    units: Sequence[str], base: Geometry, model: Model | None, formats: Counter[str]
) -> tuple[tuple[str, ...], list[str]]:
    """The units with every `axis=*` spelt out, and what was left out of them and why.

    A step that was named is refused where it cannot be taken, unless no image of any kind could show it.

    Args:
        units: of a suite; those that are no steps are kept as they are.
        base: the geometry that steps change.
        model: whose arithmetic is changed, if there is one.
        formats: how many of the images are in which format.
    """
    found: dict[str, None] = {}
    left_out: dict[str, list[str]] = {}
    own: list[str] = []
    for unit in units:
        if not is_step(unit):
            found[unit] = None
        elif value_of(unit) != EVERYTHING:
            if axis_of(unit) == "decode" and nothing_is_decoded(formats):
                left_out.setdefault(NOT_DECODED, []).append(unit)
            elif reason := _why_not(unit, base, model, Counter()):
                raise UserError(f"{unit}: {reason}.")
            else:
                found[unit] = None
                own += [unit] if override_of(unit, base) is None else []
        else:
            for step in overrides_of([unit], base):
                if reason := _why_not(step, base, model, formats):
                    left_out.setdefault(reason, []).append(step)
                else:
                    found[step] = None
    remarks = [f"Left out: {', '.join(steps)}; {reason}." for reason, steps in left_out.items()]
    if own:
        remarks.append(f"Nothing swapped: {', '.join(own)}; that is how the canvas is made already.")
    return tuple(found), remarks


def refuse_nothing_swapped(units: Sequence[str], base: Geometry, remarks: Sequence[str]) -> None:
    """Refuse units that are steps alone, none of which changes anything."""
    if units and any(not is_step(unit) for unit in units):
        return
    if remarks and not overrides_of(units, base):
        raise UserError(f"No step of the pipeline is swapped. {' '.join(remarks)} Give another AXIS=VALUE.")


def nothing_is_decoded(formats: Mapping[str, int]) -> bool:
    """Whether images of these formats are arrays, which no decoder touches."""
    return bool(formats) and not formats.keys() - {"array"}


def _why_not(unit: str, base: Geometry, model: Model | None, formats: Counter[str]) -> str:
    """Why a step cannot be taken here; "" where it can."""
    axis, value = axis_of(unit), value_of(unit)
    try:
        if axis in REQUIRED:
            REQUIRED[axis](value)
        changed: dict[str, Any] = dict(override_of(unit, base) or {})
        replace(base, **changed)  # what cannot be built is found here and not in the middle of a run
    except UserError as error:
        return str(error).rstrip(".")
    if axis == "numerics":
        return why_no_variant(model, value) if model else "there is no model here"
    if axis == "decode" and nothing_is_decoded(formats):
        return NOT_DECODED
    if axis == "decode" and (read := require_decoder(value).formats):
        other = sum(count for name, count in formats.items() if name not in read)
        if other > UNREADABLE_SHARE * formats.total():
            return f"{other} of {formats.total()} images are in a format it does not read"
    if base.rule == "none" and axis in ("resize", "geometry"):
        return "the model takes images of any size, and they are not resized"
    return ""
