"""Perceptual hashes, pairs of near-duplicates and overlapping classes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.fft import dctn

from windtunnel.curate.class_overlap import confusion_overlaps, hierarchy_overlaps, related
from windtunnel.curate.near_duplicates import close_pairs, grouped, perceptual_hash


def test_the_hash_is_the_sign_of_low_frequencies() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    grey = np.rint(image @ np.array([0.299, 0.587, 0.114]))
    low = dctn(grey, norm="ortho")[:8, :8].ravel()
    bits = np.packbits(low > np.median(low[1:]))
    # Grey levels are rounded differently by at most one.
    assert np.bitwise_count(bits ^ perceptual_hash(image)).sum() <= 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 7))
def test_pairs_equal_a_comparison_of_all_with_all(seed: int, most_bits: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 256, (4, 8), dtype=np.uint8).repeat(5, axis=0)
    for row in hashes:
        for bit in rng.integers(0, 64, rng.integers(0, 6)):
            row[bit // 8] ^= np.uint8(1 << (bit % 8))
    ids = [f"{number:02}" for number in rng.permutation(len(hashes))]
    expected = []
    for first in range(len(ids)):
        for other in range(first + 1, len(ids)):
            bits = sum(bin(a ^ b).count("1") for a, b in zip(*hashes[[first, other]].tolist(), strict=True))
            if bits <= most_bits:
                expected.append((*sorted((ids[first], ids[other])), bits))
    assert close_pairs(ids, hashes, most_bits) == sorted(expected)


def test_pairs_are_joined_to_groups() -> None:
    assert grouped([("a", "b", 1), ("x", "y", 0), ("b", "c", 2)]) == [["a", "b", "c"], ["x", "y"]]


def test_overlaps_by_hierarchy_and_by_confusion() -> None:
    parents = {"husky": frozenset({"dog"}), "dog": frozenset({"animal"}), "cat": frozenset({"animal"})}
    assert hierarchy_overlaps(["husky", "cat", "animal"], parents) == [("cat", "animal"), ("husky", "animal")]
    assert related("dog", ["husky"], parents) == "husky" == related("husky", ["husky"], {})
    assert related("husky", ["cat"], parents) == ""
    pairs = [("cup", "mug")] * 2 + [("cup", "pot")] * 2 + [("mug", "cup")] * 1 + [("mug", "mug")] * 3
    assert confusion_overlaps(pairs) == [("cup", "mug")]
    assert confusion_overlaps(pairs[:-1]) == []  # three candidates are too few
