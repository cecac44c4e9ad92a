"""Random splits of two image sets, and the Fréchet distances between their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.seeding import digest64
from windtunnel.stats.frechet import frechet_distance, moments

Features = NDArray[np.float32]


def split_distances(
    ids: Sequence[Sequence[str]],
    values: Sequence[Features],
    videos: Mapping[str, str],
    n: int,
    seed: int,
    split: int,
) -> tuple[float, float, float]:
    """A to B, A to A and B to B of one split.

    Both sets are shuffled by the same hash, and B is taken from the other end. If A and B contain the same
    images (one of them corrupted), the compared groups therefore share none.

    Args:
        ids: ids of the images of A, and of B.
        values: their features.
        videos: by id without file extension, the video of an image.
        n: images in a group, at most half of the images that a split samples from.
        seed: seed of the shuffle.
        split: index of the split.
    """
    orders = [_shuffled(of_set, videos, seed, split) for of_set in ids]
    (first_a, second_a), (second_b, first_b) = (
        (moments(rows[order[:n]]), moments(rows[order[-n:]]))
        for rows, order in zip(values, orders, strict=True)
    )
    return (
        frechet_distance(first_a, first_b),
        frechet_distance(first_a, second_a),
        frechet_distance(first_b, second_b),
    )


def _shuffled(ids: Sequence[str], videos: Mapping[str, str], seed: int, split: int) -> NDArray[np.int64]:
    """Rows of one frame of every video and of all other images, in the order of hashes of their names."""

    def hashed(names: Sequence[str]) -> NDArray[np.uint64]:
        return np.array([digest64("distance", seed, split, name) for name in names], np.uint64)

    rows = np.argsort(hashed([bare_id(id_) for id_ in ids]))
    if not videos:
        return rows
    first: dict[str, int] = {}
    for row in map(int, rows):
        first.setdefault(video_of(ids[row], videos) or ids[row], row)
    chosen = np.array(list(first.values()))
    return chosen[np.argsort(hashed([video_of(ids[row], videos) or bare_id(ids[row]) for row in chosen]))]


def video_of(id_: str, videos: Mapping[str, str]) -> str:
    """The video of an image, or ""; a copy with the same name belongs to the same video."""
    return videos.get(bare_id(id_), "")


def drawn_count(ids: Sequence[str], videos: Mapping[str, str]) -> int:
    """Number of images that a split samples from."""
    return len({video_of(id_, videos) or id_ for id_ in ids})


def bare_id(id_: str) -> str:
    """An id without file extension: a corrupted copy may be stored in another format."""
    return id_.rpartition(".")[0] or id_
