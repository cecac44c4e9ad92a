"""Python models: a factory that returns a callable or a torch module, or such an object itself."""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.registry import import_file
from windtunnel.models import (
    Model,
    Scores,
    Size,
    behaviour,
    check_scores,
    output_facts,
    probe_images,
)
from windtunnel.models.preprocess import Declaration, Preprocess, declared

BATCH = 32


def load(spec: str, preprocess: str | Path | None, data_size: Size | None = None) -> Model:
    """Load `module:factory` or `file.py:factory` and wrap what the factory returns."""
    where, _, name = spec.rpartition(":")
    file = Path(where) if where.endswith(".py") else None
    if file is not None:
        module: Any = import_file(file)
    else:
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))  # a console script does not look here by itself
        try:
            module = importlib.import_module(where)
        except ImportError as error:
            raise UserError(
                f"'{spec}' cannot be imported: {error}. Give module:factory or file.py:factory."
            ) from error
    factory = getattr(module, name, None)
    if not callable(factory):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise unknown_name(f"factory in {where}", name, known)
    try:
        made = factory()
    except (Exception, SystemExit) as error:  # the user's own code
        raise UserError(f"{spec} failed: {type(error).__name__}: {error}.") from error
    source = Path(inspect.getfile(module)) if getattr(module, "__file__", None) else None
    return _wrap(made, declared(preprocess, source), name, source, data_size, portable=True)


def wrap(made: object, preprocess: str | Path | None, data_size: Size | None = None) -> Model:
    """Wrap a live object; it stays in this process."""
    name = str(getattr(made, "name", None) or getattr(made, "__name__", None) or type(made).__name__)
    try:
        source = Path(inspect.getfile(made if callable(made) and hasattr(made, "__code__") else type(made)))
    except (TypeError, OSError):
        source = None
    return _wrap(made, declared(preprocess, None), name, source, data_size, portable=False)


def _wrap(
    made: object,
    declaration: Declaration,
    name: str,
    source: Path | None,
    data_size: Size | None,
    *,
    portable: bool,
) -> Model:
    if is_torch_module(made):
        from windtunnel.models.torch import TorchPredictor, state_fingerprint

        predictor: Callable[[NDArray[np.uint8]], Any] = TorchPredictor(made, declaration.preprocess.tensor)
        return CallableModel(
            predictor, "torch", declaration, name, state_fingerprint(made), data_size, portable=portable
        )
    if not callable(made):
        raise UserError(
            f"{name} gives a {type(made).__name__}; give a callable (uint8 NHWC to scores) or a torch module."
        )
    fingerprint = str(getattr(made, "fingerprint", "")) or _source_fingerprint(name, source)
    return CallableModel(made, "callable", declaration, name, fingerprint, data_size, portable=portable)


def is_torch_module(made: object) -> bool:
    """Whether an object is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(made, torch.nn.Module)


def _source_fingerprint(name: str, source: Path | None) -> str:
    """A callable has no weights to hash: the file it comes from stands for it."""
    text = source.read_bytes() if source is not None and source.is_file() else b""
    return hashlib.blake2b(name.encode() + b"\0" + text, digest_size=16).hexdigest()


class CallableModel:
    """A classifier that is a Python callable from uint8 NHWC images to scores.

    Attributes:
        probe_size: height and width of the images it was tried on, where it declares no size; else None.
    """

    batch = BATCH

    def __init__(
        self,
        predictor: Callable[[NDArray[np.uint8]], Any],
        kind: str,
        declaration: Declaration,
        name: str,
        fingerprint: str,
        data_size: Size | None = None,
        *,
        portable: bool,
    ) -> None:
        self._predictor = predictor
        self.kind = kind
        self.name = name
        self.portable = portable
        self.preprocess = declaration.preprocess
        self.trained_on = declaration.trained_on
        self.about = declaration.about
        self.probe_size, probe = self._probe(data_size)
        facts = output_facts(declaration, probe, name)
        self.fingerprint = f"{fingerprint}-{behaviour(probe)}"
        self.class_count, self.classes = facts.class_count, facts.classes
        self.outputs, self.outputs_from = facts.outputs, facts.outputs_from

    def _probe(self, data_size: Size | None) -> tuple[Size | None, Scores]:
        """The scores of two images, and their size where it is the data's.

        Whoever declares no size is tried at 224 pixels, then at the data's size: a network with a fixed input
        takes no other.
        """
        undeclared = self.preprocess.geometry.output_px is None
        sizes = (None, data_size) if undeclared and data_size else (None,)
        for size in sizes:
            images = probe_images(self.preprocess, 2, size)
            try:
                return size, self.predict(images)
            except Exception as error:  # the user's own code
                failure = error
        if isinstance(failure, UserError):
            raise failure
        height, width = images.shape[1:3]
        failed = f"{self.name} failed on two {width}x{height} images"
        reason = f"{type(failure).__name__}: {failure}"
        if not self.preprocess.assumed:
            raise UserError(
                f"{failed} (preprocessing {self.preprocess.origin}): {reason}. Correct the model, or its "
                "preprocessing if it expects other images."
            ) from failure
        raise UserError(
            f"{failed} (preset imagenet, since no preprocessing is declared): {reason}. Declare its "
            "preprocessing with --preprocess: a preset (cifar for 32x32 images) or a TOML file "
            '(rule = "none" under [geometry] for images at their own size).'
        ) from failure

    def redeclared(self, preprocess: Preprocess) -> CallableModel:
        """The same model behind another preprocess; what does its own arithmetic heeds the geometry alone."""
        other = copy.copy(self)
        other.preprocess = preprocess
        if self.kind == "torch":
            other._predictor = self._predictor.fed_by(preprocess.tensor)  # type: ignore[attr-defined]
        return other

    @property
    def predictor(self) -> Callable[[NDArray[np.uint8]], Any]:
        """What is called: a `TorchPredictor` where the kind is `torch`."""
        return self._predictor

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        return check_scores(self._predictor(batch), len(batch), self.name)
