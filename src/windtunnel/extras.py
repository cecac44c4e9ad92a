"""Libraries that come with extras: imported when they are needed, or one line on how to get them."""

from __future__ import annotations

import importlib
from typing import Any

from windtunnel.errors import UserError

# Which extra brings a library.
EXTRAS = {"av": "video", "onnx": "numerics", "torch": "torch"}
MOST_SHOWN = 200


def load_extra(library: str, what: str) -> Any:
    """An extra's library; `what` needs it, and is refused where it is missing or cannot be imported."""
    cure = f"'windtunnel[{EXTRAS[library]}]'"
    try:
        return importlib.import_module(library)
    except Exception as error:  # an installed library may fail in any way: a missing .so, another NumPy
        if isinstance(error, ModuleNotFoundError) and error.name == library:
            raise UserError(f"{what} needs an extra that is not installed: pip install {cure}.") from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_SHOWN].rstrip(".")
        raise UserError(
            f"{what} needs {library}, which is installed and cannot be imported ({reason}): "
            f"pip install --force-reinstall {cure}."
        ) from error
