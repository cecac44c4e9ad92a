"""The one place where numba is configured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

# No fastmath: it may change low bits from one processor to the next, and pixels must not depend on that.
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}


def jit(function: F) -> F:
    """Compile a function, keeping the machine code on disk where a cache can be written."""
    try:
        return cast(F, numba.jit(**OPTIONS, cache=True)(function))
    except RuntimeError:  # numba found no folder it may write to
        warnings.warn(
            "windtunnel's compiled kernels cannot be cached and are compiled anew in every process; "
            "set NUMBA_CACHE_DIR to a folder that can be written.",
            stacklevel=2,
        )
        return cast(F, numba.jit(**OPTIONS)(function))
