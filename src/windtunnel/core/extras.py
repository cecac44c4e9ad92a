"""Installed libraries: their versions, and those of extras, which are imported on demand."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from typing import Any

from windtunnel.core.errors import UserError

# The requirement of each extra's library, as in pyproject.toml. The library can be installed from PyPI
# regardless of how windtunnel itself was installed.
REQUIREMENTS = {
    "ai_edge_litert": "ai-edge-litert>=2.1",
    "av": "av>=17",
    "fastapi": "fastapi>=0.115",
    "fsspec": "fsspec>=2026.9",
    "ipywidgets": "ipywidgets>=8",
    "keras": "keras>=3.10",
    "mlflow": "mlflow-skinny>=3.1",
    "onnx": "onnx>=1.17",
    "openvino": "openvino>=2025.3",
    "pandas": "pandas>=2.2.2",
    "polars": "polars>=1.20",
    "psycopg": "psycopg>=3.2",
    "psycopg_binary": "psycopg-binary>=3.2",
    "ray": "ray>=2.50",
    "safetensors": "safetensors>=0.5",
    "s3fs": "s3fs>=2026.9",
    "sklearn": "scikit-learn>=1.5",
    "sqlalchemy": "sqlalchemy>=2.0.36",
    "timm": "timm>=1.0.15",
    "torch": "torch>=2.6",
    "transformers": "transformers>=5.20",
    "uvicorn": "uvicorn>=0.34",
    "wandb": "wandb>=0.20",
    "yaml": "pyyaml>=6",
}
MOST_SHOWN = 200


def load_extra(library: str, what: str) -> Any:
    """Import an extra's library, which `what` needs; refuses a library that cannot be imported."""
    try:
        return importlib.import_module(library)
    except Exception as error:  # an installed library may fail in any way: a missing .so, another NumPy
        package = library.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and error.name in (package, library):
            raise UserError(f"{what} needs {package}, which is not installed: {install(package)}.") from error
        missing = _missing_package(error)
        if missing:
            raise UserError(
                f"{what} needs {package}, which cannot be imported without {missing}: {install(missing)}."
            ) from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_SHOWN].rstrip(".")
        raise UserError(
            f"{what} needs {library}, which is installed but cannot be imported ({reason}): "
            f"{install(library, '--force-reinstall')}."
        ) from error


def _missing_package(error: Exception) -> str:
    """The package that an import needs and that is not installed; "" for other errors."""
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not package:
        return ""
    return "" if importlib.util.find_spec(package) else package


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
