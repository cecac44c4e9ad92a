"""Perceptual hashes, pairs of near-duplicates and overlapping classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.fft import dctn
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from windtunnel.core.curation_records import NearDuplicate
from windtunnel.curate.class_overlap import Relation, confusion_overlaps, hierarchy_overlaps, relations
from windtunnel.curate.near_duplicates import close_features, close_hashes, grouped, linked, perceptual_hash


def test_the_hash_is_the_sign_of_low_frequencies() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    grey = np.rint(image @ np.array([0.299, 0.587, 0.114]))
    low = dctn(grey, norm="ortho")[:8, :8].ravel()
    bits = np.packbits(low > np.median(low[1:]))
    # Grey levels are rounded differently by at most one.
    assert np.bitwise_count(bits ^ perceptual_hash(image)).sum() <= 2


def pairs_of(close) -> set[tuple[int, int]]:
    return {(place, int(other)) for place, others in close for other in others}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 7))
def test_pairs_equal_a_comparison_of_all_with_all(seed: int, most_bits: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 256, (4, 8), dtype=np.uint8).repeat(5, axis=0)
    for row in hashes:
        for bit in rng.integers(0, 64, rng.integers(0, 6)):
            row[bit // 8] ^= np.uint8(1 << (bit % 8))
    expected = set()
    for first in range(len(hashes)):
        for other in range(first + 1, len(hashes)):
            bits = sum(bin(a ^ b).count("1") for a, b in zip(*hashes[[first, other]].tolist(), strict=True))
            if bits <= most_bits:
                expected.add((first, other))
    assert pairs_of(close_hashes(hashes, most_bits)) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.floats(0, 0.2))
def test_fewer_pairs_connect_the_same_images(seed: int, count: int, share: float) -> None:
    """The groups are SciPy's connected components of all pairs."""
    near = np.triu(np.random.default_rng(seed).random((count, count)) < share, 1)
    near[: count // 3, : count // 3] = np.triu(np.ones((count // 3, count // 3), bool), 1)
    kept = linked(((place, np.flatnonzero(row)) for place, row in reversed([*enumerate(near)])), count)
    assert all(near[pair] for pair in kept)
    fewer = np.zeros_like(near)
    for pair in kept:
        fewer[pair] = True
    (_, expected), (_, found) = connected_components(near), connected_components(fewer)
    assert found.tolist() == expected.tolist()
    assert len(kept) <= 11 * count
    if near.sum(axis=1).max() <= 10:
        assert len(kept) == near.sum()


def test_many_copies_give_few_pairs() -> None:
    copies = 3000
    kept = linked(close_hashes(np.zeros((copies, 8), np.uint8), 6), copies)
    assert len(kept) <= 10 * copies
    pairs = [NearDuplicate(f"{first:04d}", f"{other:04d}", 0, None, ("hash",)) for first, other in kept]
    assert [len(group) for group in grouped(pairs)] == [copies]
    same = np.full((copies, 4), 0.5, np.float32)
    assert len(linked(close_features(same, 0.9), copies)) <= 10 * copies


def test_features_are_compared_by_their_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal to SciPy's distances of all with all, also if there are several blocks."""
    monkeypatch.setattr("windtunnel.curate.near_duplicates.BLOCK", 7)
    vectors = np.random.default_rng(2).normal(size=(30, 4))
    units = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    cosines = 1 - cdist(vectors, vectors, "cosine")
    expected = {(first, other) for first, other in np.argwhere(cosines >= 0.8).tolist() if first < other}
    assert pairs_of(close_features(units, 0.8)) == expected and expected
    units[expected.pop()[0]] = np.nan
    assert pairs_of(close_features(units, 0.8)) < set(map(tuple, np.argwhere(cosines >= 0.8).tolist()))


def test_pairs_are_joined_to_groups() -> None:
    pairs = [NearDuplicate(*ids, 1, None, ("hash",)) for ids in (("a", "b"), ("x", "y"), ("b", "c"))]
    assert grouped(pairs) == [["a", "b", "c"], ["x", "y"]]


def test_overlaps_by_hierarchy_and_by_confusion() -> None:
    parents = {"husky": frozenset({"dog"}), "dog": frozenset({"animal"}), "cat": frozenset({"animal"})}
    assert hierarchy_overlaps(["husky", "cat", "animal"], parents) == [("cat", "animal"), ("husky", "animal")]
    assert relations(["animal", "dog", "cat", "husky"], ["dog", "cup"], parents) == {
        "animal": Relation("above", "dog"),
        "husky": Relation("below", "dog"),
    }
    pairs = [("cup", "mug")] * 2 + [("cup", "pot")] * 2 + [("mug", "cup")] * 1 + [("mug", "mug")] * 3
    assert confusion_overlaps(pairs) == [("cup", "mug")]
    assert confusion_overlaps(pairs[:-1]) == []  # three candidates are too few
