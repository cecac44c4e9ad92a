"""The data configuration of a timm network as a declaration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import DECLARE_IT, Declaration, Preprocess, Tensor, declared


def declaration_of(module: Any, title: str, given: str | Path | None, folder: Path | None) -> Declaration:
    """What the configuration of a network declares, unless the user declares preprocessing."""
    from timm.data import resolve_model_data_config

    user = declared(given, folder).preprocess
    if not user.assumed:
        return Declaration(user, fixed_tensor=True)
    preprocess = preprocess_of(resolve_model_data_config(module), title)
    return Declaration(preprocess, fixed_tensor=True)


def preprocess_of(config: Mapping[str, Any], title: str) -> Preprocess:
    """The preprocessing of a resolved data configuration; refuses what a declaration cannot express.

    The image is resized to floor(side / crop_pct): its short side with crop_mode `center`, both sides with
    `squash`. The centre of the input size is cropped.
    """
    channels, height, width = config["input_size"]
    mode, crop_pct = config["crop_mode"], config["crop_pct"]
    if height != width or channels not in (1, 3):
        raise UserError(
            f"{title} takes {channels} channels of {width}x{height} pixels; windtunnel feeds square images "
            "of 1 or 3 channels."
        )
    if mode not in ("center", "squash"):
        raise UserError(
            f"{title} has crop_mode '{mode}', which windtunnel does not support; {DECLARE_IT}, with a resize "
            "rule that is closest."
        )
    resize_px = math.floor(height / crop_pct)
    if resize_px < height:
        raise UserError(f"{title} has crop_pct {crop_pct}, which pads the image; {DECLARE_IT}.")
    geometry = Geometry(
        rule="short-side" if mode == "center" else "squash",
        resizer=f"pillow-{config['interpolation']}",
        resize_px=resize_px,
        crop_px=height,
    )
    mean, std = (tuple(map(float, config[key])) for key in ("mean", "std"))
    tensor = Tensor("grey" if channels == 1 else "rgb", 255.0, mean[:channels], std[:channels])
    return Preprocess(geometry, tensor, f"from the configuration of {title}")
