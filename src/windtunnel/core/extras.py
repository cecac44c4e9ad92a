"""Installed libraries: their versions, and those of extras, which are imported on demand."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from windtunnel.core.errors import UserError

# The requirement of each extra's library, as in pyproject.toml. The library can be installed from PyPI
# regardless of how windtunnel itself was installed.
REQUIREMENTS = {
    "av": "av>=17",
    "fastapi": "fastapi>=0.115",
    "fsspec": "fsspec>=2026.9",
    "ipywidgets": "ipywidgets>=8",
    "onnx": "onnx>=1.17",
    "pandas": "pandas>=2.2.2",
    "psycopg": "psycopg>=3.2",
    "psycopg_binary": "psycopg-binary>=3.2",
    "ray": "ray>=2.50",
    "s3fs": "s3fs>=2026.9",
    "sklearn": "scikit-learn>=1.5",
    "sqlalchemy": "sqlalchemy>=2.0.36",
    "torch": "torch>=2.6",
    "uvicorn": "uvicorn>=0.34",
}
MOST_SHOWN = 200


def load_extra(library: str, what: str) -> Any:
    """Import an extra's library, which `what` needs; refuses a library that cannot be imported."""
    try:
        return importlib.import_module(library)
    except Exception as error:  # an installed library may fail in any way: a missing .so, another NumPy
        if isinstance(error, ModuleNotFoundError) and error.name == library:
            raise UserError(f"{what} needs {library}, which is not installed: {install(library)}.") from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_SHOWN].rstrip(".")
        raise UserError(
            f"{what} needs {library}, which is installed but cannot be imported ({reason}): "
            f"{install(library, '--force-reinstall')}."
        ) from error


def install_hint(error: BaseException) -> str:
    """A sentence on how to install the library of an extra that an error misses; or ""."""
    library = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or library not in REQUIREMENTS:
        return ""
    return f" Install it: {install(library)}."


def install(library: str, *options: str) -> str:
    """The command that installs a library, of an extra or of a third-party plug-in."""
    return " ".join(("pip install", *options, f"'{REQUIREMENTS.get(library, library)}'"))


def installed_version(library: str) -> str:
    """A library's version; "unknown" for a library of a third-party plug-in that is not a package."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
