"""Random numbers that depend only on their purpose, never on order, process or worker.

A stream is a 64-bit key; value i of it is splitmix64(key + i*G). There is no state, so any value can be
drawn anywhere. This module has the NumPy versions; `kernels/draws.py` has the same arithmetic for compiled
loops, bit-equal for integers and uniforms.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import blake2b
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

# Increased when the derivation below changes: a stored run of another version has another recipe.
STREAM_VERSION = 1

GOLDEN_GAMMA = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
WORD = (1 << 64) - 1
_GAMMA, _MIX_1, _MIX_2 = np.uint64(GOLDEN_GAMMA), np.uint64(MIX_1), np.uint64(MIX_2)
_S11, _S27, _S30, _S31, _S32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
# Up to this many words are computed faster as Python integers than as an array.
FEW = 16


def digest64(*parts: object) -> int:
    """64 bits of BLAKE2b over the parts as texts, each after its length, so that lists cannot collide."""
    joined = ""
    for part in parts:  # a loop takes less time than a join
        text = str(part)
        joined += f"{len(text)}:{text}"
    return _hashed(joined)


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def fresh_seed() -> int:
    """An unpredictable seed, for callers who give none."""
    return secrets.randbits(63)


def words(key: int, count: int, start: int = 0) -> NDArray[np.uint64]:
    """Values start .. start+count-1 of a stream, as 64-bit words (splitmix64's output function)."""
    z = np.arange(start, start + count, dtype=np.uint64)
    z *= _GAMMA  # arrays of integers wrap around
    z += np.uint64(key)
    z ^= z >> _S30
    z *= _MIX_1
    z ^= z >> _S27
    z *= _MIX_2
    z ^= z >> _S31
    return z


def word(key: int, index: int) -> int:
    """One value of a stream, as a Python integer."""
    z = (key + index * GOLDEN_GAMMA) & WORD
    z = ((z ^ (z >> 30)) * MIX_1) & WORD
    z = ((z ^ (z >> 27)) * MIX_2) & WORD
    return z ^ (z >> 31)


@dataclass
class Draws:
    """The random draws of one unit at one level on one sample.

    Every corruption of an image makes one. It is not frozen, which would double the time for that.

    Args:
        seed: the run's seed.
        sample_id: which image.
        unit: kind and name, such as `corruption/fog`.
        level: severity or difficulty.
    """

    seed: int
    sample_id: str
    unit: str
    level: int
    _root: str = field(default="", init=False, repr=False, compare=False)

    @property
    def root(self) -> int:
        """The key from which all others are derived."""
        return digest64(STREAM_VERSION, self.seed, self.sample_id, self.unit, self.level)

    def key(self, purpose: str) -> int:
        """The key of one sub-draw ("field", "angle", "frame 7"), independent of those of other purposes."""
        if not self._root:
            root = str(self.root)
            self._root = f"{len(root)}:{root}"
        return _hashed(f"{self._root}{len(purpose)}:{purpose}")  # digest64(root, purpose), in less time

    def uniform(self, purpose: str, low: float = 0.0, high: float = 1.0) -> float:
        """One uniform number in [low, high): the top 53 bits of the purpose's first word."""
        return low + (high - low) * ((word(self.key(purpose), 0) >> 11) * 2.0**-53)

    def uniforms(self, purpose: str, count: int, low: float = 0.0, high: float = 1.0) -> NDArray[np.float64]:
        """Uniform numbers in [low, high): the top 53 bits of each word."""
        if count <= FEW:
            key = self.key(purpose)
            shares = [(word(key, index) >> 11) * 2.0**-53 for index in range(count)]
            return np.array([low + (high - low) * share for share in shares], np.float64)
        unit = (words(self.key(purpose), count) >> _S11) * 2.0**-53
        return np.asarray(low + (high - low) * unit, np.float64)

    def integer(self, purpose: str, low: int, high: int) -> int:
        """One integer in [low, high): the top 32 bits of the purpose's first word times the range."""
        return low + (((word(self.key(purpose), 0) >> 32) * (high - low)) >> 32)

    def integers(self, purpose: str, count: int, low: int, high: int) -> list[int]:
        """Integers in [low, high): the top 32 bits of each word times the range."""
        key = self.key(purpose)
        if count <= FEW:
            return [low + (((word(key, index) >> 32) * (high - low)) >> 32) for index in range(count)]
        draws = ((words(key, count) >> _S32) * np.uint64(high - low)) >> _S32
        numbers: list[int] = (draws.astype(np.int64) + low).tolist()
        return numbers

    def normals(self, purpose: str, count: int, spread: float = 1.0) -> list[float]:
        """Normal numbers of mean 0: the normal quantile of (each word's top 53 bits + 1/2) / 2**53."""
        key, standard = self.key(purpose), NormalDist()
        shares = [((word(key, index) >> 11) + 0.5) * 2.0**-53 for index in range(count)]
        return [spread * standard.inv_cdf(share) for share in shares]

    def permutation(self, purpose: str, count: int) -> list[int]:
        """The numbers below `count` in random order: Fisher and Yates's shuffle, one word for each swap."""
        key, order = self.key(purpose), list(range(count))
        for last in range(count - 1, 0, -1):
            other = ((word(key, last) >> 32) * (last + 1)) >> 32
            order[last], order[other] = order[other], order[last]
        return order
