"""Python callables."""

from __future__ import annotations

import builtins
import hashlib
from pathlib import Path
from typing import Any

from windtunnel.core.records import DEFAULT_TASK
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin
from windtunnel.models.python import CallableModel, live_origin


class Callable(ModelKind):
    """A live object that takes images and returns scores."""

    name = "callable"
    help = "a Python callable from uint8 NHWC images to scores, with its own arithmetic"
    form = "an object in Python, or what a factory returns"
    live = True
    priority = 10

    def recognises(self, source: object) -> bool:
        """Whether the source can be called."""
        return builtins.callable(source)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The object as a model of this process."""
        return self.wrap(source, live_origin(source, preprocess, data_size))

    def wrap(self, made: Any, origin: Origin) -> Model:
        """The object as a model."""
        fingerprint = str(getattr(made, "fingerprint", "")) or _source_fingerprint(origin)
        declaration = origin.declaration
        model = CallableModel
        if declaration.task != DEFAULT_TASK:
            from windtunnel.models.python_detector import CallableDetector

            model = CallableDetector
        return model(
            made, self.name, declaration, origin.name, fingerprint, origin.data_size, portable=origin.portable
        )


def _source_fingerprint(origin: Origin) -> str:
    """The digest of the file of a callable, which has no weights to hash."""
    text = origin.file.read_bytes() if origin.file is not None and origin.file.is_file() else b""
    return hashlib.blake2b(origin.name.encode() + b"\0" + text, digest_size=16).hexdigest()


callable = Callable()
