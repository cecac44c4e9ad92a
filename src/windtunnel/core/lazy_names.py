"""Names that a package imports on first use, so that importing the package is fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package whose names come from other modules.

    Args:
        package: the package's name.
        modules: the module of every name.
    """

    def get_name(name: str) -> Any:
        if name in modules:
            value = getattr(importlib.import_module(modules[name]), name)
            setattr(sys.modules[package], name, value)  # the next use finds it without this function
            return value
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def names() -> list[str]:
        return sorted(modules)

    return get_name, names
