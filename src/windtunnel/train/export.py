"""Handing a trained module over: an ONNX file that any run takes, with its preprocess beside it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from windtunnel.errors import UserError
from windtunnel.models.declaration import declaration_text
from windtunnel.models.preprocess import Preprocess


def export_onnx(module: Any, preprocess: Preprocess, classes: Sequence[str], file: Path) -> Path:
    """Write a module as ONNX with a free batch axis, and `<file>.toml` that declares its preprocess."""
    side_px = preprocess.geometry.output_px
    if side_px is None:
        raise UserError("The preprocess gives pictures of any size; an ONNX file needs one, such as 224.")
    blank = preprocess.tensor.apply(np.zeros((1, side_px, side_px, 3), np.uint8))
    device = next((one.device for one in module.parameters()), torch.device("cpu"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            module.eval(),
            (torch.from_numpy(blank).to(device),),
            str(file),
            input_names=["pictures"],
            output_names=["logits"],
            dynamic_axes={"pictures": {0: "batch"}, "logits": {0: "batch"}},
            dynamo=False,
        )
    text = declaration_text(preprocess, {}, labels=list(classes), outputs="logits")
    Path(f"{file}.toml").write_text(text, encoding="utf-8")
    return file
