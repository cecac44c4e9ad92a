"""How much two frames of a video differ: duplicates, and cuts between scenes.

The signals are simple statistics of pixels on purpose. A network that chose frames would choose those that
are easy or hard for networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image

# The longer side of the image on which structural similarity is computed, and its window.
SMALL_SIDE = 256
WINDOW = 7
# Constants of structural similarity for 8-bit images (Wang et al. 2004).
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
# Bins of each channel's histogram.
BINS = 32
BLOCK = 16
# Nearly identical: the mean difference and that of every block of 16x16 pixels, of 255, are at most these.
NEAR_MEAN, NEAR_BLOCK = 0.5, 3.0
# A cut: the histograms share little, or they differ and the structure is gone.
CUT_HISTOGRAM = 0.5
CUT_BOTH = (0.2, 0.4)

DUPLICATE = "duplicate"
NEAR_DUPLICATE = "near_duplicate"
CUT = "cut"


@dataclass(frozen=True)
class FramePair:
    """Signals of two frames that are shown one after the other.

    Attributes:
        identical: whether all pixels are equal.
        difference: mean absolute difference of pixels, 0 to 255.
        block_difference: the largest difference of the means of a 16x16 block.
        histogram_distance: total variation distance of colour histograms, 0 (equal) to 1.
        ssim: mean structural similarity of the grey images at 256 pixels, 1 if equal.
    """

    identical: bool
    difference: float
    block_difference: float
    histogram_distance: float
    ssim: float

    @property
    def flags(self) -> tuple[str, ...]:
        """`duplicate`, `near_duplicate` or `cut`; empty for an ordinary pair."""
        if self.identical:
            return (DUPLICATE,)
        if self.difference <= NEAR_MEAN and self.block_difference <= NEAR_BLOCK:
            return (NEAR_DUPLICATE,)
        distance, ssim = CUT_BOTH
        both = self.histogram_distance >= distance and self.ssim <= ssim
        return (CUT,) if both or self.histogram_distance >= CUT_HISTOGRAM else ()


def compare_frames(first: Image, second: Image) -> FramePair:
    """The signals of two frames; a frame of another size is scaled to the size of the first."""
    same_size = first.shape == second.shape
    identical = same_size and bool(np.array_equal(first, second))
    height, width = first.shape[:2]
    if not same_size:
        second = cv2.resize(second, (width, height), interpolation=cv2.INTER_AREA)
    blocks = (max(1, width // BLOCK), max(1, height // BLOCK))
    block_means = [
        cv2.resize(image, blocks, interpolation=cv2.INTER_AREA).astype(np.float32)
        for image in (first, second)
    ]
    return FramePair(
        identical,
        float(cv2.absdiff(first, second).mean()),
        float(np.abs(block_means[0] - block_means[1]).max()),
        histogram_distance(first, second),
        structural_similarity(_small_grey(first), _small_grey(second)),
    )


def histogram_distance(first: Image, second: Image) -> float:
    """Half the sum of absolute differences of the channels' histograms, averaged over channels."""
    distances = [
        np.abs(_histogram(first[..., channel]) - _histogram(second[..., channel])).sum() / 2
        for channel in range(first.shape[2])
    ]
    return float(np.mean(distances))


def _histogram(channel: NDArray[np.uint8]) -> NDArray[np.float64]:
    counts = np.bincount((channel // (256 // BINS)).ravel(), minlength=BINS)
    return np.asarray(counts / channel.size, np.float64)


def structural_similarity(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Mean structural similarity of two grey images of values 0 to 255, with uniform 7x7 windows."""

    def mean(image: NDArray[np.float32]) -> NDArray[np.float32]:
        blurred = cv2.blur(image, (WINDOW, WINDOW), borderType=cv2.BORDER_REFLECT)
        return np.asarray(blurred, np.float32)

    mean_1, mean_2 = mean(first), mean(second)
    variance_1 = mean(first * first) - mean_1 * mean_1
    variance_2 = mean(second * second) - mean_2 * mean_2
    covariance = mean(first * second) - mean_1 * mean_2
    similarity = ((2 * mean_1 * mean_2 + C1) * (2 * covariance + C2)) / (
        (mean_1 * mean_1 + mean_2 * mean_2 + C1) * (variance_1 + variance_2 + C2)
    )
    return float(similarity.mean())


def _small_grey(image: Image) -> NDArray[np.float32]:
    height, width = image.shape[:2]
    scale = min(1.0, SMALL_SIDE / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32)
