"""The embedded demo network."""

from __future__ import annotations

from pathlib import Path

from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind


class Demo(ModelKind):
    """The word `demo`."""

    name = "demo"
    help = "a small ONNX network for the digits of the demo dataset"
    form = "the word demo"
    priority = 100

    def recognises(self, source: object) -> bool:
        """Whether the source is the word."""
        return isinstance(source, str | Path) and str(source) == "demo"

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network."""
        from windtunnel.data.demo import demo_model_path
        from windtunnel.models.onnx import OnnxModel

        del source, data_size
        return OnnxModel(demo_model_path(), preprocess)


demo = Demo()
