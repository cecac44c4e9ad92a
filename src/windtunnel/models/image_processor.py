"""The image processor of a Hugging Face model as a declaration of preprocessing.

The library resolves the processor's configuration (`preprocessor_config.json`) and the defaults of its class.
The declaration that results is compared with the processor itself on two images.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.images import Image
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step
from windtunnel.imaging.resizers.pillow import PILLOW_FILTERS
from windtunnel.models.preprocess import DECLARE_IT, Preprocess, Tensor

# From this size on the processor of ConvNeXT and ResNet resizes to a square without a crop.
CONVNEXT_SQUARE_PX = 384
# The processor of LeViT resizes to this multiple of the size that it declares.
LEVIT_SCALE = 256 / 224
# Height and width of the images on which a declaration is compared with the processor.
TRIAL_SIZES = ((331, 480), (520, 377))
TOLERANCE = 1e-3


def declared_by(processor: Any, name: str) -> Preprocess:
    """The preprocessing of an image processor; refuses one that a declaration cannot express."""
    try:
        preprocess = Preprocess(_geometry(processor), _tensor(processor), f"from the processor of {name}")
    except _Inexpressible as error:
        raise UserError(
            f"The image processor of {name} ({type(processor).__name__}) {error}, which windtunnel does not "
            f"support; {DECLARE_IT}."
        ) from error
    except UserError as error:
        raise UserError(f"The image processor of {name} ({type(processor).__name__}): {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UserError(
            f"The image processor of {name} ({type(processor).__name__}) has settings that are missing or "
            f"of a wrong type ({first_line(error)}); correct its preprocessor_config.json, or {DECLARE_IT}."
        ) from error
    _compare(processor, preprocess, name)
    return preprocess


class _Inexpressible(Exception):
    """A setting of a processor that a declaration cannot express."""


def _geometry(processor: Any) -> Geometry:
    """Resize and crop. The library rounds the long side and the offset of the crop down."""
    crop_px = _side(processor, "crop_size") if _set(processor, "do_center_crop") else 0
    if not _set(processor, "do_resize"):
        if crop_px:
            raise _Inexpressible("crops without a resize")
        return Geometry(rule="none")
    names = {int(value): key for key, value in PILLOW_FILTERS.items()}
    number = getattr(processor, "resample", None)
    base = Geometry(
        resizer=f"pillow-{names[int(PillowImage.Resampling.BILINEAR if number is None else number)]}",
        crop_offset="floor",
    )
    short = _sizes(processor, "size").get("shortest_edge")
    pct: Any = getattr(processor, "crop_pct", None)
    # These classes resize in their own way; others ignore a crop_pct in their configuration.
    convnext, levit, poolformer = map(
        type(processor).__name__.startswith, ("ConvNext", "Levit", "PoolFormer")
    )
    if convnext and short and short < CONVNEXT_SQUARE_PX:
        return _cropped(base, int(short / pct), short)
    if convnext and short:
        return replace(base, rule="exact", resize_px=short, crop_px=short)
    if poolformer and pct:
        return _cropped(base, int((short or _side(processor, "size")) / pct), crop_px)
    if short:
        return _cropped(base, int(LEVIT_SCALE * short) if levit else short, crop_px)
    side = _side(processor, "size")
    if not crop_px:
        return replace(base, rule="exact", resize_px=side, crop_px=side)
    return replace(_cropped(base, side, crop_px), rule="squash")


def _cropped(base: Geometry, resize_px: int, crop_px: int) -> Geometry:
    if crop_px > resize_px:
        raise _Inexpressible(f"resizes to {resize_px} pixels and pads to {crop_px}")
    return replace(base, resize_px=resize_px, crop_px=crop_px)


def _tensor(processor: Any) -> Tensor:
    """The arithmetic: x * rescale_factor, minus the mean, divided by the standard deviation."""
    divisor = 1.0
    if _set(processor, "do_rescale"):
        divisor = float(f"{1 / getattr(processor, 'rescale_factor', 1 / 255):.12g}")
    mean, std = np.zeros(3), np.ones(3)
    if _set(processor, "do_normalize"):
        mean = mean + np.asarray(processor.image_mean, float)
        std = std * np.asarray(processor.image_std, float)
    if _set(processor, "rescale_offset"):  # as the processor of EfficientNet
        mean = mean + 1
    if _set(processor, "include_top"):
        std = std * np.asarray(processor.image_std, float)
    channels = "bgr" if _set(processor, "do_flip_channel_order") else "rgb"
    return Tensor(channels, divisor, tuple(map(float, mean)), tuple(map(float, std)))  # type: ignore[arg-type]


def _set(processor: Any, name: str) -> bool:
    return bool(getattr(processor, name, False))


def _sizes(processor: Any, name: str) -> dict[str, int]:
    """The sizes that an attribute declares, by name; a plain number is a square."""
    value = getattr(processor, name, None)
    if isinstance(value, int):
        return {"height": value, "width": value}
    keys = ("height", "width", "shortest_edge")
    given: dict[str, Any] = {key: getattr(value, key, None) for key in keys}
    given |= value if isinstance(value, dict) else {}
    return {key: int(given[key]) for key in keys if given[key] is not None}


def _side(processor: Any, name: str) -> int:
    """The side of a square; refuses other shapes."""
    sizes = _sizes(processor, name)
    sides = {sizes.get("height"), sizes.get("width")}
    if len(sides) != 1 or None in sides:
        raise _Inexpressible(f"has {name} {sizes or getattr(processor, name, None)}")
    return int(sizes["height"])


def _compare(processor: Any, preprocess: Preprocess, name: str) -> None:
    """Refuse a declaration that gives other numbers than the processor."""
    for height, width in TRIAL_SIZES:
        image = _trial_image(height, width)
        try:
            expected = processor(images=PillowImage.fromarray(image), return_tensors="np")["pixel_values"]
        except Exception as error:  # of the processor's own code
            raise UserError(
                f"The image processor of {name} fails on a plain image: {first_line(error)}. Correct its "
                f"preprocessor_config.json, or {DECLARE_IT}."
            ) from error
        canvas = crop_step(resize_step(image, preprocess.geometry), preprocess.geometry)
        given = preprocess.tensor.apply(canvas[None])
        wanted: NDArray[Any] = np.asarray(expected)
        if given.shape != wanted.shape or np.abs(given - wanted).max() > TOLERANCE * max(
            1, np.abs(wanted).max()
        ):
            raise UserError(
                f"The image processor of {name} ({type(processor).__name__}) does more than windtunnel can "
                f"declare: resize, crop, rescale and normalise. To use it, {DECLARE_IT}."
            )


def _trial_image(height: int, width: int) -> Image:
    """Smooth waves of different lengths in every channel."""
    rows, columns = np.mgrid[:height, :width]
    waves = [np.sin(rows / (9 + 4 * channel)) + np.cos(columns / (17 - 3 * channel)) for channel in range(3)]
    return np.asarray(127.5 + 60 * np.stack(waves, axis=-1), np.uint8)
