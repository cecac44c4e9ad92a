"""TorchScript programs."""

from __future__ import annotations

import zipfile
from pathlib import Path

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import local_file, location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, has_suffix, unknown_model

SUFFIXES = (".ts", ".pt", ".pth")


class Torchscript(ModelKind):
    """A file that `torch.jit.save` has written."""

    name = "torchscript"
    help = "a TorchScript program, written by torch.jit.save"
    form = "FILE.pt or FILE.ts"
    extra = "torch"
    priority = 50

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.pt`, `.pth` or `.ts`."""
        return any(has_suffix(source, suffix) for suffix in SUFFIXES)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The program on the CPU; a checkpoint without code is refused."""
        import torch

        from windtunnel.models.torch import TorchModel

        location = location_of(str(source))
        if not location.is_file():
            raise unknown_model(str(source))
        path = local_file(location)
        _refuse_checkpoint(path, str(source))
        try:
            module = torch.jit.load(path, map_location="cpu")
        except Exception as error:  # of the program's own code, or a damaged file
            raise UserError(
                f"{source} is not a program that torch {torch.__version__} can load: {first_line(error)}. "
                "Write it again with torch.jit.save."
            ) from error
        origin = Origin(location.stem, location, preprocess, data_size, portable=True)
        return TorchModel(module, origin, self.name, file_digest(path))


def _refuse_checkpoint(path: Path, source: str) -> None:
    """Refuse a file with weights only, and other programs."""
    names = zipfile.ZipFile(path).namelist() if zipfile.is_zipfile(path) else []
    inner = {name.partition("/")[2] for name in names}
    if "constants.pkl" in inner:
        return
    if any(name.startswith("models/") for name in inner):
        raise UserError(f"{source} is a program of torch.export; rename it to FILE.pt2.")
    raise UserError(
        f"{source} contains no program, only weights or other objects; give the network too: "
        f"FILE.py:factory(weights={source}), where factory returns the module."
    )


torchscript = Torchscript()
