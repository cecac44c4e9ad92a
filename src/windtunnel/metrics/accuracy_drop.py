"""What a natural shift costs: accuracy on the clean images less accuracy on the shifted ones.

drop = error(shifted) - error(clean), over two samples of different images of the same classes
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import top_k_wrong
from windtunnel.metrics.parts import Part, part_of_role
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.intervals import clustered_share, unit_count, wilson
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Rows = NDArray[np.int64]


def accuracy_drop(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Clean accuracy less shifted accuracy over the classes that both have; nothing where they share none."""
    shifted, clean = part_of_role(run, "shifted"), part_of_role(run, "clean")
    if shifted is None or clean is None:
        return []
    own, beside = _of_shared_classes(shifted, clean, seen)
    if not len(own) or not len(beside):
        return []
    rows = np.sort(np.concatenate([own, beside]))
    wrong = top_k_wrong(seen.rank[rows, 0], 1)
    of_shifted = np.isin(rows, own)
    columns = np.stack([wrong & of_shifted, of_shifted, wrong & ~of_shifted, ~of_shifted], axis=1)
    formula = (
        f"accuracy on clean images less accuracy on {shifted.name} (top-1), of classes that both have; "
        "different images, so that a harder choice of them counts as shift"
    )
    whole = len(own) == len(shifted.rows) and len(beside) == len(clean.rows)
    of = (
        f"{len(own):,} of {len(shifted.rows):,} {shifted.name} and {len(beside):,} of {len(clean.rows):,} "
        "clean images"
    )
    return [
        Measure(
            "accuracy_drop",
            "",
            formula,
            (shifted.name, clean.name),
            columns,
            combine=difference_of_shares,
            limits=(-1.0, 1.0),
            rows=rows,
            interval_of=square_and_add,
            detail="" if whole else of,
        )
    ]


def _of_shared_classes(shifted: Part, clean: Part, seen: Observed) -> tuple[Rows, Rows]:
    """Which images of each part have a label that some image of the other part has."""
    of_shifted, of_clean = (
        {label for row in part.rows for label in seen.labels[row]} for part in (shifted, clean)
    )
    shared = of_shifted & of_clean
    own, beside = (
        np.array([row for row in part.rows if shared & set(seen.labels[row])], np.int64)
        for part in (shifted, clean)
    )
    return own, beside


def drop_notes(run: ScoredRun) -> list[str]:
    """Why a run with shifted and clean images has no drop, in a sentence."""
    shifted, clean = part_of_role(run, "shifted"), part_of_role(run, "clean")
    if shifted is None or clean is None or "accuracy_drop" not in run.metrics:
        return []
    own, _ = _of_shared_classes(shifted, clean, run.observed)
    return [] if len(own) else ["No accuracy drop: no class has both clean and shifted images."]


def difference_of_shares(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """a/b - c/d of the means a, b, c, d: one share less another, each among its own images."""
    first, of_first, second, of_second = np.moveaxis(means, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(first / of_first - second / of_second, np.float64)


def square_and_add(measure: Measure) -> tuple[float, float]:
    """Newcombe's interval for the difference of two shares of different images.

    d - sqrt((p - p_low)^2 + (q_high - q)^2), d + sqrt((p_high - p)^2 + (q - q_low)^2), by the intervals that
    p and q have of their own: Wilson's, or where images belong together in groups, Wilson's of groups. A
    group with images on both sides is taken for two: where these are alike the interval is too wide.
    """
    p, low, high = _share(measure, 0)
    q, other_low, other_high = _share(measure, 2)
    return p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)


def _share(measure: Measure, column: int) -> tuple[float, float, float]:
    """The share of wrong images in one part, with its interval; the next column says which are its own."""
    inside = measure.columns[:, column + 1].astype(bool)
    wrong = measure.columns[inside, column].astype(np.float64)
    groups = None if measure.groups is None else measure.groups[inside]
    if groups is None or unit_count(len(wrong), groups) == len(wrong):
        return float(wrong.mean()), *wilson(int(wrong.sum()), len(wrong))
    return float(wrong.mean()), *clustered_share(wrong, 1, groups=groups)
