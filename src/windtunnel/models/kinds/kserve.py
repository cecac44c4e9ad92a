"""Models behind an inference server."""

from __future__ import annotations

from pathlib import Path

from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind
from windtunnel.models.served_address import is_served_model, served_address


class Kserve(ModelKind):
    """A URL of the Open Inference Protocol."""

    name = "kserve"
    help = "a model of an inference server that speaks the Open Inference Protocol (KServe v2) over HTTP"
    form = "kserve://HOST:PORT/MODEL or https://HOST/v2/models/MODEL"
    priority = 48

    def recognises(self, source: object) -> bool:
        """Whether a text is the URL of a served model."""
        return isinstance(source, str) and is_served_model(source)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The model; the server's metadata declare which sizes it takes."""
        from windtunnel.models.kserve import KserveModel

        del data_size
        return KserveModel(served_address(str(source)), preprocess)


kserve = Kserve()
