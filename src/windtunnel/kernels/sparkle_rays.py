"""Stars of rays around a centre, whose light falls with the square of the distance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

WHITE = 255.0


@jit
def ray_light(down: float, across: float, lengths: NDArray[np.float64], power: float) -> float:
    """The light, 0 to 1, at a distance in pixels from the centre of a star with these lengths of rays.

    (length^2 / distance^2) ^ power at the direction's ray, less between two rays.
    """
    place = (math.atan2(across, down) + math.pi) / (2 * math.pi) * lengths.size
    ray = int(place)
    between = place - ray
    length: float = lengths[ray % lengths.size]
    length += between * (lengths[(ray + 1) % lengths.size] - length)
    light = length * length / (down * down + across * across + 1e-4)
    if power != 1.0:
        light = light**power
    return min((1.0 - (between - 0.5) ** 2) * light, 1.0)
