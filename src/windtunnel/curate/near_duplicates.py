"""Near-duplicates: pairs of images whose perceptual hashes or features are almost equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.candidates import Candidate
from windtunnel.core.curation_records import NearDuplicate
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.curate.candidate_features import candidate_features
from windtunnel.curate.project import Project
from windtunnel.engine.images import as_image
from windtunnel.models import Model

HASH_BITS = 64
# Two hashes that differ in at most this many bits are equal in at least one of their eight bytes.
MOST_BITS = 7
_SIDE, _KEPT = 32, 8
# Images whose features are compared with all others at a time.
BLOCK = 1024

# Places of two images, the smaller first.
Places = tuple[int, int]


@dataclass(frozen=True)
class DuplicateRules:
    """When two images are near-duplicates: either rule is enough.

    Attributes:
        most_bits: perceptual hashes differ in at most so many bits.
        least_cosine: features have at least this cosine; 0 for no comparison of features.
    """

    most_bits: int
    least_cosine: float

    def __post_init__(self) -> None:
        if not 0 <= self.most_bits <= MOST_BITS:
            raise UserError(
                f"{option('duplicate_bits')} is {self.most_bits}; give 0 to {MOST_BITS} bits of {HASH_BITS}."
            )
        if not 0 <= self.least_cosine <= 1:
            raise UserError(
                f"{option('duplicate_cosine')} is {self.least_cosine:g}; give a cosine up to 1, or 0 to "
                "compare no features."
            )


def perceptual_hash(image: Image) -> NDArray[np.uint8]:
    """A hash of 64 bits, as eight bytes, that scaling and compression hardly change.

    The grey image is averaged to 32x32 pixels. Of its discrete cosine transform the lowest 8x8 frequencies
    are compared with their median, the mean grey (frequency 0, 0) not counted in it.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    low = cv2.dct(cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA))[:_KEPT, :_KEPT].ravel()
    return np.packbits(low > np.median(low[1:]))


def close_hashes(hashes: NDArray[np.uint8], most_bits: int) -> set[Places]:
    """The pairs of images whose hashes (n, 8) differ in at most so many bits, up to 7."""
    found: set[Places] = set()
    for byte in range(hashes.shape[1]):
        for value in np.unique(hashes[:, byte]):
            members = np.flatnonzero(hashes[:, byte] == value)
            for place, first in enumerate(members[:-1]):
                others = members[place + 1 :]
                near = np.bitwise_count(hashes[others] ^ hashes[first]).sum(axis=1) <= most_bits
                found |= {(int(first), int(other)) for other in others[near]}
    return found


def close_features(features: NDArray[np.float32], least_cosine: float) -> Iterator[Places]:
    """The pairs of images whose unit vectors (n, features) have at least this cosine; none of NaN."""
    for start in range(0, len(features), BLOCK):
        cosines = features[start : start + BLOCK] @ features.T
        for row, other in np.argwhere(cosines >= least_cosine):
            if start + row < other:
                yield int(start + row), int(other)


def near_duplicates(
    project: Project,
    rows: Sequence[Candidate],
    candidates: Sequence[Candidate],
    rules: DuplicateRules,
    model: Model,
) -> tuple[tuple[NearDuplicate, ...], str]:
    """The pairs of near-duplicates among images, and which features were compared, in words.

    An image that cannot be decoded is in no pair.

    Args:
        project: the project.
        rows: the images.
        candidates: all filtered candidates.
        rules: when two images are near-duplicates.
        model: the network whose features are compared.
    """
    hashed = [(row, image_hash) for row in rows if (image_hash := _hash(project, row)) is not None]
    readable = [row for row, _ in hashed]
    hashes = np.array([image_hash for _, image_hash in hashed], np.uint8).reshape(-1, HASH_BITS // 8)
    by_hash = close_hashes(hashes, rules.most_bits)
    if not rules.least_cosine:
        features, title = None, "none: not asked for"
    else:
        features, title = candidate_features(project, readable, candidates, model)
    by_features = set() if features is None else set(close_features(features, rules.least_cosine))

    def pair(first: int, other: int) -> NearDuplicate:
        cosine = None if features is None else float(features[first] @ features[other])
        low, high = sorted((readable[first].id, readable[other].id))
        return NearDuplicate(
            low,
            high,
            int(np.bitwise_count(hashes[first] ^ hashes[other]).sum()),
            None if cosine is None or np.isnan(cosine) else round(cosine, 4),
            tuple(
                name
                for name, places in (("hash", by_hash), ("features", by_features))
                if (first, other) in places
            ),
        )

    pairs = [pair(*places) for places in by_hash | by_features]
    return tuple(sorted(pairs, key=lambda near: (near.first, near.other))), title


def near_column(ids: Sequence[str], pairs: Sequence[NearDuplicate]) -> pa.Array:
    """The near-duplicates of each image, as the column of an audit."""
    near: dict[str, list[str]] = {}
    for pair in pairs:
        near.setdefault(pair.first, []).append(pair.other)
        near.setdefault(pair.other, []).append(pair.first)
    return pa.array([near.get(id_, []) for id_ in ids], pa.list_(pa.string()))


def grouped(pairs: Sequence[NearDuplicate]) -> list[list[str]]:
    """Groups of images that pairs connect, the largest first."""
    group_of: dict[str, set[str]] = {}
    for pair in pairs:
        merged = group_of.get(pair.first, {pair.first}) | group_of.get(pair.other, {pair.other})
        for member in merged:
            group_of[member] = merged
    groups = {id(group): sorted(group) for group in group_of.values()}
    return sorted(groups.values(), key=lambda group: (-len(group), group))


def _hash(project: Project, row: Candidate) -> NDArray[np.uint8] | None:
    try:
        return perceptual_hash(as_image(project.read_media(row)))
    except ImageError:
        return None
