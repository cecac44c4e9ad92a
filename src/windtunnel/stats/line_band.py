"""A least-squares line with its confidence band, for plots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from windtunnel.stats.intervals import CONFIDENCE

Floats = NDArray[np.float64]
POINTS = 40


def line_band(
    x: Floats, y: Floats, confidence: float = CONFIDENCE, at: Floats | None = None
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Positions (`at`, or 40 between the outer ones), the line at them, and its pointwise confidence band.

    a + b x -+ t s sqrt(1/n + (x - mean)^2 / sum (x_i - mean)^2), s^2 = sum of squared residuals / (n - 2).
    """
    away = x - x.mean()
    squares = float((away**2).sum())
    slope = float((away * y).sum()) / squares
    grid = np.linspace(x.min(), x.max(), POINTS) if at is None else at
    middle = y.mean() + slope * (grid - x.mean())
    residual = float(((y - y.mean() - slope * away) ** 2).sum()) / (len(x) - 2)
    width = np.sqrt(residual * (1 / len(x) + (grid - x.mean()) ** 2 / squares))
    reach = float(stdtrit(len(x) - 2, (1 + confidence) / 2)) * width
    return grid.tolist(), middle.tolist(), (middle - reach).tolist(), (middle + reach).tolist()
