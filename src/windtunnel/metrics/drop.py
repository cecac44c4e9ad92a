"""What a natural shift costs: accuracy on the clean pictures less accuracy on the shifted ones.

drop = error(shifted) - error(clean), over two samples of different pictures
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import top_k_wrong
from windtunnel.metrics.observed import Observed
from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.score import Measure
from windtunnel.stats.bootstrap import bootstrap_interval
from windtunnel.stats.intervals import wilson

if TYPE_CHECKING:
    from windtunnel.store.run import Run


def accuracy_drop(run: Run, seen: Observed) -> list[Measure]:
    """Clean accuracy less shifted accuracy; nothing where there are no clean pictures."""
    shifted, clean = part_of_role(run, "shifted"), part_of_role(run, "clean")
    if shifted is None or clean is None or not len(shifted.rows) or not len(clean.rows):
        return []
    rows = np.sort(np.concatenate([shifted.rows, clean.rows]))
    wrong = top_k_wrong(seen.rank[rows, 0], 1)
    of_shifted = np.isin(rows, shifted.rows)
    columns = np.stack([wrong & of_shifted, of_shifted, wrong & ~of_shifted, ~of_shifted], axis=1)
    formula = (
        f"accuracy on clean pictures less accuracy on {shifted.name} (top-1); different pictures, so that a "
        "harder choice of them counts as shift"
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
        )
    ]


def difference_of_shares(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """a/b - c/d of the means a, b, c, d: one share less another, each among its own pictures."""
    first, of_first, second, of_second = np.moveaxis(means, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(first / of_first - second / of_second, np.float64)


def square_and_add(measure: Measure) -> tuple[float, float]:
    """Newcombe's interval for the difference of two shares of different pictures.

    d - sqrt((p - p_low)^2 + (q_high - q)^2), d + sqrt((p_high - p)^2 + (q - q_low)^2), by Wilson's intervals
    of p and q; where pictures belong together in groups, the bootstrap's interval over groups.
    """
    if measure.groups is not None:
        return bootstrap_interval(measure.columns, difference_of_shares, groups=measure.groups)
    first, of_first, second, of_second = (int(count) for count in measure.columns.sum(axis=0))
    (low, high), (other_low, other_high) = wilson(first, of_first), wilson(second, of_second)
    p, q = first / of_first, second / of_second
    return p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)
