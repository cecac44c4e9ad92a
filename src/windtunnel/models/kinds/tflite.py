"""TFLite files."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, has_suffix


class Tflite(ModelKind):
    """A file that ends in `.tflite`."""

    name = "tflite"
    help = "a TFLite network, also quantised, run by LiteRT on one thread of the CPU"
    form = "FILE.tflite"
    extra = "ai_edge_litert"
    priority = 48

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.tflite`."""
        return has_suffix(source, ".tflite")

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network; its file declares which sizes it takes."""
        from windtunnel.models.tflite import TfliteModel

        del data_size
        return TfliteModel(location_of(str(source)), preprocess)


tflite = Tflite()
