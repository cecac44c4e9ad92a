"""The embedded demo: scanned digits that come with scikit-learn, and where the demo model lies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.labels import index_space
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset

SIDE_PX = 32
# Every third digit is held out; tools/train_demo_model.py trains on the others.
HELD_OUT_EVERY = 3
# The scans are 8x8 counts of ink from 0 to 16.
INK_MAX = 16
PAPER, INK = 64, 192


def demo_model_path() -> Path:
    """The small ONNX network shipped with the package."""
    return Path(str(files("windtunnel.data") / "demo_model" / "digits.onnx"))


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All 1,797 digits as 32x32 RGB, and their classes.

    Each scan stands at its own 8x8 pixels in the middle of an even grey, like a number read from afar:
    small and faint enough for corruptions to matter.
    """
    rows = np.loadtxt(_scans_path(), delimiter=",")
    images = np.stack([_framed(scan.reshape(8, 8)) for scan in rows[:, :-1]])
    return images, rows[:, -1].astype(np.int64)


def _scans_path() -> Path:
    """The file that scikit-learn's load_digits reads; importing scikit-learn for it takes over a second."""
    spec = find_spec("sklearn")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"


def _framed(scan: NDArray[np.float64]) -> NDArray[np.uint8]:
    margin = (SIDE_PX - scan.shape[0]) // 2
    grey = np.full((SIDE_PX, SIDE_PX), PAPER, np.uint8)
    ink = np.rint(PAPER + (INK - PAPER) * scan / INK_MAX).astype(np.uint8)
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
