"""Factories: Python functions that return a model."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from windtunnel.core.calls import Parameter
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.extras import install_hint
from windtunnel.core.locations import Location, location_of
from windtunnel.core.locations.urls import is_url
from windtunnel.core.registry import import_file
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, kind_of, not_a_model, wrap_with


class Factory(ModelKind):
    """`module:factory` or `file.py:factory`."""

    name = "factory"
    help = (
        "a Python function that returns a callable or a torch module; (weights=FILE.pth) loads a checkpoint"
    )
    form = "module:factory or FILE.py:factory"
    priority = 40
    parameters = (Parameter("weights", "", "a checkpoint that is loaded into the torch module", path=True),)

    def recognises(self, source: object) -> bool:
        """Whether a text has a colon and is neither a URL nor the path of a file."""
        if not isinstance(source, str | Path) or ":" not in str(source) or is_url(str(source)):
            return False
        return not Path(source).exists()

    def files(self, source: str) -> tuple[str, ...]:
        """The file of the factory, or the name of its module, and the checkpoint."""
        spec, *weights = super().files(source)
        return (spec.rpartition(":")[0], *weights)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The model that the factory returns, of any kind."""
        spec, given = self.split(source)
        where, _, name = spec.rpartition(":")
        module = _imported(where, spec)
        factory = getattr(module, name, None)
        if not callable(factory):
            known = [
                key for key, value in vars(module).items() if callable(value) and not key.startswith("_")
            ]
            raise unknown_name(f"factory in {where}", name, known)
        try:
            made = factory()
        except (Exception, SystemExit) as error:  # of the user's code
            raise UserError(
                f"{spec} failed: {type(error).__name__}: {error}.{install_hint(error)}"
            ) from error
        file = Path(inspect.getfile(module)) if getattr(module, "__file__", None) else None
        kind = None if isinstance(made, str | Path) else kind_of(made)
        if kind is None:
            raise not_a_model(f"What the factory {name} returns", made)
        if given["weights"]:
            checkpoint = location_of(str(given["weights"]))
            _load_weights(made, checkpoint, spec)
            name = f"{name}-{checkpoint.stem}"
        return wrap_with(kind, made, Origin(name, file, preprocess, data_size, portable=True))


def _load_weights(made: object, checkpoint: Location, spec: str) -> None:
    """Load a checkpoint into the module that a factory has made; refuses other objects."""
    library = sys.modules.get("torch")
    if library is None or not isinstance(made, library.nn.Module):
        raise UserError(
            f"{spec} returns an object of type {type(made).__name__}, and weights is {checkpoint}; return a "
            "torch module, or leave weights out."
        )
    from windtunnel.models.state_dicts import load_weights

    load_weights(made, checkpoint)


def _imported(where: str, spec: str) -> Any:
    """The module or file of a factory."""
    if where.endswith(".py"):
        return import_file(Path(where))
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a console script does not search the current folder
    try:
        return importlib.import_module(where)
    except ImportError as error:
        advice = install_hint(error) or f" Give {Factory.form}."
        raise UserError(f"'{spec}' cannot be imported: {error}.{advice}") from error


factory = Factory()
