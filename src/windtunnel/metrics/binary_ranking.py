"""OOD detection metrics: how well a score separates out-of-distribution from in-distribution images.

An image is detected if its score is at least t. R(t) is the share of OOD images detected (recall), F(t) the
share of ID images detected, and P(t) = n_out R / (n_out R + n_in F) the precision. Over the distinct scores
t_1 > t_2 > ... that occur, with R_0 = F_0 = 0 and P_0 = 1:

AUROC            = sum over i of (F_i - F_i-1) (R_i + R_i-1) / 2
AUPR             = sum over i of (R_i - R_i-1) P_i                    average precision; OOD is positive
AUPR, trapezoid  = sum over i of (R_i - R_i-1) (P_i + P_i-1) / 2      as some libraries interpolate the curve
FPR at 95 %      = F_i at the first i with R_i >= 0.95

A random score has an AUPR of n_out / (n_out + n_in). Each metric is computed as pseudo-values, one per image:
the metric plus the image's influence on it. OOD and ID images are sampled separately, since their numbers are
fixed. With g and h the derivatives of the metric by R_i and F_i, an OOD image at place u has the influence
sum over i >= u of g_i - sum of g_i R_i, times n/n_out. ID images likewise use h and F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from windtunnel.metrics.ood_scores import Numbers, Truths
from windtunnel.stats.intervals import CONFIDENCE

RECALL = 0.95


@dataclass(frozen=True)
class Curve:
    """Recall and false positive rate at every distinct score, the highest first.

    Attributes:
        recall, fpr: R_i and F_i.
        place: for every image, the first i at which it is detected.
        out: which images are OOD.
    """

    recall: Numbers
    fpr: Numbers
    place: NDArray[np.int64]
    out: Truths

    @property
    def n_out(self) -> int:
        """Number of OOD images."""
        return int(self.out.sum())

    @property
    def n_in(self) -> int:
        """Number of ID images."""
        return len(self.out) - self.n_out

    @cached_property
    def precision(self) -> Numbers:
        """P_i."""
        called_out = self.n_out * self.recall
        return np.asarray(called_out / (called_out + self.n_in * self.fpr), np.float64)

    @cached_property
    def precision_slopes(self) -> tuple[Numbers, Numbers]:
        """Derivatives of P_i by R_i and by F_i."""
        whole = (self.n_out * self.recall + self.n_in * self.fpr) ** 2
        both = self.n_out * self.n_in
        return both * self.fpr / whole, -both * self.recall / whole


# A score of a curve, and its derivatives by every R_i and F_i.
Gradient = tuple[float, Numbers, Numbers]


def curve(scores: Numbers, out: Truths) -> Curve:
    """The curve of scores that are high for OOD images; both OOD and ID images are required."""
    levels, place = np.unique(-scores, return_inverse=True)
    counts = [np.bincount(place[members], minlength=len(levels)) for members in (out, ~out)]
    recall, fpr = (np.cumsum(count) / count.sum() for count in counts)
    return Curve(recall, fpr, place, out)


def auroc(drawn: Curve) -> Gradient:
    """Area under the ROC curve: how often an OOD image scores above an ID image; ties count half."""
    steps, height = _steps(drawn.fpr), _middles(drawn.recall, 0.0)
    return float(steps @ height), (steps + _next(steps)) / 2, height - _next(height)


def average_precision(drawn: Curve) -> Gradient:
    """Area under the precision-recall curve as average precision."""
    steps, (by_recall, by_fpr) = _steps(drawn.recall), drawn.precision_slopes
    slopes = drawn.precision - _next(drawn.precision) + by_recall * steps
    return float(steps @ drawn.precision), slopes, by_fpr * steps


def trapezoid_precision(drawn: Curve) -> Gradient:
    """Area under the precision-recall curve by trapezoids, from recall 0 at precision 1."""
    steps, (by_recall, by_fpr) = _steps(drawn.recall), drawn.precision_slopes
    height, wide = _middles(drawn.precision, 1.0), (steps + _next(steps)) / 2
    return float(steps @ height), height - _next(height) + by_recall * wide, by_fpr * wide


def fpr_at_recall(drawn: Curve) -> Gradient:
    """False positive rate at the first score whose recall is at least 95 %.

    Its derivative by the recall there is minus the curve's slope dF/dR. The slope is taken over the 95 %
    range of the recall at n_out OOD images: 0.95 -+ 1.96 sqrt(0.95 * 0.05 / n_out).
    """
    at = int(np.searchsorted(drawn.recall, RECALL - 1e-12))
    return _rate_at(drawn, at)


def fpr_near_recall(drawn: Curve) -> Gradient:
    """The same at the recall nearest to 95 %, above or below, as ImageNet-O's published code has it.

    Of several scores at that recall it takes the lowest, which detects most ID images. Recalls after the
    first of 100 % do not count.
    """
    whole = int(np.searchsorted(drawn.recall, 1.0))
    backwards = drawn.recall[whole::-1]
    return _rate_at(drawn, whole - int(np.argmin(np.abs(backwards - RECALL))))


def _rate_at(drawn: Curve, at: int) -> Gradient:
    reach = float(ndtri((1 + CONFIDENCE) / 2)) * np.sqrt(RECALL * (1 - RECALL) / drawn.n_out)
    around = np.clip([RECALL - reach, RECALL + reach], 0.0, 1.0)
    low, high = np.minimum(np.searchsorted(drawn.recall, around - 1e-12), len(drawn.recall) - 1)
    wide = drawn.recall[high] - drawn.recall[low]
    slope = float((drawn.fpr[high] - drawn.fpr[low]) / wide) if wide > 0 else 0.0
    by_recall, by_fpr = np.zeros((2, len(drawn.recall)))
    by_recall[at], by_fpr[at] = -slope, 1.0
    return float(drawn.fpr[at]), by_recall, by_fpr


def detection_values(scores: Numbers, out: Truths, judge: Callable[[Curve], Gradient]) -> Numbers:
    """A detection metric as one value per image: the metric plus the image's influence on it."""
    drawn = curve(scores, out)
    value, by_recall, by_fpr = judge(drawn)
    values = np.full(len(scores), value)
    for members, slopes, share in ((out, by_recall, drawn.recall), (~out, by_fpr, drawn.fpr)):
        from_here = np.cumsum(slopes[::-1])[::-1]
        influence = from_here[drawn.place[members]] - float(slopes @ share)
        # Influences sum to exactly zero despite rounding, so that the mean is the metric.
        values[members] += (influence - influence.mean()) * (len(scores) / members.sum())
    return values


def _steps(values: Numbers) -> Numbers:
    """Difference of each value from the previous one; the value before the first is 0."""
    return np.diff(values, prepend=0.0)


def _middles(values: Numbers, first: float) -> Numbers:
    """Midpoint of each value and the previous one."""
    return np.asarray((values + np.concatenate([[first], values[:-1]])) / 2, np.float64)


def _next(values: Numbers) -> Numbers:
    """The next value of each; 0 after the last, where every image is detected and has no influence."""
    return np.concatenate([values[1:], [0.0]])
