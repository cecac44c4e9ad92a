"""The Fréchet distance between two sets of points, each approximated by a normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Mean m and covariance C of points, the latter as a factor F with F'F = C (divisor n - 1)."""

    mean: Matrix
    factor: Matrix

    @property
    def trace(self) -> float:
        """tr(C)."""
        return float(np.square(self.factor).sum())


def moments(points: NDArray[Any]) -> Moments:
    """Mean and covariance of points (n, d), n of at least 2."""
    values = np.asarray(points, np.float64)
    mean = values.mean(axis=0)
    factor = (values - mean) / np.sqrt(len(values) - 1)
    # With more rows than columns, the triangle of the QR decomposition gives the same C.
    if len(values) > len(mean):
        factor = np.asarray(np.linalg.qr(factor, mode="r"))
    return Moments(mean, factor)


def frechet_distance(first: Moments, second: Moments) -> float:
    """||m1 - m2||^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)).

    tr((C1 C2)^(1/2)) is the sum of the singular values of F1 F2': the eigenvalues of C1 C2 are their squares.
    This needs no matrix root, stays real, and also works for singular covariances.
    """
    shared = float(np.linalg.svd(first.factor @ second.factor.T, compute_uv=False).sum())
    apart = float(np.square(first.mean - second.mean).sum())
    return max(apart + first.trace + second.trace - 2 * shared, 0.0)
