"""Against clean: what a condition costs, and how many answers it changes.

residual robustness = accuracy on clean - accuracy under the condition
flip share          = share of images whose best-placed class differs from that on clean

Accuracy hides flips: a model may lose one image and gain another. The clean images of a residual are the
suite's canvas, those of a flip are stored by the same codec as the condition, so that no flip is blamed on
the corruption that the codec alone makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.metrics.error import corruption_columns, top_k_wrong
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def flipped(chosen: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True where the predicted class differs from the reference's, or either of them is not finite (-1)."""
    return np.asarray((chosen != reference) | (chosen < 0), np.bool_)


def residual_robustness(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Clean minus shifted accuracy of every corrupted condition, and its mean."""
    columns = corruption_columns(run)
    if "clean" not in seen.conditions or not columns or len(seen.ids) < 2:
        return []
    wrong = top_k_wrong(seen.rank, 1)
    clean = seen.column("clean")
    formula = "accuracy on clean minus accuracy under the condition (top-1)"
    found = [
        Measure(
            "residual_robustness",
            seen.conditions[column],
            formula,
            (seen.conditions[column], "clean"),
            wrong[:, [column, clean]],
            np.array([1.0, -1.0]),
            limits=(-1, 1),
        )
        for column in columns
    ]
    return [
        *found,
        Measure(
            "residual_robustness",
            "",
            f"{formula}; mean over {len(columns)} corrupted conditions",
            (*(seen.conditions[column] for column in columns), "clean"),
            wrong[:, [*columns, clean]],
            np.array([*[1 / len(columns)] * len(columns), -1.0]),
            limits=(-1, 1),
        ),
    ]


def clean_with_codec_of(run: ScoredRun, condition: Condition) -> str:
    """The name of the clean condition stored as a condition is, or "" where the run has none."""
    for other in run.conditions:
        if other.kind == "clean" and other.codec == condition.codec:
            return other.name
    return ""


def flip_share(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Share of flips of every corrupted condition against clean with its codec, and their mean."""
    columns = corruption_columns(run)
    pairs = {column: clean_with_codec_of(run, run.conditions[column]) for column in columns}
    if not pairs or not all(pairs.values()):
        return []
    flips = {
        column: flipped(seen.chosen[:, column], seen.chosen[:, seen.column(clean)])
        for column, clean in pairs.items()
    }
    formula = "share of images whose best-placed class differs from that under {}"
    found = [
        Measure(
            "flip_share",
            seen.conditions[column],
            formula.format(pairs[column]),
            (seen.conditions[column], pairs[column]),
            flips[column][:, None],
        )
        for column in columns
    ]
    references = tuple(dict.fromkeys(pairs.values()))
    what = f"{formula.format(' and '.join(references))}; mean over {len(columns)} corrupted conditions"
    parts = (*(seen.conditions[column] for column in columns), *references)
    weights = np.full(len(columns), 1 / len(columns))
    stacked = np.stack(list(flips.values()), axis=1)
    return [*found, Measure("flip_share", "", what, parts, stacked, weights)]
