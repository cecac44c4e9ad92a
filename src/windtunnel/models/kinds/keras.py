"""Keras files."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, has_suffix


class Keras(ModelKind):
    """A file that ends in `.keras`."""

    name = "keras"
    help = "a Keras 3 network, in inference mode, on the torch backend unless another is chosen"
    form = "FILE.keras"
    priority = 48

    def recognises(self, source: object) -> bool:
        """Whether the name of a file ends in `.keras`."""
        return has_suffix(source, ".keras")

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network; its layers declare which sizes they take."""
        from windtunnel.models.keras import KerasModel

        del data_size
        return KerasModel(location_of(str(source)), preprocess)


keras = Keras()
