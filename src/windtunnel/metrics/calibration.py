"""Calibration: are predictions with a confidence of 80 % correct in 80 % of cases?

With c the confidence (the best-placed class's probability), r 1 where that class is the label and else 0,
and bins b of n_b out of n predictions:

ECE                    = sum_b n_b/n * |mean c - mean r|         15 bins of equal width in c
RMS calibration error  = sqrt(sum_b n_b/n * (mean c - mean r)^2)  bins of 100 predictions, sorted by c

Neither is a mean over images. Their intervals use each image's influence (the infinitesimal jackknife): the
score is computed as pseudo-values, one per image, whose mean is the score itself. The intervals are for the
score at this number of images: both scores are biased upwards on few images, and so are the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.confidence import Numbers, Truths, mean_over_ties
from windtunnel.stats.intervals import mean_of_predictions_interval
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

ECE_BINS = 15
RMS_BIN_SIZE = 100


def ece_values(confidence: Numbers, right: Truths, bins: int = ECE_BINS) -> Numbers:
    """ECE as one value per image (images x conditions pooled): the signed gap of its predictions.

    A prediction's gap c - r counts with the sign of its bin's sum (+ where that is 0); the mean over
    predictions is the ECE.
    """
    gap = confidence - right
    place = _equal_width_bins(confidence, bins)
    signs = np.where(np.bincount(place.ravel(), gap.ravel(), minlength=bins) < 0, -1.0, 1.0)
    return np.asarray((signs[place] * gap).mean(axis=1), np.float64)


def rms_values(
    confidence: Numbers, right: Truths, bin_size: int = RMS_BIN_SIZE, *, compat: bool = False
) -> Numbers:
    """RMS calibration error as one value per image (images x conditions pooled).

    With m_b a bin's mean gap, the mean square MS is the mean of 2 m_b (c - r) - m_b^2; the root is taken by
    its derivative: RMS + (that - MS) / (2 RMS), or c - r where RMS is 0. The last bin takes the remainder;
    fewer predictions than a bin holds are one bin. Equal confidences count as right in the share that they
    are right together, so that their order does not matter. A prediction still has its own c - r. It uses the
    mean m_b and m_b^2 over the bins that its ties are in, because their shares are random as well.

    Args:
        confidence: of each prediction.
        right: whether each is right.
        bin_size: predictions per bin.
        compat: as the published code of ImageNet-A computes it: the most confident bin is dropped, while
            its predictions still count in n, and equal confidences keep the order given. A single bin
            gives 0.
    """
    flat = confidence.ravel()
    order = np.argsort(flat, kind="stable" if compat else "quicksort")
    keys, truths = flat[order], right.ravel()[order].astype(np.float64)

    def shared(values: Numbers) -> Numbers:
        return values if compat else mean_over_ties(keys, values)

    bins = _equal_count_bins(len(keys), bin_size)
    means = (np.bincount(bins, keys - shared(truths)) / np.bincount(bins))[bins]
    dropped = (bins == bins[-1]) & compat
    own = np.where(dropped, 0.0, keys - truths)
    terms = np.where(dropped, 0.0, 2 * shared(means) * own - shared(means**2))
    gaps, squares = (_per_image(values, order, confidence.shape) for values in (own, terms))
    whole = float(squares.mean())
    root = np.sqrt(max(whole, 0.0))
    return np.asarray(root + (squares - whole) / (2 * root) if root > 0 else gaps - gaps.mean(), np.float64)


def calibration_interval(measure: Measure) -> tuple[float, float]:
    """Student's interval of a calibration error; for a single image it is the limits."""
    if measure.units < 2:
        return measure.limits
    right = measure.columns[:, 1]
    return mean_of_predictions_interval(measure.image_values, right, measure.groups)


@dataclass(frozen=True)
class Bin:
    """Predictions of about the same confidence.

    Attributes:
        low, high: the confidences it holds.
        n: predictions.
        confidence: their mean.
        accuracy: share of correct predictions.
    """

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def reliability(confidence: Numbers, right: Truths, bins: int = ECE_BINS) -> list[Bin]:
    """Confidence and accuracy in each bin of the ECE that has predictions."""
    place = _equal_width_bins(confidence, bins).ravel()
    sizes = np.bincount(place, minlength=bins)
    sums = [np.bincount(place, values.ravel(), minlength=bins) for values in (confidence, right)]
    return [
        Bin(
            b / bins,
            (b + 1) / bins,
            int(sizes[b]),
            float(sums[0][b] / sizes[b]),
            float(sums[1][b] / sizes[b]),
        )
        for b in np.flatnonzero(sizes)
    ]


def ece_by_chance(confidence: Numbers, bins: int = ECE_BINS) -> float:
    """The ECE to expect of a perfectly calibrated model with these confidences, on as many predictions.

    A bin's gap is then chance alone, of variance sum c(1 - c) / n_b^2, and its mean size sqrt(2/pi) times the
    standard deviation: ECE = sum_b sqrt(2/pi * sum_b c(1 - c)) / n. Predictions count as independent, so that
    several conditions of one image make it too small.
    """
    flat = confidence.ravel()
    spread = np.bincount(_equal_width_bins(flat, bins), flat * (1 - flat), minlength=bins)
    return float(np.sqrt(2 / np.pi * spread).sum() / flat.size)


def _per_image(ordered: Numbers, order: NDArray[np.int64], shape: tuple[int, ...]) -> Numbers:
    """Mean over each image's conditions of sorted predictions."""
    values = np.empty(len(ordered))
    values[order] = ordered
    return np.asarray(values.reshape(shape).mean(axis=1), np.float64)


def _equal_width_bins(confidence: Numbers, bins: int) -> NDArray[np.int64]:
    """The bin of each confidence: (0, 1/bins], (1/bins, 2/bins], ..."""
    return np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], confidence)


def _equal_count_bins(count: int, bin_size: int) -> NDArray[np.int64]:
    """The bin of each of so many sorted predictions."""
    return np.minimum(np.arange(count) // bin_size, max(count // bin_size, 1) - 1)


def calibration_notes(run: ScoredRun) -> list[str]:
    """A sentence that states why there is no calibration error as ImageNet-A's code computes it."""
    if "rms_calibration_error_compat" not in run.metrics or not run.observed.gives_probabilities:
        return []
    counts = {part.name: len(part.rows) for part in run.parts if part.labelled}
    counts = counts or {"single conditions": len(run.observed.ids)}
    few = [name for name, count in counts.items() if count < 2 * RMS_BIN_SIZE]
    if not few:
        return []
    return [
        f"No rms_calibration_error_compat of {' and '.join(few)}: it omits the most confident bin of "
        f"{RMS_BIN_SIZE} predictions and needs {2 * RMS_BIN_SIZE} images."
    ]
