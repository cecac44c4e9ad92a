"""Geometry: how a file becomes the pixels of a condition, in three stages at which a unit can act.

source (decoded, colour path applied) -> resized -> canvas (cropped)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, UserError, unknown_name
from windtunnel.core.images import Image, Stage
from windtunnel.core.records import GeometryRecord, record_of
from windtunnel.imaging.colour import COLOURS
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import MAX_CANVAS_PIXELS, Header, read_header
from windtunnel.imaging.resizers import library_of, resize
from windtunnel.kernels.window import ROUNDINGS, Rounding, Window, centre_window, whole

Rule = Literal["none", "short-side", "squash", "exact", "crop-then-resize", "letterbox"]
Exif = Literal["ignore", "apply"]
# The grey of letterboxed images, as detectors of the YOLO family are trained with.
PADDING = 114


@dataclass(frozen=True)
class Geometry:
    """Decoder, EXIF rule, resize and crop.

    Args:
        decoder: the library that decodes.
        exif: whether the orientation tag is applied (Pillow ignores it except in TIFFs).
        rule: `none` does not resize; `short-side` resizes the short side to `resize_px` and the long side in
            proportion; `squash` resizes to a square of `resize_px` whatever the aspect; `exact` resizes to
            a square of `crop_px` without a crop; `crop-then-resize` crops the central `crop_frac` of each
            side and resizes it to a square of `crop_px`; `letterbox` resizes the long side to `resize_px` and
            the short side in proportion, and pads it to a square with grey, half on either side.
        resizer: library and filter.
        resize_px: see rule.
        crop_px: side of the centre crop; 0 for no crop.
        crop_frac: see rule.
        long_side: how `short-side` rounds the long side.
        crop_offset: how half the margin is rounded to the crop's offset.
        colour: the colour path of decoded pixels (`rgb` for no change).
    """

    decoder: str = "pillow"
    exif: Exif = "ignore"
    rule: Rule = "short-side"
    resizer: str = "pillow-bilinear"
    resize_px: int = 256
    crop_px: int = 224
    crop_frac: float = 0.875
    long_side: Rounding = "floor"
    crop_offset: Rounding = "round"
    colour: str = "rgb"

    def __post_init__(self) -> None:
        DECODERS.get(self.decoder)
        library_of(self.resizer)
        if self.rule not in get_args(Rule):
            raise unknown_name("resize rule", self.rule, get_args(Rule))
        if self.exif not in get_args(Exif):
            raise unknown_name("EXIF rule", self.exif, get_args(Exif))
        if self.colour not in COLOURS:
            raise unknown_name("colour path", self.colour, COLOURS)
        for name in ("long_side", "crop_offset"):
            if getattr(self, name) not in ROUNDINGS:
                raise unknown_name(f"rounding {name}", getattr(self, name), ROUNDINGS)
        needs_crop = self.rule in ("exact", "crop-then-resize")
        if self.crop_px < (1 if needs_crop else 0) or self.resize_px < 1 or not 0 < self.crop_frac <= 1:
            raise UserError(
                f"crop_px {self.crop_px}, resize_px {self.resize_px} and crop_frac {self.crop_frac:g} are "
                f"not possible; rule '{self.rule}' needs sizes of at least 1 pixel and a share of at most 1."
            )
        if self.rule == "letterbox" and self.crop_px:
            raise UserError(
                f"crop_px is {self.crop_px}; rule 'letterbox' keeps the whole image: crop_px = 0."
            )
        if self.rule in ("short-side", "squash") and not 0 <= self.crop_px <= self.resize_px:
            raise UserError(
                f"crop_px is {self.crop_px} and resize_px is {self.resize_px}; the crop must fit inside."
            )

    def record(self) -> GeometryRecord:
        """The geometry as recipes store it."""
        return record_of(self, GeometryRecord)

    @classmethod
    def of(cls, record: GeometryRecord) -> Geometry:
        """The geometry of a recipe's record."""
        return cls(**msgspec.structs.asdict(record))

    @property
    def output_px(self) -> int | None:
        """Side of the resulting square, or None if it depends on the image."""
        if self.rule == "none" or not self.crop_px:
            return self.resize_px if self.rule in ("squash", "letterbox") else None
        return self.crop_px

    def assets(self) -> dict[str, str]:
        """Digests of the files of its decoder and resizer, if they are third-party."""
        return {**DECODERS.get(self.decoder).assets(), **library_of(self.resizer).assets()}

    def describe(self) -> str:
        """The geometry as short text, as the command line prints it."""
        return describe_geometry(self.record())


def describe_geometry(stored: GeometryRecord) -> str:
    """The fields of a recipe's geometry as short text; its plug-ins need not be installed."""
    sizes = {
        "none": "as it is",
        "short-side": f"{stored.resize_px}/{stored.crop_px}"
        if stored.crop_px
        else f"short side {stored.resize_px}",
        "squash": f"squash {stored.resize_px}" + (f"/{stored.crop_px}" if stored.crop_px else ""),
        "exact": f"exactly {stored.crop_px}",
        "letterbox": f"letterbox {stored.resize_px}",
        "crop-then-resize": f"middle {stored.crop_frac:g}, then {stored.crop_px}",
    }
    parts = [sizes[stored.rule]]
    if stored.rule != "none":
        parts.append(stored.resizer.replace("-", " "))
    if stored.decoder != "pillow":
        parts.append(f"{stored.decoder} decode")
    if stored.exif == "apply":
        parts.append("EXIF applied")
    if stored.colour != "rgb":
        parts.append(f"colours {stored.colour}")
    if stored.long_side != "floor":
        parts.append(f"long side {stored.long_side}")
    if stored.crop_offset != "round":
        parts.append(f"crop offset {stored.crop_offset}")
    return ", ".join(parts)


def decode_step(content: bytes | Image, geometry: Geometry, header: Header | None = None) -> Image:
    """An image's pixels by its geometry's decoder and EXIF rule; given pixels are returned unchanged.

    `header` is the image's header, if it was read already.
    """
    if not isinstance(content, bytes):
        return content
    header = header or read_header(content)
    wanted = resized_size(header.width, header.height, geometry)
    return decode(content, header, geometry.decoder, geometry.exif, wanted)


def colour_step(decoded: Image, geometry: Geometry) -> Image:
    """Decoded pixels after the geometry's colour path."""
    return COLOURS[geometry.colour](decoded)


def same_decoding(first: Geometry, other: Geometry) -> bool:
    """Whether two geometries decode a file to the same pixels."""
    if (first.decoder, first.exif) != (other.decoder, other.exif):
        return False
    return not DECODERS.get(first.decoder).scales or replace(first, colour="rgb") == replace(
        other, colour="rgb"
    )


def resized_size(width: int, height: int, geometry: Geometry) -> tuple[int, int]:
    """Width and height to which a whole image is resized, before the crop."""
    if geometry.rule == "none":
        return width, height
    if geometry.rule == "short-side":
        return short_side_size(width, height, geometry.resize_px, geometry.long_side)
    if geometry.rule == "letterbox":
        scale = geometry.resize_px / max(width, height)
        return max(1, round(width * scale)), max(1, round(height * scale))
    if geometry.rule == "crop-then-resize":
        side = math.ceil(geometry.crop_px / geometry.crop_frac)
        return side, side
    side = geometry.resize_px if geometry.rule == "squash" else geometry.crop_px
    return side, side


def resize_step(source: Image, geometry: Geometry) -> Image:
    """Resize a decoded image as its geometry requires before the crop."""
    if geometry.rule == "crop-then-resize":
        source = kept_window(source, "source", geometry).cut(source)
    return _resize_whole(source, geometry)


def crop_step(resized: Image, geometry: Geometry) -> Image:
    """Crop the centre of a resized image, if the geometry crops last; letterboxing pads it instead."""
    if geometry.rule == "letterbox":
        left, top = _padding(resized.shape[1], resized.shape[0], geometry)
        padded = np.full((geometry.resize_px, geometry.resize_px, 3), PADDING, np.uint8)
        padded[top : top + resized.shape[0], left : left + resized.shape[1]] = resized
        return padded
    return kept_window(resized, "resized", geometry).cut(resized)


def kept_window(image: Image, stage: Stage, geometry: Geometry) -> Window:
    """The part of an image at a stage that the geometry uses next; the rest need not be computed."""
    height, width = image.shape[:2]
    if stage == "source" and geometry.rule == "crop-then-resize":
        inner = int(width * geometry.crop_frac), int(height * geometry.crop_frac)
        return centre_window(image, *inner, geometry.crop_offset)
    if stage == "resized" and geometry.rule in ("short-side", "squash") and geometry.crop_px:
        return centre_window(image, geometry.crop_px, geometry.crop_px, geometry.crop_offset)
    return whole(image)


def finish(part: Image, stage: Stage, geometry: Geometry) -> Image:
    """The canvas from the part of an image that `kept_window` selects at a stage."""
    return crop_step(_resize_whole(part, geometry), geometry) if stage == "source" else part


def _resize_whole(source: Image, geometry: Geometry) -> Image:
    """The resize of a geometry, for a source that is already cropped if the geometry crops first."""
    height, width = source.shape[:2]
    if geometry.rule == "none":
        return source
    if geometry.rule == "crop-then-resize":
        return resize(source, geometry.crop_px, geometry.crop_px, geometry.resizer)
    new_width, new_height = resized_size(width, height, geometry)
    if new_width * new_height > MAX_CANVAS_PIXELS:
        raise ImageError(
            "too_large",
            f"{width}x{height} becomes {new_width}x{new_height} pixels; at most {MAX_CANVAS_PIXELS:,} in all",
        )
    return resize(source, new_width, new_height, geometry.resizer)


def boxes_in_source(
    boxes: NDArray[np.float32], width: int, height: int, geometry: Geometry
) -> NDArray[np.float32]:
    """Boxes (left, top, right, bottom) in pixels of the decoded image, given those in the model's input.

    They are clipped to the image; a model that takes the image as it is has its boxes unchanged. Geometries
    that crop are refused for detectors.
    """
    if geometry.rule == "none":
        return boxes
    new_width, new_height = resized_size(width, height, geometry)
    left, top = _padding(new_width, new_height, geometry) if geometry.rule == "letterbox" else (0, 0)
    scale = np.array([width / new_width, height / new_height] * 2)
    source = (boxes - np.array([left, top] * 2)) * scale
    return np.asarray(np.clip(source, 0, [width, height] * 2), np.float32)


def _padding(width: int, height: int, geometry: Geometry) -> tuple[int, int]:
    """The columns to the left of a letterboxed image and the rows above it."""
    return (geometry.resize_px - width) // 2, (geometry.resize_px - height) // 2


def short_side_size(width: int, height: int, short_px: int, rounding: Rounding = "floor") -> tuple[int, int]:
    """Width and height with the short side at short_px and the long side short_px*long/short, rounded."""
    if width <= height:
        return short_px, ROUNDINGS[rounding](short_px * height / width)
    return ROUNDINGS[rounding](short_px * width / height), short_px
