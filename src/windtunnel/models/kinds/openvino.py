"""OpenVINO IR files."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, has_suffix


class Openvino(ModelKind):
    """A file that ends in `.xml`."""

    name = "openvino"
    help = "an OpenVINO IR (FILE.xml and FILE.bin), run in float32 on one thread of the CPU"
    form = "FILE.xml"
    extra = "openvino"
    priority = 48

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.xml`."""
        return has_suffix(source, ".xml")

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network; its graph declares which sizes it takes."""
        from windtunnel.models.openvino import OpenvinoModel

        del data_size
        return OpenvinoModel(location_of(str(source)), preprocess)


openvino = Openvino()
