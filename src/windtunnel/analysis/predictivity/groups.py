"""Groups of generated benchmarks: the mean correlation of a group with every natural set (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from windtunnel.analysis.model_tables.table import Floats
from windtunnel.analysis.predictivity.benchmarks import Benchmark
from windtunnel.analysis.predictivity.vectors import Vector
from windtunnel.stats.bootstrap import REPLICATES
from windtunnel.stats.correlation import (
    SAME_CORRELATION,
    correlation_interval,
    correlation_matrix,
    correlation_replicates,
    matrix_without_partial,
)
from windtunnel.stats.intervals import Groups

# The mean over all natural sets, as a row of the tables.
MEAN = "mean"


@dataclass(frozen=True)
class GroupCell:
    """The mean correlation of a group of benchmarks with one natural set, or over all of them.

    Attributes:
        group: the group, such as `n=6, k=2`.
        target: the natural set, or `mean`.
        benchmarks: number of benchmarks in the group.
        r: mean of their correlations.
        low, high: 95 % bootstrap interval of the mean, over models or families.
        lowest, highest: range of the single correlations.
        mean_p_value: the mean of their p-values, as the paper reports it; it is not a p-value.
        p: permutation test of the mean: share of shuffles of the models with a mean at least as far from 0.
            Clean accuracy is not held constant.
        from_clean: mean of the r expected if benchmark and natural set shared nothing but clean accuracy.
        partial, partial_low, partial_high: mean partial correlation given clean accuracy, and its interval.
            None without clean accuracies.
    """

    group: str
    target: str
    benchmarks: int
    r: float
    low: float
    high: float
    lowest: float
    highest: float
    mean_p_value: float
    p: float
    from_clean: float | None
    partial: float | None
    partial_low: float | None
    partial_high: float | None

    def to_json(self) -> dict[str, Any]:
        """The cell as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class GroupTable:
    """Natural sets x groups of benchmarks, as tables 2 and 3 of the paper.

    Attributes:
        by: the columns of the groups, such as ("n", "k") or ("std",).
        groups: the groups in ascending order.
        cells: a cell per group and natural set, and their mean.
    """

    by: tuple[str, ...]
    groups: tuple[str, ...]
    cells: tuple[GroupCell, ...]

    def cell(self, group: str, target: str) -> GroupCell:
        """The cell of a group and a natural set."""
        return next(cell for cell in self.cells if (cell.group, cell.target) == (group, target))


def group_tables(
    benchmarks: Sequence[Benchmark],
    vectors: Sequence[Vector],
    targets: Sequence[str],
    target_vectors: Sequence[Vector],
    *,
    groups: Groups = None,
    seed: int = 0,
) -> list[GroupTable]:
    """A table for each way in which benchmarks are grouped: by n and k together, by std, by size.

    All vectors vary between models.
    """
    tables = []
    for by in _groupings(benchmarks):
        labels = [group_label(benchmark, by) for benchmark in benchmarks]
        members: dict[str, list[int]] = {}
        for place, label in enumerate(labels):
            if label:
                members.setdefault(label, []).append(place)
        names = sorted(members, key=_numbers)
        cells = [
            cell
            for name in names
            for cell in _cells(
                name, [vectors[place] for place in members[name]], targets, target_vectors, groups, seed
            )
        ]
        tables.append(GroupTable(by, tuple(names), tuple(cells)))
    return tables


def group_label(benchmark: Benchmark, by: Sequence[str]) -> str:
    """The group of a benchmark: `n=6, k=2`; "" if it lacks one of the columns."""
    values = [benchmark.groups.get(column, "") for column in by]
    return (
        ", ".join(f"{column}={value}" for column, value in zip(by, values, strict=True))
        if all(values)
        else ""
    )


def _groupings(benchmarks: Sequence[Benchmark]) -> list[tuple[str, ...]]:
    """The columns by which benchmarks form at least one group: n and k together, the others alone."""
    columns = list(dict.fromkeys(column for benchmark in benchmarks for column in benchmark.groups))
    ways: list[tuple[str, ...]] = [("n", "k")] if {"n", "k"} <= set(columns) else []
    ways += [(column,) for column in columns if not ways or column not in ("n", "k")]
    varied = [
        way for way in ways if way != ("size",) or len({group_label(one, way) for one in benchmarks}) > 1
    ]
    return [way for way in varied if any(group_label(benchmark, way) for benchmark in benchmarks)]


def _numbers(label: str) -> tuple[tuple[float, str], ...]:
    """A group's values in the order of numbers."""
    values = [part.partition("=")[2] for part in label.split(", ")]
    return tuple((float(value) if _is_number(value) else np.inf, value) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cells(
    name: str,
    vectors: Sequence[Vector],
    targets: Sequence[str],
    target_vectors: Sequence[Vector],
    groups: Groups,
    seed: int,
) -> list[GroupCell]:
    left = np.stack([vector.values for vector in vectors], axis=1)
    right = np.stack([vector.values for vector in target_vectors], axis=1)
    r, p = correlation_matrix(left, right)
    replicated = _mean_replicates(left, right, None, groups, seed)
    shuffled = _permuted_means(left, right, seed)
    controls = _CleanControls(vectors, target_vectors, groups, seed)
    cells = []
    for target, places in [*((target, [place]) for place, target in enumerate(targets)),
                           (MEAN, list(range(len(targets))))]:  # fmt: skip
        mean = float(r[:, places].mean())
        low, high = correlation_interval(mean, replicated[:, places].mean(axis=1), len(left), groups)
        means = np.abs(shuffled[:, places].mean(axis=1))
        beyond = int((means >= abs(mean) - SAME_CORRELATION).sum())
        partial_mean, partial_low, partial_high = controls.mean_partial(places)
        cells.append(
            GroupCell(
                group=name,
                target=target,
                benchmarks=len(vectors),
                r=mean,
                low=low,
                high=high,
                lowest=float(r[:, places].min()),
                highest=float(r[:, places].max()),
                mean_p_value=float(p[:, places].mean()),
                p=(1 + beyond) / (1 + len(shuffled)),
                from_clean=controls.mean_explained(places),
                partial=partial_mean,
                partial_low=partial_low,
                partial_high=partial_high,
            )
        )
    return cells


class _CleanControls:
    """Mean correlations of a group with every target, given the clean accuracies of benchmark and target."""

    def __init__(
        self, vectors: Sequence[Vector], targets: Sequence[Vector], groups: Groups, seed: int
    ) -> None:
        self._models, self._groups = len(targets[0].values), groups
        # Clean accuracies of the benchmark and of the target.
        self._controls = max(
            len({one.clean_name for one in (vector, target) if one.clean_name})
            for vector in vectors
            for target in targets
        )
        self._explained: list[float | None] = []
        self._partial: list[float | None] = []
        self._replicates: list[Floats] = []
        for target in targets:
            explained, partial, replicates = _given_clean(vectors, target, groups, seed)
            self._explained.append(explained)
            self._partial.append(partial)
            self._replicates.append(replicates)

    def mean_explained(self, places: Sequence[int]) -> float | None:
        """The mean r over some targets that clean accuracy alone explains; None if one of them has none."""
        return _mean([self._explained[place] for place in places])

    def mean_partial(self, places: Sequence[int]) -> tuple[float | None, float | None, float | None]:
        """The mean partial r over some targets and its interval; None if one of them has none."""
        value = _mean([self._partial[place] for place in places])
        if value is None:
            return None, None, None
        draws = np.mean([self._replicates[place] for place in places], axis=0)
        return value, *correlation_interval(value, draws, self._models, self._groups, self._controls)


def _given_clean(
    vectors: Sequence[Vector], target: Vector, groups: Groups, seed: int
) -> tuple[float | None, float | None, Floats]:
    """Means over benchmarks: r from clean accuracy alone, partial r, and replicates of partial r.

    None without clean accuracies, and if a partial correlation is undefined.
    """
    by_clean: dict[bytes, list[Vector]] = {}
    for vector in vectors:
        by_clean.setdefault(b"" if vector.clean is None else vector.clean.tobytes(), []).append(vector)
    right = target.values[:, None]
    explained, partial, replicates = 0.0, 0.0, np.zeros(REPLICATES)
    for members in by_clean.values():
        cleans = [clean for clean in (members[0].clean, target.clean) if clean is not None]
        if not cleans:
            return None, None, replicates
        given = np.stack(cleans, axis=1)
        left = np.stack([vector.values for vector in members], axis=1)
        explained += float(matrix_without_partial(left, right, given).sum())
        partial += float(correlation_matrix(left, right, given)[0].sum())
        replicates += len(members) * _mean_replicates(left, right, given, groups, seed)[:, 0]
    count = len(vectors)
    return explained / count, partial / count if np.isfinite(partial) else None, replicates / count


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _mean_replicates(left: Floats, right: Floats, given: Floats | None, groups: Groups, seed: int) -> Floats:
    """Bootstrap replicates of the mean correlation of all benchmarks with each target."""
    total = np.zeros((REPLICATES, right.shape[1]))
    count = np.zeros((REPLICATES, right.shape[1]))
    for _, block in correlation_replicates(left, right, given=given, groups=groups, seed=seed):
        total += np.nansum(block, axis=1)
        count += np.isfinite(block).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count, np.float64)


def _permuted_means(left: Floats, right: Floats, seed: int) -> Floats:
    """Mean correlations with each target when the models of the targets are shuffled together.

    The mean of r over benchmarks is the product of their mean unit vector and the target's unit vector.
    """
    unit = _units(left).mean(axis=1)
    order = np.argsort(np.random.default_rng(seed).random((REPLICATES, len(right))), axis=1)
    return np.asarray(np.einsum("m,rmt->rt", unit, _units(right)[order]), np.float64)


def _units(columns: Floats) -> Floats:
    """The columns minus their means, of length 1."""
    away = columns - columns.mean(axis=0)
    return np.asarray(away / np.sqrt((away**2).sum(axis=0)), np.float64)
