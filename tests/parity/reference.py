"""The reference's own inputs, outputs (as digests) and parameters, kept beside the tests."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from tests.parity import oracles

GOLDEN = Path(__file__).parent / "golden"
# The golden files come from an ImageMagick that floors; the published sets from one that rounds.
FLOORED = ("motion_blur", "snow")


def golden_rows() -> list[tuple[int, str, int, str]]:
    with (GOLDEN / "imagenet-c.csv").open() as file:
        return [
            (int(row["edition"]), row["corruption"], int(row["severity"]), row["digest"])
            for row in csv.DictReader(file)
        ]


def reference_parameters() -> dict[tuple[int, str, int], list[float]]:
    with (GOLDEN / "parameters.csv").open() as file:
        return {
            (int(row["edition"]), row["corruption"], int(row["severity"])): [
                float(value) for value in row["parameters"].split()
            ]
            for row in csv.DictReader(file)
        }


PARAMETERS = reference_parameters()


def reference_input(edition: int) -> np.ndarray:
    return np.asarray(Image.open(GOLDEN / f"input-{edition}.png"))


def oracle(name: str, image: np.ndarray, severity: int, edition: int, **options: bool) -> np.ndarray:
    rng = np.random.RandomState(12345)
    return getattr(oracles, name)(image, rng, *PARAMETERS[edition, name, severity], **options)
