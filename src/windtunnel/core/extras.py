"""Libraries of extras: imported when they are needed, or one line on how to install them."""

from __future__ import annotations

import importlib
from typing import Any

from windtunnel.core.errors import UserError

# The requirement of each extra's library, as pyproject.toml has it. The library can be installed from PyPI
# however windtunnel itself was installed.
REQUIREMENTS = {"av": "av>=14", "onnx": "onnx>=1.17", "pandas": "pandas>=2.2", "torch": "torch>=2.6"}
MOST_SHOWN = 200


def load_extra(library: str, what: str) -> Any:
    """An extra's library; `what` needs it, and is refused where it is missing or cannot be imported."""
    try:
        return importlib.import_module(library)
    except Exception as error:  # an installed library may fail in any way: a missing .so, another NumPy
        if isinstance(error, ModuleNotFoundError) and error.name == library:
            raise UserError(f"{what} needs {library}, which is not installed: {install(library)}.") from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_SHOWN].rstrip(".")
        raise UserError(
            f"{what} needs {library}, which is installed and cannot be imported ({reason}): "
            f"{install(library, '--force-reinstall')}."
        ) from error


def install(library: str, *options: str) -> str:
    """The command that installs an extra's library."""
    return " ".join(("pip install", *options, f"'{REQUIREMENTS[library]}'"))
