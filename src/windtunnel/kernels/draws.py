"""Random words inside compiled loops, bit-equal to `windtunnel.core.seeding.words`."""

from __future__ import annotations

import numpy as np

from windtunnel.core.seeding import GOLDEN_GAMMA, MIX_1, MIX_2
from windtunnel.kernels.jit import jit

_GAMMA = np.uint64(GOLDEN_GAMMA)
_MIX_1 = np.uint64(MIX_1)
_MIX_2 = np.uint64(MIX_2)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@jit
def word(key: np.uint64, index: np.uint64) -> np.uint64:
    """Value `index` of the stream `key`."""
    z = key + index * _GAMMA
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)
