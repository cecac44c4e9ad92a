"""The legacy generator imitated: remembered, or replaying what one of our units draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from windtunnel.core.seeding import Draws, words


class Recorder:
    """A legacy generator that remembers what it drew."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)
        self.drawn: list[tuple[str, Any]] = []

    def __getattr__(self, method: str) -> Any:
        def draw(*args: Any, **options: Any) -> Any:
            self.drawn.append((method, getattr(self.rng, method)(*args, **options)))
            return self.drawn[-1][1]

        return draw


class Replay:
    """Gives back stored draws, whatever is asked; `asked` are the positional arguments."""

    def __init__(self, drawn: list[Any]) -> None:
        self.left = list(drawn)
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, method: str) -> Any:
        def draw(*args: Any, **_: Any) -> Any:
            self.asked.append(args)
            return self.left.pop(0)

        return draw


def normals(key: int, shape: tuple[int, int], mean: float, spread: float) -> np.ndarray:
    """Our normal field, by SciPy's quantile instead of our own."""
    share = ((words(key, math.prod(shape)) >> np.uint64(11)) + 0.5) * 2.0**-53
    return mean + spread * ndtri(share).reshape(shape)


def motion_blur(rng: Draws, height: int, width: int, *_: float) -> list[Any]:
    return [rng.uniform("angle", -45, 45)]


def glass_blur(rng: Draws, height: int, width: int, sigma: float, reach: float, passes: float) -> list[Any]:
    count = (height - 2 * int(reach)) * (width - 2 * int(reach))
    span = np.uint64(2 * int(reach))
    offsets = []
    for number in range(int(passes)):
        bits = words(rng.key(f"pass {number}"), count)
        halves = np.stack([bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)], axis=1)
        offsets.append(((halves * span) >> np.uint64(32)).astype(np.int64) - int(reach))
    return offsets


def snow(
    rng: Draws, height: int, width: int, mean: float, spread: float, zoom: float, *_: float
) -> list[Any]:
    rows, columns = math.ceil(height / zoom), math.ceil(width / zoom)
    top, left = (height - rows) // 2, (width - columns) // 2
    # We draw only the middle that survives the magnification; what surrounds it must not matter.
    field = np.full((height, width), 1e9)
    field[top : top + rows, left : left + columns] = normals(rng.key("field"), (rows, columns), mean, spread)
    return [field, rng.uniform("angle", -135, -45)]


def fog(rng: Draws, height: int, width: int, amount: float, decay: float) -> list[Any]:
    size, key, drawn, used, reach = 1 << (max(height, width) - 1).bit_length(), rng.key("map"), [], 0, 100.0
    step = size
    while step >= 2:
        count = (size // step) ** 2
        for _ in range(3):
            unit = (words(key, count, start=used) >> np.uint64(11)) * 2.0**-53
            drawn.append((-reach + 2 * reach * unit).reshape(size // step, size // step))
            used += count
        step, reach = step // 2, reach / decay
    return drawn


def elastic_transform(
    rng: Draws, height: int, width: int, alpha: float, sigma: float, affine: float
) -> list[Any]:
    fields = [rng.uniforms(name, height * width, -1, 1).reshape(height, width) for name in ("across", "down")]
    return [rng.uniforms("affine", 6, -affine, affine).reshape(3, 2), *fields]


def spatter(rng: Draws, height: int, width: int, mean: float, spread: float, *_: float) -> list[Any]:
    return [normals(rng.key("field"), (height, width), mean, spread)]


# What each random unit draws, in the order the oracle of the same name asks for it.
OURS: dict[str, Callable[..., list[Any]]] = {
    "motion_blur": motion_blur,
    "glass_blur": glass_blur,
    "snow": snow,
    "fog": fog,
    "elastic_transform": elastic_transform,
    "spatter": spatter,
}
