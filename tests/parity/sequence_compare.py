"""How sequences and their oracles are compared, for the tests and for the benchmark that checks first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.parity import sequence_oracles
from tests.parity.compare import caught, photograph
from tests.parity.draws import Replay, normals
from tests.parity.draws import snow as snow_draws
from tests.parity.sequence_reference import NAMES, TABLES
from windtunnel.kernels.window import Window
from windtunnel.sequences import REGISTRY

NOISES = ("gaussian_noise", "shot_noise", "speckle_noise")
COMPARED = tuple(name for name in NAMES if name not in NOISES)
SEED, SAMPLE = 3, "parity"


def our_draws(name: str, height: int, width: int, parameters: tuple[float, ...]) -> list[Any]:
    """What our unit draws, as the oracle of the same name asks for it."""
    rng = REGISTRY.get(name).draws(SEED, SAMPLE, 1)
    if name == "snow":
        return snow_draws(rng, height, width, *parameters)[:1]
    if name == "spatter":
        return [normals(rng.key("field"), (height, width), parameters[0], parameters[1])]
    return []


def unit_frames(
    name: str, image: np.ndarray, edition: int, difficulty: int = 1, window: Window | None = None
) -> Iterator[np.ndarray]:
    unit = REGISTRY.get(name)
    return unit.apply(image, unit.draws(SEED, SAMPLE, difficulty), difficulty, edition, window)


def oracle_frames(name: str, image: np.ndarray, edition: int) -> Iterator[np.ndarray]:
    table = TABLES[edition, name, 1]
    replay = Replay(our_draws(name, *image.shape[:2], table.parameters))
    return getattr(sequence_oracles, name)(image, replay, table.frames, *table.parameters)


def differing_frame(
    name: str, image: np.ndarray, edition: int, window: Window | None = None
) -> tuple[int, str] | None:
    """The first frame of ours that is not the oracle's, and by how much; None where all are."""
    pairs = zip(
        unit_frames(name, image, edition, window=window), oracle_frames(name, image, edition), strict=True
    )
    for number, (ours, theirs) in enumerate(pairs):
        if window:
            theirs = window.cut(theirs)
        if caught(ours, theirs):
            difference = np.abs(ours.astype(int) - theirs)
            return number, f"at most {difference.max()}, mean {difference.mean():.3f}"
    return None


def wide_photograph(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A photograph-like image of any shape."""
    return np.ascontiguousarray(photograph(max(height, width), seed)[-height:, :width])
