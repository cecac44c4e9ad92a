"""Slices: a score over the pictures of one class, one size, or one value of a column.

Few pictures make extreme scores by chance. Slices with fewer than `minimum` pictures are left out, and the
order of the rest goes by a shrunk value:

shrunk = (n * mean + m * overall) / (n + m),  m = variance within slices / variance between slices

by the moments of the one-way analysis of variance; for error rates this is the posterior mean of the
beta-binomial model. Where slices differ no more than chance makes them, all shrink to the overall mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.errors import UserError, unknown_name
from windtunnel.metrics.score import Measure, Score, measure_run

if TYPE_CHECKING:
    from windtunnel.store.run import Run

MINIMUM = 10
# Metrics that are means over pictures; every one is the worse the higher it is.
SLICED = (
    "top1_error", "top5_error", "mean_error", "weighted_error", "residual_robustness", "flip_share", "brier",
    "nll", "flip_probability", "mfp", "ut5d", "mean_ut5d",
)  # fmt: skip
# Short sides in pixels at which one bucket of picture sizes ends and the next begins.
SIZE_EDGES = (32, 64, 128, 256, 512, 1024)
NO_VALUE = "(none)"


@dataclass(frozen=True)
class Slice(Score):
    """A score of some pictures.

    Attributes:
        by: what divides the pictures: `class`, `size` or a column.
        group: which of them these are.
        shrunk: the score drawn towards that of all pictures, by which slices are ordered.
    """

    by: str = ""
    group: str = ""
    shrunk: float = 0.0


def slices(
    run: Run, by: str, metric: str = "top1_error", condition: str | None = None, *, minimum: int = MINIMUM
) -> list[Slice]:
    """A score of every slice with at least `minimum` pictures, the worst (shrunk) first.

    Args:
        run: a finished run.
        by: `class`, `size` (short side in pixels), or a column of the data's table.
        metric: a metric that is a mean over pictures.
        condition: as `fog:3`; by default clean, or all corruptions for metrics over several conditions.
        minimum: pictures a slice needs.
    """
    measure = _measure(run, metric, condition)
    groups = group_of_pictures(run, by)
    values = measure.picture_values
    rows = list(groups.values())
    pulled = shrink([values[one] for one in rows], float(values.mean()))
    found = []
    for (group, members), shrunk in zip(groups.items(), pulled, strict=True):
        part = measure.over(members)
        if len(members) >= minimum and part.units > 1:
            score = part.score(run.digest)
            found.append(Slice(**vars(score), by=by, group=group, shrunk=float(shrunk)))
    return sorted(found, key=lambda one: (-one.shrunk, one.group))


def shrink(groups: Sequence[NDArray[np.float64]], overall: float) -> NDArray[np.float64]:
    """Each group's mean, drawn towards the overall mean: (n * mean + m * overall) / (n + m)."""
    sizes = np.array([len(group) for group in groups], np.float64)
    means = np.array([group.mean() for group in groups])
    total, count = sizes.sum(), len(groups)
    if count < 2 or total <= count:
        return np.full(count, overall)
    centre = float((sizes * means).sum() / total)
    within = float(sum(((group - group.mean()) ** 2).sum() for group in groups) / (total - count))
    typical = (total - (sizes**2).sum() / total) / (count - 1)
    between = (float((sizes * (means - centre) ** 2).sum() / (count - 1)) - within) / typical
    if between <= 0:
        return np.full(count, overall)
    pull = within / between
    return np.asarray((sizes * means + pull * overall) / (sizes + pull), np.float64)


def group_of_pictures(run: Run, by: str) -> dict[str, NDArray[np.int64]]:
    """Which of the scored pictures belong to which slice; one with several classes belongs to each."""
    found: dict[str, list[int]] = {}
    for row, names in enumerate(_names(run, by)):
        for name in names:
            found.setdefault(name, []).append(row)
    return {name: np.array(found[name], np.int64) for name in sorted(found)}


def _names(run: Run, by: str) -> list[list[str]]:
    """The slices of every scored picture."""
    seen = run.observed
    if by == "class":
        classes = run.info["data"]["classes"]
        return [[str(classes[label]) for label in row] for row in seen.labels]
    if by == "size":
        sides = np.minimum(
            run.samples["width"].fill_null(0).to_numpy(), run.samples["height"].fill_null(0).to_numpy()
        )
        return [[size_bucket(int(side))] for side in sides[seen.kept]]
    if by not in run.columns:
        raise unknown_name("column to slice by", by, ["class", "size", *run.columns])
    values = run.columns[by]
    return [[values[row] or NO_VALUE] for row in np.flatnonzero(seen.kept)]


def size_bucket(side_px: int) -> str:
    """The bucket of a picture's short side, as `128-255 px`."""
    edges = (0, *SIZE_EDGES)
    place = int(np.searchsorted(edges, side_px, side="right")) - 1
    if place == len(edges) - 1:
        return f"{edges[-1]:4d} px and more"
    return f"{edges[place]:4d}-{edges[place + 1] - 1} px"


def _measure(run: Run, metric: str, condition: str | None) -> Measure:
    if metric not in SLICED:
        raise unknown_name("metric to slice (it must be a mean over pictures)", metric, SLICED)
    found = {measure.condition: measure for measure in measure_run(run, [metric])}
    if not found:
        raise UserError(f"{run.path} has no {metric}; windtunnel report says why.")
    if condition is None:
        return found.get("clean") or found.get("") or next(iter(found.values()))
    bare = {name.split("+")[0]: name for name in reversed(list(found))}
    name = condition if condition in found else bare.get(condition, "")
    if name not in found or not name:
        raise unknown_name(f"condition with {metric}", condition, filter(None, found))
    return found[name]
