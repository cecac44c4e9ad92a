"""The reference's sequences: tables, input and stored frames, kept beside the tests."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from tests.parity import sequence_oracles
from tests.parity.reference import FLOORED, GOLDEN
from windtunnel.imaging.geometry import Geometry, crop_step, kept_window

SEED = 12345
GEOMETRY = Geometry()  # of edition 224, the only one whose frames are stored


@dataclass(frozen=True)
class Published:
    """One row of golden/sequences.csv."""

    frames: int
    clean: int | None
    stage: str
    parameters: tuple[float, ...]


def published_tables() -> dict[tuple[int, str, int], Published]:
    with (GOLDEN / "sequences.csv").open() as file:
        return {
            (int(row["edition"]), row["perturbation"], int(row["difficulty"])): Published(
                int(row["frames"]),
                int(row["clean"]) if row["clean"] else None,
                row["stage"],
                tuple(float(value) for value in row["parameters"].split()),
            )
            for row in csv.DictReader(file)
        }


TABLES = published_tables()
NAMES = tuple(dict.fromkeys(name for _, name, _ in TABLES))


def golden_frames() -> list[tuple[str, int, str]]:
    """Sequence, frame, and the digest of the original code's pixels."""
    with (GOLDEN / "imagenet-p.csv").open() as file:
        return [(row["perturbation"], int(row["frame"]), row["digest"]) for row in csv.DictReader(file)]


def reference_input() -> np.ndarray:
    return np.asarray(Image.open(GOLDEN / "input-p.png"))


class LegacyDraws:
    """The generators of the original code, seeded as for the stored frames."""

    def __init__(self) -> None:
        self._numpy = np.random.RandomState(SEED)
        self._torch: Any = None

    def randn(self, *shape: int) -> np.ndarray:
        import torch

        if self._torch is None:
            self._torch = torch.Generator().manual_seed(SEED)
        return np.asarray(torch.randn(shape, generator=self._torch))

    def __getattr__(self, method: str) -> Any:
        return getattr(self._numpy, method)


def reference_frames(name: str) -> Iterator[np.ndarray]:
    """The oracle's frames of the reference's input, in edition 224 at difficulty 1.

    The stored frames were made of an image that was not resized before its crop.
    """
    table = TABLES[224, name, 1]
    resized = reference_input()
    image = resized if table.stage == "resized" else crop_step(resized, GEOMETRY)
    options = {"floor": True} if name in FLOORED else {}
    window = kept_window(image, table.stage, GEOMETRY)
    oracle = getattr(sequence_oracles, name)
    for frame in oracle(image, LegacyDraws(), table.frames, *table.parameters, **options):
        yield window.cut(frame) if table.stage == "resized" else frame
