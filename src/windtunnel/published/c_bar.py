"""The strengths of ImageNet-C-bar and CIFAR-10-C-bar (Mintun, Kirillov and Xie 2021)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import lru_cache

from windtunnel import published

IMAGENET_C_BAR = "imagenet-c-bar"
CIFAR_10_C_BAR = "cifar-10-c-bar"
SOURCE = "Mintun, Kirillov & Xie 2021, ImageNet-C-bar"
CIFAR_SOURCE = "Mintun, Kirillov & Xie 2021, CIFAR-10-C-bar"


@lru_cache(maxsize=1)
def c_bar_strengths() -> dict[str, dict[str, tuple[float, ...]]]:
    """By set and corruption, the strengths of severities 1 to 5, on the published scale of 0 to 10."""
    sets: dict[str, dict[str, tuple[float, ...]]] = {}
    for row in csv.DictReader(io.StringIO(published.read_text("c_bar_strengths.csv"))):
        strengths = tuple(float(row[f"s{severity}"]) for severity in range(1, 6))
        sets.setdefault(row["set"], {})[row["corruption"]] = strengths
    return sets


def c_bar_severities(corruption: str) -> Mapping[int, tuple[tuple[float], ...]]:
    """The severity tables of a corruption, by edition.

    Edition 32 has the strengths of CIFAR-10-C-bar and the others those of ImageNet-C-bar. A corruption of
    one of the two sets has its strengths in all editions, because the lengths scale with the image.
    """
    sets = c_bar_strengths()
    imagenet, cifar = (sets[name].get(corruption, ()) for name in (IMAGENET_C_BAR, CIFAR_10_C_BAR))
    large = tuple((strength,) for strength in imagenet or cifar)
    small = tuple((strength,) for strength in cifar or imagenet)
    return {224: large, 299: large, 64: large, 32: small}
