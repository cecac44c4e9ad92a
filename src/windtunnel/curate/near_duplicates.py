"""Near-duplicates: pairs of images whose perceptual hashes or features are almost equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
MOST_BITS = 7
_SIDE, _KEPT = 32, 8
# Images whose features are compared with all others at a time.
BLOCK = 1024
# The pairs that an image is the first of, for each rule; more only where they connect groups.
MOST_PAIRS = 10

# Places of two images, the smaller first.
Places = tuple[int, int]
# The place of an image, and the later places of all that are close to it.
CloseTo = tuple[int, NDArray[np.int64]]


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


def close_hashes(hashes: NDArray[np.uint8], most_bits: int) -> Iterator[CloseTo]:
    """The images whose hashes (n, 8) differ in at most so many bits, for every image, the last first."""
    whole = np.ascontiguousarray(hashes).view(np.uint64).ravel()
    for place in reversed(range(len(whole))):
        near = np.bitwise_count(whole[place + 1 :] ^ whole[place]) <= most_bits
        yield place, np.flatnonzero(near) + place + 1


def close_features(features: NDArray[np.float32], least_cosine: float) -> Iterator[CloseTo]:
    """The images whose unit vectors (n, features) have at least this cosine, for every image, the last first.

    A vector with NaN is close to none.
    """
    for start in reversed(range(0, len(features), BLOCK)):
        cosines = features[start : start + BLOCK] @ features.T
        for row in reversed(range(len(cosines))):
            place = start + row
            yield place, np.flatnonzero(cosines[row, place + 1 :] >= least_cosine) + place + 1


def linked(close: Iterable[CloseTo], count: int) -> set[Places]:
    """Pairs of close images: up to 10 for each first image, and more where they connect groups.

    Many copies of one image would otherwise be millions of pairs. The groups are those of all pairs.

    Args:
        close: for every image, what is close to it; the last image first, so that few pairs must be added.
        count: the number of images.
    """
    group = np.arange(count)
    found: set[Places] = set()
    for place, others in close:
        kept = list(others[:MOST_PAIRS])
        group[np.isin(group, group[kept])] = group[place]
        while len(apart := others[group[others] != group[place]]):
            kept.append(apart[0])
            group[group == group[apart[0]]] = group[place]
        found |= {(place, int(other)) for other in kept}
    return found


def near_duplicates(
    project: Project,
    rows: Sequence[Candidate],
    candidates: Sequence[Candidate],
    rules: DuplicateRules,
    model: Model,
) -> tuple[tuple[NearDuplicate, ...], str]:
    """Pairs of near-duplicates among images, and which features were compared, in words.

    Of many copies only some pairs are returned, which connect all of them. An image that cannot be decoded
    is in no pair.

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
    by_hash = linked(close_hashes(hashes, rules.most_bits), len(hashes))
    if not rules.least_cosine:
        features, title = None, "none: not asked for"
    else:
        features, title = candidate_features(project, readable, candidates, model)
    by_features: set[Places] = set()
    if features is not None:
        by_features = linked(close_features(features, rules.least_cosine), len(features))

    def pair(first: int, other: int) -> NearDuplicate:
        bits = int(np.bitwise_count(hashes[first] ^ hashes[other]).sum())
        cosine = None if features is None else float(features[first] @ features[other])
        if cosine is not None and np.isnan(cosine):
            cosine = None
        similar = (first, other) in by_features or (cosine is not None and cosine >= rules.least_cosine)
        met = (("hash", bits <= rules.most_bits), ("features", similar))
        low, high = sorted((readable[first].id, readable[other].id))
        return NearDuplicate(
            low,
            high,
            bits,
            None if cosine is None else round(cosine, 4),
            tuple(name for name, is_met in met if is_met),
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
        if pair.other in group_of.get(pair.first, ()):
            continue
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
