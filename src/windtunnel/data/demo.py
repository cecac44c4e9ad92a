"""The embedded demo: a small network and the scanned digits for its training and test.

The digits are the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, 1998,
UCI Machine Learning Repository, CC BY 4.0), the same 1,797 scans as scikit-learn's `load_digits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.labels import index_space
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset

SIDE_PX = 32
# Every third digit is a test image; tools/train_demo_model.py trains on the others.
HELD_OUT_EVERY = 3
# The scans are 8x8 counts of ink from 0 to 16.
INK_MAX = 16
PAPER, INK = 64, 192


def demo_model_path() -> Path:
    """The small ONNX network shipped with the package."""
    return _demo_file("digits.onnx")


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All 1,797 digits as 32x32 RGB, and their classes.

    Each scan keeps its 8x8 pixels, centred on uniform grey: small and faint enough for corruptions to
    matter.
    """
    with np.load(_demo_file("digits.npz")) as stored:
        return np.stack([_framed(scan) for scan in stored["scans"]]), stored["classes"].astype(np.int64)


def _demo_file(name: str) -> Path:
    return Path(str(files("windtunnel.data") / "demo_model" / name))


def _framed(scan: NDArray[np.uint8]) -> NDArray[np.uint8]:
    margin = (SIDE_PX - scan.shape[0]) // 2
    grey = np.full((SIDE_PX, SIDE_PX), PAPER, np.uint8)
    ink = np.rint(PAPER + (INK - PAPER) * scan.astype(np.float64) / INK_MAX).astype(np.uint8)
    grey[margin : margin + scan.shape[0], margin : margin + scan.shape[1]] = ink
    return np.repeat(grey[:, :, None], 3, axis=2)


class DigitsDataset(Dataset):
    """The 599 held-out digits."""

    name = "held-out-digits"
    location = "demo"
    portable = True

    label_space = index_space(10)

    @cached_property
    def _digits(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return digits()

    def samples(self) -> Sequence[Sample]:
        """Every held-out digit."""
        classes = self._digits[1]
        rows = range(0, len(classes), HELD_OUT_EVERY)
        return [Sample(f"{row:08d}", (int(classes[row]),), {"row": str(row)}) for row in rows]

    def read(self, sample: Sample) -> Image:
        """The digit as 32x32 RGB."""
        return np.asarray(self._digits[0][int(sample.meta["row"])])
