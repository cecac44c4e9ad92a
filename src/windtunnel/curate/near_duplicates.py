"""Near-duplicates: pairs of images whose perceptual hashes are almost equal."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.candidates import Candidate
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.curate.project import Project
from windtunnel.engine.images import as_image

HASH_BITS = 64
# Two hashes that differ in at most this many bits are equal in at least one of their eight bytes.
MOST_BITS = 7
_SIDE, _KEPT = 32, 8

Pair = tuple[str, str, int]


def perceptual_hash(image: Image) -> NDArray[np.uint8]:
    """A hash of 64 bits, as eight bytes, that scaling and compression hardly change.

    The grey image is averaged to 32x32 pixels. Of its discrete cosine transform the lowest 8x8 frequencies
    are compared with their median, the mean grey (frequency 0, 0) not counted in it.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    low = cv2.dct(cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA))[:_KEPT, :_KEPT].ravel()
    return np.packbits(low > np.median(low[1:]))


def close_pairs(ids: Sequence[str], hashes: NDArray[np.uint8], most_bits: int) -> list[Pair]:
    """The pairs of ids whose hashes differ in at most so many bits, with that number; sorted.

    Args:
        ids: the images.
        hashes: their hashes (n, 8).
        most_bits: at most 7.
    """
    found: dict[tuple[int, int], int] = {}
    for byte in range(hashes.shape[1]):
        for value in np.unique(hashes[:, byte]):
            members = np.flatnonzero(hashes[:, byte] == value)
            for place, first in enumerate(members[:-1]):
                others = members[place + 1 :]
                bits = np.bitwise_count(hashes[others] ^ hashes[first]).sum(axis=1)
                for near in np.flatnonzero(bits <= most_bits):
                    found[int(first), int(others[near])] = int(bits[near])
    named = ((ids[first], ids[other], bits) for (first, other), bits in found.items())
    return sorted((min(first, other), max(first, other), bits) for first, other, bits in named)


def check_bits(most_bits: int) -> None:
    """Refuse a distance that the search does not support."""
    if not 0 <= most_bits <= MOST_BITS:
        raise UserError(
            f"{option('duplicate_bits')} is {most_bits}; give 0 to {MOST_BITS} bits of {HASH_BITS}."
        )


def near_duplicates(project: Project, rows: Sequence[Candidate], most_bits: int) -> list[Pair]:
    """The pairs of near-duplicates among candidates; an image that cannot be decoded is in none."""
    ids: list[str] = []
    hashes: list[NDArray[np.uint8]] = []
    for row in rows:
        try:
            hashes.append(perceptual_hash(as_image(project.read_media(row))))
        except ImageError:
            continue
        ids.append(row.id)
    return close_pairs(ids, np.array(hashes, np.uint8).reshape(-1, HASH_BITS // 8), most_bits)


def grouped(pairs: Sequence[Pair]) -> list[list[str]]:
    """Groups of images that pairs connect, the largest first."""
    group_of: dict[str, set[str]] = {}
    for first, other, _ in pairs:
        merged = group_of.get(first, {first}) | group_of.get(other, {other})
        for member in merged:
            group_of[member] = merged
    groups = {id(group): sorted(group) for group in group_of.values()}
    return sorted(groups.values(), key=lambda group: (-len(group), group))
