"""Scores of perturbation sequences: how often and how far predictions change between frames.

Flip probabilities, top-5 distances (`metrics/stability.py`) and their means over the run's sequences. The
image is the sampling unit: its pairs of frames and its sequences do not count as separate images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.metrics.frame_predictions import Clips
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.stability import (
    Weight,
    discounted_distance,
    farthest_discounted,
    farthest_top5,
    flips,
    frame_pairs,
    top5_distance,
)
from windtunnel.sequences import SEQUENCE_PREFIX, Comparison, comparison_of
from windtunnel.stats.intervals import Groups
from windtunnel.stats.measure import Measure, bounded_interval

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

SIGMA = "sigma(i) being the later frame's rank of the earlier frame's i-th class"

Numbers = NDArray[np.float64]
# From top five classes (images, frames, 5) and pairs of frames to images x pairs.
Distance = Callable[[NDArray[np.int32], tuple[NDArray[np.int64], NDArray[np.int64]]], NDArray[Any]]


def sequences_of(run: ScoredRun) -> list[Condition]:
    """The run's sequences, in its order."""
    return [condition for condition in run.conditions if condition.is_sequence]


def bare(condition: Condition) -> str:
    """A sequence's name without its prefix."""
    return condition.unit.removeprefix(SEQUENCE_PREFIX)


def pairs_of(run: ScoredRun, condition: Condition) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of frames that are compared; the difficulty of a temporal sequence is the stride."""
    return frame_pairs(condition.frames, type_of(condition), difficulty_of(run))


def type_of(condition: Condition) -> Comparison:
    """How a stored sequence's frames are compared."""
    return comparison_of(condition.level)


def difficulty_of(run: ScoredRun) -> int:
    """The difficulty: strength of noise, stride of temporal sequences."""
    return int(run.recipe.suite.levels[0])


def rivals_of(run: ScoredRun) -> int:
    """Number of classes that compete."""
    return int(run.projection.mask_for(run.recipe.model.classes).sum())


def flips_of(run: ScoredRun, condition: Condition) -> NDArray[np.bool_]:
    """Whether the predicted class changes, images x compared pairs of frames."""
    return changes(FLIPS, run.clips, name(condition), run, condition)


def _flips(top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.bool_]:
    return flips(top[:, :, 0], pairs)


def _distances(
    top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.int8]:
    earlier, later = pairs
    distances = np.empty((len(top), len(earlier)), np.int8)
    for place, (before, after) in enumerate(zip(earlier, later, strict=True)):
        distances[:, place] = top5_distance(top[:, before], top[:, after])
    return distances


@dataclass(frozen=True)
class Kind:
    """A measure of change between frames: names, formula in words, maximum, and AlexNet's figures.

    `most` is the maximum for a number of classes; `short` is a shorter form of `words`.
    """

    each: str
    mean: str
    ratio: str
    mean_ratio: str
    title: str
    words: str
    short: str
    distance: Distance
    most: Callable[[int], float]
    normaliser: str


FLIPS = Kind(
    "flip_probability", "mfp", "flip_rate", "mfr", "FR",
    "share of compared frames whose best class differs",
    "share of compared frames whose best class differs",
    _flips, lambda _classes: 1, "fp",
)  # fmt: skip
TOP_FIVE = Kind(
    "ut5d", "mean_ut5d", "t5d", "mt5d", "T5D",
    f"mean over compared frames of the top-5 distance, sum over i = 1..5 of |i - min(sigma(i), 6)|, {SIGMA}",
    "how far the five best classes move between compared frames, in ranks",
    _distances, farthest_top5, "ut5d",
)  # fmt: skip


def each(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """The score of every sequence."""
    return [
        weighted(kind, kind.each, name(sequence), formula_of(run, kind, sequence), run, [sequence])
        for sequence in sequences_of(run)
    ]


def mean(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """The mean over all sequences of the run."""
    sequences = sequences_of(run)
    if not sequences:
        return []
    formula = (
        f"{kind.words}; mean over {counted(len(sequences), 'sequence')}, difficulty {difficulty_of(run)}"
    )
    return [weighted(kind, kind.mean, "", formula, run, sequences)]


def discounted(metric: str, weight: Weight, words: str, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """A distance between full rankings, for every sequence; it needs all class scores of every frame."""
    measures = []
    for sequence in sequences_of(run):
        if name(sequence) not in run.recipe.keep:
            raise UserError(
                f"{metric} needs every class's score of every frame; run with {option('keep', 'logits')}."
            )
        earlier, later = pairs_of(run, sequence)
        means, farthest = [], 0.0
        for scores in run.clips.scores(name(sequence)):
            farthest = farthest_discounted(scores.shape[-1], weight)
            distances = discounted_distance(scores[earlier], scores[later], weight)
            lost = np.asarray(np.isnan(scores).any(axis=1))
            means.append(np.where(lost[earlier] | lost[later], farthest, distances).mean())
        formula = f"{words}, mean over compared frames ({compared(run, sequence)})"
        measures.append(
            Measure(
                metric,
                name(sequence),
                formula,
                (name(sequence),),
                np.array(means)[:, None],
                limits=(0, farthest),
                groups=groups_of(run),
                interval_of=partial(bounded_interval, per_image=len(later)),
            )
        )
    return measures


def name(condition: Condition) -> str:
    """The name of a sequence in scores."""
    return condition.name


def weighted(
    kind: Kind,
    metric: str,
    condition: str,
    formula: str,
    run: ScoredRun,
    sequences: Sequence[Condition],
    factors: Sequence[float] | None = None,
) -> Measure:
    """The mean over sequences, each with equal weight or multiplied by its factor."""
    parts = [changes(kind, run.clips, name(sequence), run, sequence) for sequence in sequences]
    weights = np.concatenate(
        [
            np.full(part.shape[1], factor / part.shape[1] / len(parts))
            for part, factor in zip(parts, factors or [1.0] * len(parts), strict=True)
        ]
    )
    columns = np.hstack(parts)
    # Flips are booleans and get the interval of shares.
    interval_of = None if columns.dtype == np.bool_ else partial(bounded_interval, per_image=len(weights))
    return Measure(
        metric,
        condition,
        formula,
        tuple(map(name, sequences)),
        columns,
        weights,
        limits=(0, kind.most(rivals_of(run)) * float(weights.sum())),
        groups=groups_of(run),
        interval_of=interval_of,
    )


def changes(kind: Kind, clips: Clips, named: str, run: ScoredRun, condition: Condition) -> NDArray[Any]:
    """Changes of a sequence in some clips, images x pairs; frames are compared as in the run.

    A prediction that is not finite has the maximum distance from every other, including another such one.
    """

    def measure() -> NDArray[Any]:
        earlier, later = pairs_of(run, condition)
        distances = kind.distance(clips.top(named), (earlier, later))
        lost = clips.not_finite(named)
        distances[lost[:, earlier] | lost[:, later]] = kind.most(rivals_of(run))
        return distances

    return clips.once((kind.each, named, type_of(condition), difficulty_of(run)), measure)


def groups_of(run: ScoredRun) -> Groups:
    """The groups of the complete images."""
    return run.groups_of(run.clips.kept)


def formula_of(run: ScoredRun, kind: Kind, condition: Condition) -> str:
    """The formula of a sequence's score in words."""
    return f"{kind.words} ({compared(run, condition)})"


def compared(run: ScoredRun, condition: Condition) -> str:
    """A description of the compared frames of a sequence."""
    if type_of(condition) == "noise":
        return "each frame against the first, which is clean"
    stride = difficulty_of(run)
    return "each frame against the one before" if stride == 1 else f"frames {stride} apart"
