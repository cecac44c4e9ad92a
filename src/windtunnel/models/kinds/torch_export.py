"""Programs of torch.export."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, has_suffix, unknown_model


class TorchExport(ModelKind):
    """A file that ends in `.pt2`."""

    name = "torch-export"
    help = "a program of torch.export, written by torch.export.save"
    form = "FILE.pt2"
    extra = "torch"
    priority = 50

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.pt2`."""
        return has_suffix(source, ".pt2")

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The program; its graph declares which sizes and batches it takes."""
        from windtunnel.models.exported import read_program
        from windtunnel.models.torch import TorchModel

        location = location_of(str(source))
        if not location.is_file():
            raise unknown_model(str(source))
        module = read_program(location)
        origin = Origin(location.stem, location, preprocess, data_size, portable=True)
        declaration = module.fitted(origin.declaration, location)
        model = TorchModel(module, origin, self.name, file_digest(location), declaration)
        model.fixed_size = module.fixed_size
        return model


torch_export = TorchExport()
