"""Export of a trained module: an ONNX file for runs, with its preprocessing in a TOML file."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.models.declaration import declaration_text
from windtunnel.models.preprocess import Preprocess


def check_exporter() -> None:
    """Refuse an installation without the package onnx, which torch needs for exports."""
    load_extra("onnx", "Exporting trained models to ONNX")


def export_onnx(
    module: Any,
    preprocess: Preprocess,
    classes: Sequence[str],
    file: Path,
    declared: Mapping[str, Sequence[str]],
) -> Path:
    """Write a module as ONNX with a dynamic batch axis, and `<file>.toml` that declares its preprocessing.

    Args:
        module: the trained module.
        preprocess: its preprocessing.
        classes: class names in the order of the outputs.
        file: the ONNX file.
        declared: further lists of texts for the TOML, such as `trained_on`; empty ones are left out.
    """
    _write_graph(module, preprocess, file)
    facts = {key: list(texts) for key, texts in declared.items() if texts}
    text = declaration_text(preprocess, facts, labels=list(classes), outputs="logits")
    Path(f"{file}.toml").write_text(text, encoding="utf-8")
    return file


def check_exports(module: Any, preprocess: Preprocess) -> None:
    """Refuse a module that cannot be exported to ONNX, by exporting it to a temporary file."""
    training = module.training
    try:
        with tempfile.TemporaryDirectory() as folder, _torch_prints_no_graphs():
            _write_graph(module, preprocess, Path(folder) / "trial.onnx")
    except Exception as error:  # of the exporter, or of the user's module
        raise UserError(
            f"The module cannot be exported to ONNX, which training needs at its end ({first_line(error)}); "
            "change that part of the module."
        ) from error
    finally:
        module.train(training)


def _write_graph(module: Any, preprocess: Preprocess, file: Path) -> None:
    side_px = preprocess.geometry.output_px
    if side_px is None:
        raise UserError("The preprocessing gives images of any size; an ONNX file needs one, such as 224.")
    blank = preprocess.tensor.apply(np.zeros((1, side_px, side_px, 3), np.uint8))
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            module.eval(),
            (torch.from_numpy(blank).to(device),),
            str(file),
            input_names=["images"],
            output_names=["logits"],
            dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}},
            dynamo=False,
        )


@contextmanager
def _torch_prints_no_graphs() -> Iterator[None]:
    """Keep torch from printing the whole graph when an export fails; torch has no option for that."""
    name = "_jit_onnx_log"
    printer = getattr(torch._C, name, None)
    if printer is None:
        yield
        return
    setattr(torch._C, name, lambda *_: None)
    try:
        yield
    finally:
        setattr(torch._C, name, printer)
