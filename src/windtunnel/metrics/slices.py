"""Slices: a score over the images of one class, one size, or one value of a column.

Few images make extreme scores by chance. Slices with fewer than `minimum` images are left out, and the
order of the rest goes by a shrunk value:

shrunk = overall + (mean - overall) * B / (B + V),  B = variance between slices, V = variance of the mean

by the moments of the analysis of variance. Without groups V = W / n, with W the variance within slices and n
the slice's images; for error rates the shrunk value then is the posterior mean of the beta-binomial model.
If images belong to groups (patients), W = P + G, of images within groups
and of groups: V = (P * n + G * sum of m^2) / n^2, with m the images of each group in the slice. If
slices differ no more than by chance, all shrink to the overall mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import REGISTRY, metric_named
from windtunnel.core.scores import Score
from windtunnel.metrics.score import measure_run
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

MINIMUM = 10
# Short sides in pixels at which one bucket of image sizes ends and the next begins.
SIZE_EDGES = (32, 64, 128, 256, 512, 1024)
NO_VALUE = "(none)"


@dataclass(frozen=True)
class Slice(Score):
    """A score of a subset of images.

    Attributes:
        by: the slicing key: `class`, `size` or a column.
        group: the value of the key.
        shrunk: the score shrunk towards that of all images; slices are ordered by it.
    """

    by: str = ""
    group: str = ""
    shrunk: float = 0.0


def slices(
    run: ScoredRun,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = MINIMUM,
) -> list[Slice]:
    """A score of every slice with at least `minimum` images, the worst (shrunk) first.

    Args:
        run: a finished run.
        by: `class`, `size` (short side in pixels), or a column of the data's table.
        metric: a metric that is a mean over images.
        condition: such as `fog:3`; by default clean, or all corruptions for metrics over several conditions,
            or the shifted images of a natural set.
        minimum: minimum number of images in a slice, at least 1; a slice of one image has no interval and is
            never shown.
    """
    _check_minimum(minimum)
    measure = _measure(run, metric, condition)
    parts = _parts(run, by, measure)
    if not parts:
        return []
    together = [part.groups for part in parts.values() if part.groups is not None] or None
    pulled = shrink([part.image_values for part in parts.values()], measure.value, together)
    shown = []
    for (group, part), shrunk in zip(parts.items(), pulled, strict=True):
        if len(part.columns) >= minimum and part.units > 1:
            score = part.score(run.digest)
            shown.append(Slice(**vars(score), by=by, group=group, shrunk=float(shrunk)))
    return sorted(shown, key=lambda slice_: (-slice_.shrunk, slice_.group))


@dataclass(frozen=True)
class Omitted:
    """Slices that are not shown.

    Attributes:
        small: slices with fewer images than the minimum, and their numbers of images.
        alone: slices with one image, or with images of one group only: they have no interval.
    """

    small: dict[str, int]
    alone: tuple[str, ...]


def omitted_slices(
    run: ScoredRun,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = MINIMUM,
) -> Omitted:
    """The slices that `slices` leaves out, and why; takes the same arguments."""
    _check_minimum(minimum)
    parts = _parts(run, by, _measure(run, metric, condition))
    small = {group: len(part.columns) for group, part in parts.items() if len(part.columns) < minimum}
    return Omitted(
        small, tuple(group for group, part in parts.items() if group not in small and part.units < 2)
    )


def _check_minimum(minimum: int) -> None:
    if minimum < 1:
        raise UserError(f"The minimum number of images in a slice is {minimum}; give 1 or more.")


def _parts(run: ScoredRun, by: str, measure: Measure) -> dict[str, Measure]:
    """The measure of every slice that has images; on a natural set the measure may cover one part only."""
    every = {group: measure.over(rows) for group, rows in group_of_images(run, by).items()}
    return {group: part for group, part in every.items() if len(part.columns)}


def shrink(
    slices: Sequence[NDArray[np.float64]],
    overall: float,
    groups: Sequence[NDArray[np.int64]] | None = None,
) -> NDArray[np.float64]:
    """Each slice's mean, shrunk towards the overall mean: overall + (mean - overall) * B / (B + V).

    Args:
        slices: the images' values, slice by slice.
        overall: the overall mean.
        groups: the group numbers of the same images; None without groups.
    """
    sizes = np.array([len(values) for values in slices], np.float64)
    means = np.array([values.mean() for values in slices])
    total = sizes.sum()
    chance = _chance(slices, groups)
    if len(slices) < 2 or chance is None:
        return np.full(len(slices), overall)
    of_means, of_centre = chance
    # By chance alone: E[sum n * (mean - centre)^2] = sum n * V - total * (variance of the centre).
    centre = float((sizes * means).sum() / total)
    seen = float((sizes * (means - centre) ** 2).sum())
    expected = float((sizes * of_means).sum() - total * of_centre)
    between = (seen - expected) / (total - (sizes**2).sum() / total)
    if between <= 0:
        return np.full(len(slices), overall)
    return np.asarray(overall + (means - overall) * between / (between + of_means), np.float64)


def _chance(
    slices: Sequence[NDArray[np.float64]], groups: Sequence[NDArray[np.int64]] | None
) -> tuple[NDArray[np.float64], float] | None:
    """The variance of every slice's mean, and of the mean of all, if slices differed by chance alone.

    P and G by the moments of the nested analysis of variance: cells are the images of one group in one
    slice. None if every slice is one cell: effects of slices and groups are then not separable.
    """
    values = np.concatenate(slices)
    place = np.repeat(np.arange(len(slices)), [len(slice_values) for slice_values in slices])
    group = np.arange(len(values)) if groups is None else np.concatenate(groups)
    cells, cell = np.unique(np.stack([place, group]), axis=1, return_inverse=True)
    cell, slice_of = cell.ravel(), cells[0]
    if len(slice_of) == len(slices):
        return None
    in_cell, in_slice = np.bincount(cell).astype(np.float64), np.bincount(place).astype(np.float64)
    cell_means = np.bincount(cell, values) / in_cell
    slice_means = np.bincount(place, values) / in_slice
    freedom = len(values) - len(slice_of)
    images = float(((values - cell_means[cell]) ** 2).sum() / freedom) if freedom else 0.0
    squares = np.bincount(slice_of, in_cell**2)
    spread = float((in_cell * (cell_means - slice_means[slice_of]) ** 2).sum())
    expected = (len(slice_of) - len(slices)) * images
    of_groups = max(0.0, (spread - expected) / (len(values) - float((squares / in_slice).sum())))
    in_group = np.bincount(np.unique(group, return_inverse=True)[1].ravel()).astype(np.float64)
    of_means = (images * in_slice + of_groups * squares) / in_slice**2
    of_centre = (images * len(values) + of_groups * float((in_group**2).sum())) / len(values) ** 2
    return np.asarray(of_means, np.float64), of_centre


def group_of_images(run: ScoredRun, by: str) -> dict[str, NDArray[np.int64]]:
    """Rows of the scored images by slice; an image with several classes is in the slice of each."""
    rows_by_slice: dict[str, list[int]] = {}
    for row, names in enumerate(_names(run, by)):
        for name in names:
            rows_by_slice.setdefault(name, []).append(row)
    return {name: np.array(rows_by_slice[name], np.int64) for name in sorted(rows_by_slice)}


def _names(run: ScoredRun, by: str) -> list[list[str]]:
    """The slices of every scored image."""
    rows = np.flatnonzero(run.scored)
    if by == "class":
        classes, labels = run.info.data.classes, run.samples["labels"].to_pylist()
        return [[str(classes[label]) for label in labels[row]] for row in rows]
    if by == "size":
        sides = np.minimum(
            run.samples["width"].fill_null(0).to_numpy(), run.samples["height"].fill_null(0).to_numpy()
        )
        return [[size_bucket(int(side))] for side in sides[rows]]
    if by not in run.columns:
        raise unknown_name("column to slice by", by, ["class", "size", *run.columns])
    values = run.columns[by]
    return [[values[row] or NO_VALUE] for row in rows]


def size_bucket(side_px: int) -> str:
    """The bucket of an image's short side, as `128-255 px`."""
    edges = (0, *SIZE_EDGES)
    place = int(np.searchsorted(edges, side_px, side="right")) - 1
    if place == len(edges) - 1:
        return f"{edges[-1]:4d} px and more"
    return f"{edges[place]:4d}-{edges[place + 1] - 1} px"


def _condition_named(written: str, conditions: Sequence[str]) -> str:
    """The condition with this name, also without codec or a sequence's prefix and level; "" for none."""
    if written in conditions:
        return written
    bare = {condition.partition("+")[0]: condition for condition in reversed(conditions)}
    named = [condition for name, condition in bare.items() if _sequence_name(name) == written]
    return bare.get(written, named[0] if len(named) == 1 else "")


def _sequence_name(condition: str) -> str:
    """The bare name of a sequence; "" for any other condition."""
    unit = condition.partition(":")[0]
    return unit.removeprefix(SEQUENCE_PREFIX) if unit.startswith(SEQUENCE_PREFIX) else ""


def _measure(run: ScoredRun, metric: str, condition: str | None) -> Measure:
    metric = metric_named(metric)
    sliceable = [known.name for known in REGISTRY.all() if known.sliceable]
    if metric not in sliceable:
        raise unknown_name("metric to slice (it must be a mean over images)", metric, sliceable)
    measures = {measure.condition: measure for measure in measure_run(run, [metric])}
    if not measures:
        raise UserError(f"{run.path} has no {metric}; windtunnel report {run.path} shows why.")
    if condition is None and run.parts:
        return next(iter(measures.values()))
    if condition is None:
        return measures.get("clean") or measures.get("") or next(iter(measures.values()))
    name = _condition_named(condition, list(measures))
    if name not in measures or not name:
        raise unknown_name(f"condition with {metric}", condition, filter(None, measures))
    return measures[name]
