"""The one place where numba is configured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

# No fastmath: low bits could differ between processors, and pixels must not depend on the processor.
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}


def jit(function: F) -> F:
    """Compile a function, keeping the machine code on disk where a cache can be written."""
    try:
        return cast(F, numba.jit(**OPTIONS, cache=True)(function))
    except RuntimeError:  # numba found no folder it may write to
        warnings.warn(
            "windtunnel's compiled kernels cannot be cached and are compiled again in every process; "
            "set NUMBA_CACHE_DIR to a writable folder.",
            stacklevel=2,
        )
        return cast(F, numba.jit(**OPTIONS)(function))
