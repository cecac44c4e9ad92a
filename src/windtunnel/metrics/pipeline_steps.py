"""Deployment pipeline steps: accuracy lost and predictions changed by swapping a step, and spread per axis.

step cost         = accuracy before the swap - accuracy after it, on the same images
step flip share   = share of images whose predicted class differs after the swap
axis mean, std    = mean and sample standard deviation (n - 1) of the accuracies of an axis's methods
axis std corrected = sqrt(max(0, std^2 - the sampling variance on this many images))
axis range        = largest accuracy minus smallest
axis flip share   = share of images whose predicted class is not the same with every method

The methods of an axis are its steps and the canvas's own method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.clean_comparison import flipped
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.intervals import Groups
from windtunnel.stats.measure import Measure
from windtunnel.stats.spread import noise_variance, range_interval, std_interval

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

IDENTICAL = "the pixels are identical on every image"


def step_columns(run: ScoredRun) -> list[int]:
    """Columns of the pipeline steps among the observations."""
    single = [condition for condition in run.conditions if not condition.is_sequence]
    return [column for column, condition in enumerate(single) if condition.is_pipeline_step]


def reference_of(seen: Observed) -> str:
    """The reference condition, without a swapped step: the suite's canvas, or the model's preprocessing."""
    return "clean" if "clean" in seen.conditions else "native"


def identical_steps(run: ScoredRun, seen: Observed) -> set[str]:
    """The steps that changed no pixel of any image, apart from numerics, which never change pixels."""
    steps = {seen.conditions[column]: column for column in step_columns(run)}
    return {step for step in steps.keys() - _numerics(run) if (seen.pixel_change[:, steps[step]] == 0).all()}


def step_note(step: str, same: set[str]) -> str:
    """A note that follows the formula of a step whose pixels are identical, or ""."""
    return f"; {IDENTICAL}" if step in same else ""


def distinct_methods(run: ScoredRun, seen: Observed, parts: Sequence[str]) -> int:
    """Number of distinct methods of an axis; the first is the canvas's.

    Methods count as the same if their mean and largest pixel difference from the canvas are equal on every
    image. Numerics always count as distinct.
    """
    steps = [seen.column(part) for part in parts[1:]]
    if parts[1] in _numerics(run):
        return len(parts)
    differences = [np.zeros((2, len(seen.ids)))]
    differences += [np.stack([seen.pixel_change[:, step], seen.pixel_change_max[:, step]]) for step in steps]
    known = [values.tobytes() for values in differences if not np.isnan(values).any()]
    return len(set(known)) + len(differences) - len(known)


def _numerics(run: ScoredRun) -> set[str]:
    """The names of the conditions that change the arithmetic of the network."""
    return {condition.name for condition in run.conditions if condition.numerics}


def with_noise(right: NDArray[np.bool_], groups: Groups) -> NDArray[np.float64]:
    """Correct predictions of every method, and a last column with the sampling variance of the accuracies."""
    noise = noise_variance(right, groups)
    return np.column_stack([right, np.full(len(right), noise)])


def corrected_std(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of all means but the last, with the variance in the last one subtracted."""
    variance = means[..., :-1].var(axis=-1, ddof=1) - means[..., -1]
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)), np.float64)


def _over(parts: tuple[str, ...], distinct: int) -> str:
    """The methods of an axis as text."""
    same = f", {distinct} of them distinct" if distinct < len(parts) else ""
    return f"over {len(parts)} methods ({', '.join(parts)}){same}"


def _limits(distinct: int) -> tuple[float, float]:
    """Limits of a difference over an axis: 0 where all pixels, and so all predictions, are the same."""
    return (0.0, 1.0) if distinct > 1 else (0.0, 0.0)


def accuracy_of_axis(
    axis: str, parts: tuple[str, ...], distinct: int, right: NDArray[np.bool_], groups: Groups
) -> Iterator[Measure]:
    """Mean, standard deviation, its corrected value and range of the accuracies over an axis's methods."""
    over, limits = _over(parts, distinct), _limits(distinct)
    yield Measure(
        f"{axis}_mean_accuracy",
        "",
        f"top-1 accuracy, mean {over}",
        parts,
        right,
        np.full(len(parts), 1 / len(parts)),
    )
    yield Measure(
        f"{axis}_accuracy_std",
        "",
        f"sample standard deviation (n - 1) of top-1 accuracy {over}; biased upwards on few images, "
        "the interval is corrected for this bias",
        parts,
        right,
        combine=lambda means: means.std(axis=-1, ddof=1),
        limits=limits,
        ends=std_interval,
    )
    yield Measure(
        f"{axis}_accuracy_std_corrected",
        "",
        f"sample standard deviation (n - 1) of top-1 accuracy {over}, corrected for the sampling "
        "variance on this many images",
        parts,
        with_noise(right, groups),
        combine=corrected_std,
        limits=limits,
        remake=lambda rows: with_noise(right[rows], None if groups is None else groups[rows]),
        ends=lambda columns, drawn, groups: std_interval(columns[:, :-1], drawn[:, :-1], groups),
    )
    yield Measure(
        f"{axis}_accuracy_range",
        "",
        f"largest minus smallest top-1 accuracy {over}; biased upwards on few images, the "
        "interval is corrected for this bias",
        parts,
        right,
        combine=lambda means: means.max(axis=-1) - means.min(axis=-1),
        limits=limits,
        ends=range_interval,
    )


def flips_of_axis(axis: str, parts: tuple[str, ...], distinct: int, chosen: NDArray[np.int32]) -> Measure:
    """Share of images whose predicted class is not the same with every method of an axis."""
    return Measure(
        f"{axis}_flip_share",
        "",
        f"share of images whose predicted class is not the same {_over(parts, distinct)}",
        parts,
        np.asarray(flipped(chosen, chosen[:, :1]).any(axis=1, keepdims=True)),
        limits=_limits(distinct),
    )
