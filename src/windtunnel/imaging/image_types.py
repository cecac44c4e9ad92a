"""Images of other libraries: converted to uint8 arrays, and back to the same kind.

Neither Pillow nor torch is imported here: a caller with such an image has imported its library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image

T = TypeVar("T")

Layout = Literal["auto", "CHW", "HWC"]
LAYOUTS = ("auto", "CHW", "HWC")
CHANNELS = (1, 3)
PILLOW_MODES = ("RGB", "L")


def check_layout(layout: str) -> None:
    """Refuse an unknown layout."""
    if layout not in LAYOUTS:
        raise unknown_name("layout", str(layout), LAYOUTS)


def to_pixels(image: T, layout: Layout = "auto") -> tuple[Image, Callable[[Image], T]]:
    """An image's pixels, and a function from pixels back to an image of the same kind.

    Args:
        image: a Pillow image (RGB or L), a NumPy array or a torch tensor; uint8, or floats from 0 to 1,
            which are rounded to 256 levels.
        layout: the position of channels in arrays and tensors; `auto` is HWC for arrays, CHW for tensors.

    Returns:
        uint8, HxWxC or HxW, and a function from such pixels to an image of the given kind, type, layout
        and device.

    Raises:
        UserError: it is not a single image, or its values or channels cannot be used.
    """
    converted: tuple[Image, Callable[[Image], Any]]
    pillow, torch = sys.modules.get("PIL.Image"), sys.modules.get("torch")
    if isinstance(image, np.ndarray):
        converted = _from_array(np.asarray(image), layout, "HWC")
    elif pillow is not None and isinstance(image, pillow.Image):
        converted = _from_pillow(image, pillow)
    elif torch is not None and isinstance(image, torch.Tensor):
        converted = _from_tensor(image, layout, torch)
    else:
        raise UserError(
            f"The image is a {type(image).__name__}; give a PIL image, a NumPy array or a torch tensor."
        )
    return converted


def _from_pillow(image: Any, pillow: ModuleType) -> tuple[Image, Callable[[Image], Any]]:
    if image.mode not in PILLOW_MODES:
        raise UserError(
            f"The image's mode is {image.mode}; call .convert('RGB') first, or .convert('L') for grey."
        )

    def restore(pixels: Image) -> Any:
        made = pillow.fromarray(pixels)
        made.info = image.info.copy()  # like Pillow's own operations: later steps may read EXIF there
        return made

    return np.asarray(image), restore


def _from_array(
    values: NDArray[Any], layout: Layout, usual: Layout
) -> tuple[Image, Callable[[Image], NDArray[Any]]]:
    chosen = _layout_of(values.shape, layout, usual)
    dtype = values.dtype

    def restore(pixels: Image) -> NDArray[Any]:
        moved = _channels_to(chosen, pixels)
        return moved if dtype == np.uint8 else np.asarray(moved.astype(dtype) / dtype.type(255), dtype)

    return _to_bytes(_channels_last(chosen, values)), restore


def _from_tensor(tensor: Any, layout: Layout, torch: ModuleType) -> tuple[Image, Callable[[Image], Any]]:
    held = tensor.detach().cpu()
    # NumPy has no bfloat16. The arithmetic is NumPy's: torch would start threads for it.
    values = (held.float() if held.dtype == torch.bfloat16 else held).numpy()
    pixels, restore_array = _from_array(values, layout, "CHW")

    def restore(pixels: Image) -> Any:
        made = torch.from_numpy(restore_array(pixels))
        return made.to(tensor.device, tensor.dtype).as_subclass(type(tensor))

    return pixels, restore


def _layout_of(shape: tuple[int, ...], layout: Layout, usual: Layout) -> Layout:
    """The layout of one image of this shape."""
    if len(shape) == 2:
        return "HWC"
    if len(shape) != 3:
        raise UserError(
            f"The image's shape is {shape}; give one image at a time: HxW, or 1 or 3 channels of it."
        )
    if layout == "auto" and shape[0] in CHANNELS and shape[-1] in CHANNELS:
        raise UserError(f"The image's shape {shape} can be CHW or HWC; give layout='CHW' or layout='HWC'.")
    chosen = usual if layout == "auto" else layout
    channels = shape[-1] if chosen == "HWC" else shape[0]
    if channels not in CHANNELS:
        other = "CHW" if chosen == "HWC" else "HWC"
        raise UserError(
            f"The image's shape {shape} read as {chosen} has {channels} channels; "
            f"give 1 or 3 channels, or layout='{other}'."
        )
    return chosen


def _channels_last(layout: Layout, values: NDArray[Any]) -> NDArray[Any]:
    return values.transpose(1, 2, 0) if layout == "CHW" else values


def _channels_to(layout: Layout, pixels: Image) -> Image:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1) if layout == "CHW" else pixels)


def _to_bytes(values: NDArray[Any]) -> Image:
    """Bytes unchanged, or floats from 0 to 1 rounded to the nearest of 256 levels."""
    if values.dtype == np.uint8:
        return values
    if not np.issubdtype(values.dtype, np.floating):
        raise UserError(f"The image contains {values.dtype}; give uint8, or floats from 0 to 1.")
    levels = np.rint(values.astype(np.float64) * 255)
    # Resizing may give 1.0000001: values that round to a level are in range. NaN is not.
    if levels.size and not (levels.min() >= 0 and levels.max() <= 255):
        raise UserError(
            f"The image's floats range from {values.min():.4g} to {values.max():.4g}; give 0 to 1: "
            "put the transform before normalisation, or divide by 255."
        )
    return levels.astype(np.uint8)
