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
# Bytes that are looked up for each time that the table is loaded.
STEP = 4 * VECTOR


@jit
def look_up(image: NDArray[np.uint8], table: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Fill `out` with table[value] for every value of an image; arrays are contiguous."""
    source, entries, target = image.ctypes.data, table.ctypes.data, out.ctypes.data
    values, found = image.reshape(image.size), out.reshape(image.size)
    whole = values.size // STEP * STEP
    for place in range(0, whole, STEP):
        _look_up_step(source + np.uint64(place), entries, target + np.uint64(place))
    for place in range(whole, values.size):
        found[place] = table[values[place]]


@intrinsic  # type: ignore[untyped-decorator]
def _look_up_step(_context: Any, source: Any, table: Any, target: Any) -> Any:
    """Look up some vectors; the arguments are addresses."""

    def generate(_context: Any, builder: Any, _signature: Any, addresses: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), VECTOR)
        pointer, whole = vector.as_pointer(), ir.IntType(64)
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        permute = builder.module.declare_intrinsic(name, fnty=ir.FunctionType(vector, [vector] * 3))

        def at(address: Any, offset: int) -> Any:
            return builder.inttoptr(builder.add(address, ir.Constant(whole, offset)), pointer)

        first, second, third, fourth = (
            builder.load(at(addresses[1], offset), align=1) for offset in range(0, 256, VECTOR)
        )
        for offset in range(0, STEP, VECTOR):
            index = builder.load(at(addresses[0], offset), align=1)
            low = builder.call(permute, [first, index, second])
            high = builder.call(permute, [third, index, fourth])
            is_high = builder.icmp_signed("<", index, ir.Constant(vector, [0] * VECTOR))
            builder.store(builder.select(is_high, high, low), at(addresses[2], offset), align=1)

    return types.void(source, table, target), generate
