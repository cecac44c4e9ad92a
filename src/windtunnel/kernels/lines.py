"""An image as lines of numbers."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

Number = TypeVar("Number", np.uint8, np.float32)


@jit
def lines(image: NDArray[Number]) -> NDArray[Number]:
    """A view of an image (height x width x channels) with one dimension for all numbers of a row.

    Flattening each row on its own takes as long as much of the work on it.
    """
    return image.reshape(image.shape[0], image.shape[1] * image.shape[2])
