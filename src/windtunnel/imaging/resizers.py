"""Resizers: pixels to a given size, by library and filter (`pillow-bilinear`, `opencv-area`)."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image as PillowImage

from windtunnel.core.errors import unknown_name
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image

PILLOW_FILTERS = {
    "nearest": PillowImage.Resampling.NEAREST,
    "box": PillowImage.Resampling.BOX,
    "bilinear": PillowImage.Resampling.BILINEAR,
    "hamming": PillowImage.Resampling.HAMMING,
    "bicubic": PillowImage.Resampling.BICUBIC,
    "lanczos": PillowImage.Resampling.LANCZOS,
}
OPENCV_FILTERS = {
    "nearest": cv2.INTER_NEAREST,
    "nearest-exact": cv2.INTER_NEAREST_EXACT,
    "bilinear": cv2.INTER_LINEAR,
    "bilinear-exact": cv2.INTER_LINEAR_EXACT,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos": cv2.INTER_LANCZOS4,
}
# Filter and whether it is widened when it shrinks.
TORCH_FILTERS = {
    "bilinear": ("bilinear", False),
    "bilinear-antialias": ("bilinear", True),
    "bicubic": ("bicubic", False),
    "bicubic-antialias": ("bicubic", True),
}


def resize(image: Image, width: int, height: int, resizer: str = "pillow-bilinear") -> Image:
    """Resize to exactly width x height; an image that already has that size is returned as it is."""
    require_resizer(resizer)
    if image.shape[:2] == (height, width):
        return image
    library, filter_name = resizer.split("-", 1)
    return _LIBRARIES[library](image, width, height, filter_name)


def require_resizer(name: str) -> None:
    """Refuse a resizer there is not, or whose library cannot be imported, in one line."""
    if name not in RESIZERS:
        raise unknown_name("resizer", name, RESIZERS)
    if name.startswith("torch-"):
        load_extra("torch", "Resizing by torch")


def _pillow(image: Image, width: int, height: int, name: str) -> Image:
    return np.asarray(PillowImage.fromarray(image).resize((width, height), PILLOW_FILTERS[name]))


def _opencv(image: Image, width: int, height: int, name: str) -> Image:
    return np.asarray(cv2.resize(image, (width, height), interpolation=OPENCV_FILTERS[name]), dtype=np.uint8)


def _torch(image: Image, width: int, height: int, name: str) -> Image:
    """torch's interpolation of float32 pixels, rounded half to even: its byte kernels vary by processor."""
    import torch

    mode, antialias = TORCH_FILTERS[name]
    values = torch.from_numpy(image.transpose(2, 0, 1)[None].astype(np.float32))
    sized = torch.nn.functional.interpolate(
        values, size=(height, width), mode=mode, align_corners=False, antialias=antialias
    )
    return np.asarray(sized[0].round().clamp(0, 255).byte().permute(1, 2, 0).contiguous().numpy())


_LIBRARIES: dict[str, Callable[[Image, int, int, str], Image]] = {
    "pillow": _pillow,
    "opencv": _opencv,
    "torch": _torch,
}
RESIZERS = (
    *(f"pillow-{name}" for name in PILLOW_FILTERS),
    *(f"opencv-{name}" for name in OPENCV_FILTERS),
    *(f"torch-{name}" for name in TORCH_FILTERS),
)
