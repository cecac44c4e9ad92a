"""torch's interpolation, as for tensors."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.imaging.resizers import resizer

# The filter, and whether it is widened when shrinking.
TORCH_FILTERS = {
    "bilinear": ("bilinear", False),
    "bilinear-antialias": ("bilinear", True),
    "bicubic": ("bicubic", False),
    "bicubic-antialias": ("bicubic", True),
}


@resizer(
    help="torch's interpolate, antialiased only if the name includes it.",
    filters=TORCH_FILTERS,
    library="torch",
    needs="torch",
    rank=3,
)
def torch(image: Image, width: int, height: int, filter_: tuple[str, bool]) -> Image:
    """torch's interpolation of float32 pixels, rounded half to even: its byte kernels vary by processor."""
    import torch

    mode, antialias = filter_
    values = torch.from_numpy(image.transpose(2, 0, 1)[None].astype(np.float32))
    sized = torch.nn.functional.interpolate(
        values, size=(height, width), mode=mode, align_corners=False, antialias=antialias
    )
    return np.asarray(sized[0].round().clamp(0, 255).byte().permute(1, 2, 0).contiguous().numpy())
