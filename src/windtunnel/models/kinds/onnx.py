"""ONNX files."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, has_suffix
from windtunnel.models.preprocess import declared


class Onnx(ModelKind):
    """A file that ends in `.onnx`."""

    name = "onnx"
    help = "an ONNX network, run by ONNX Runtime; on the CPU by one thread"
    form = "FILE.onnx"
    priority = 50

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.onnx`."""
        return has_suffix(source, ".onnx")

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network; its graph declares which sizes it takes."""
        from windtunnel.models.onnx import OnnxModel
        from windtunnel.models.onnx_detector import DETECTION, load_detector

        del data_size
        path = location_of(str(source))
        declaration = declared(preprocess, path)
        if declaration.task == DETECTION:
            return load_detector(path, declaration)
        return OnnxModel(path, preprocess)


onnx = Onnx()
