"""Error rates from the rank of the label: 0 is right, 4 still counts among the top five."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top_k_wrong(label_rank: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """True where none of a picture's labels is among the k best-placed classes: rank >= k."""
    return label_rank >= k


def mean_per_picture(wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of conditions (columns) under which each picture (row) is wrong."""
    return np.asarray(wrong.mean(axis=1), np.float64)
