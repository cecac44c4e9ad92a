"""Lookups of bytes in a table of 256 bytes, 64 at a time, for processors with AVX-512 VBMI.

Such a processor holds the table in four registers and looks up 64 bytes in two instructions. No compiler
makes them of a loop, so that they are named here. `IS_FAST` is false on other processors; nothing else of
this module may be called there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

# What numba compiles for, which is not this processor if NUMBA_CPU_NAME names another one.
IS_FAST = "+avx512vbmi," in f"{cpu_target.target_context.codegen().magic_tuple()[2]},"
VECTOR = 64


@jit
def look_up(image: NDArray[np.uint8], table: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Fill `out` with table[value] for every value of an image; arrays are contiguous."""
    source, entries, target = image.ctypes.data, table.ctypes.data, out.ctypes.data
    values, found = image.reshape(image.size), out.reshape(image.size)
    whole = values.size // VECTOR * VECTOR
    for place in range(0, whole, VECTOR):
        _look_up_vector(source + np.uint64(place), entries, target + np.uint64(place))
    for place in range(whole, values.size):
        found[place] = table[values[place]]


@intrinsic
def _look_up_vector(_context: Any, source: Any, table: Any, target: Any) -> Any:
    """Look up one vector; the arguments are addresses."""

    def generate(_context: Any, builder: Any, _signature: Any, addresses: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), VECTOR)
        pointer, whole = vector.as_pointer(), ir.IntType(64)
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        permute = builder.module.declare_intrinsic(name, fnty=ir.FunctionType(vector, [vector] * 3))

        def load(address: Any, offset: int) -> Any:
            moved = builder.add(address, ir.Constant(whole, offset))
            return builder.load(builder.inttoptr(moved, pointer), align=1)

        index = load(addresses[0], 0)
        first, second, third, fourth = (load(addresses[1], VECTOR * part) for part in range(4))
        low = builder.call(permute, [first, index, second])
        high = builder.call(permute, [third, index, fourth])
        is_high = builder.icmp_signed("<", index, ir.Constant(vector, [0] * VECTOR))
        found = builder.select(is_high, high, low)
        builder.store(found, builder.inttoptr(addresses[2], pointer), align=1)

    return types.void(source, table, target), generate
