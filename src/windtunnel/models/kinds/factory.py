"""Factories: Python functions that return a model."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.extras import install_hint
from windtunnel.core.locations.urls import is_url
from windtunnel.core.registry import import_file
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, kind_of, not_a_model, wrap_with


class Factory(ModelKind):
    """`module:factory` or `file.py:factory`."""

    name = "factory"
    help = "a Python function without arguments that returns a torch module or a callable"
    form = "module:factory or FILE.py:factory"
    priority = 40

    def recognises(self, source: object) -> bool:
        """Whether a text has a colon and is neither a URL nor the path of a file."""
        if not isinstance(source, str | Path) or ":" not in str(source) or is_url(str(source)):
            return False
        return not Path(source).exists()

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The model that the factory returns, of any kind."""
        spec = str(source)
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
        return wrap_with(kind, made, Origin(name, file, preprocess, data_size, portable=True))


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
