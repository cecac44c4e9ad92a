"""Models in wrappers."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.calls import split_wrapped
from windtunnel.core.errors import UserError
from windtunnel.models import Model, Size, load_unplaced
from windtunnel.models.kinds import ModelKind


class Wrapped(ModelKind):
    """`WRAPPER|MODEL`."""

    name = "wrapped"
    help = "a model of any kind in one or several wrappers, which change images or scores at test time"
    form = "WRAPPER|MODEL, such as clahe|model.onnx"
    priority = 110

    def recognises(self, source: object) -> bool:
        """Whether a text has a bar and is not the path of a file."""
        return isinstance(source, str | Path) and bool(split_wrapped(str(source))[0])

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The model in its wrappers."""
        from windtunnel.models.wrappers import REGISTRY as WRAPPERS
        from windtunnel.models.wrapping import parse_wrappers, wrapped_in

        texts, model = split_wrapped(str(source))
        if not model:
            raise UserError(f"{source} names no model; write {self.form}.")
        if model.partition("(")[0] in WRAPPERS and not Path(model).exists():
            raise UserError(f"{source} ends with the wrapper {model}; write the model last: {self.form}.")
        calls = parse_wrappers(texts)
        return wrapped_in(load_unplaced(model, preprocess, data_size), calls)


wrapped = Wrapped()
