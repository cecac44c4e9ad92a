"""Steps of the pipeline: what swapping one costs, how many answers it changes, how an axis scatters.

step cost         = accuracy before the swap - accuracy after it, on the same pictures
step flip share   = share of pictures whose best-placed class differs after the swap
axis mean, std    = mean and sample standard deviation (n - 1) of the accuracies of an axis's methods
axis range        = largest accuracy minus smallest
axis flip share   = share of pictures whose best-placed class is not the same by every method

The methods of an axis are its steps and what the canvas has itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.against_clean import flipped
from windtunnel.metrics.error import top_k_wrong
from windtunnel.metrics.observed import Observed
from windtunnel.metrics.score import Measure
from windtunnel.pipeline import axis_of

if TYPE_CHECKING:
    from windtunnel.store.run import Run

IDENTICAL = "the pixels are identical on every picture"


def step_columns(run: Run) -> list[int]:
    """Which columns of the observations are steps of the pipeline."""
    kinds = [condition["kind"] for condition in run.conditions if condition["kind"] != "sequence"]
    return [column for column, kind in enumerate(kinds) if kind == "pipeline"]


def reference_of(seen: Observed) -> str:
    """The condition no step of which is swapped: the suite's canvas, or the model's own preprocess."""
    return "clean" if "clean" in seen.conditions else "native"


def identical_steps(run: Run, seen: Observed) -> set[str]:
    """The steps that changed no pixel of any picture, though they might have."""
    columns = [column for column in step_columns(run) if axis_of(seen.conditions[column]) != "numerics"]
    return {seen.conditions[column] for column in columns if (seen.pixel_change[:, column] == 0).all()}


def not_finite(seen: Observed, step: str) -> int:
    """On how many pictures a step's answer is no number; only other arithmetic has such, counted as wrong."""
    return int((seen.chosen[:, seen.column(step)] < 0).sum())


def _remarks(seen: Observed, step: str, same: set[str]) -> str:
    """What else is to be said of a step, behind its formula."""
    lost = not_finite(seen, step)
    told = f"; the output is not finite on {lost:,} pictures, which count as wrong" if lost else ""
    return f"; {IDENTICAL}" if step in same else told


def step_cost(run: Run, seen: Observed) -> list[Measure]:
    """What every step costs in accuracy."""
    same, before = identical_steps(run, seen), reference_of(seen)
    wrong = top_k_wrong(seen.rank, 1)
    formula = f"accuracy under {before} minus accuracy with this step swapped (top-1)"
    return [
        Measure(
            "step_cost",
            name,
            formula + _remarks(seen, name, same),
            (name, before),
            wrong[:, [column, seen.column(before)]],
            np.array([1.0, -1.0]),
            # The same pixels have the same answers: nothing is left to chance.
            limits=(0.0, 0.0) if name in same else (-1.0, 1.0),
        )
        for column, name in _steps(run, seen)
    ]


def step_flip_share(run: Run, seen: Observed) -> list[Measure]:
    """How many answers every step changes, right or wrong."""
    same, before = identical_steps(run, seen), reference_of(seen)
    formula = f"share of pictures whose best-placed class differs from that under {before}"
    return [
        Measure(
            "step_flip_share",
            name,
            formula + _remarks(seen, name, same),
            (name, before),
            flipped(seen.chosen[:, [column]], seen.chosen[:, [seen.column(before)]]),
            limits=(0.0, 0.0) if name in same else (0.0, 1.0),
        )
        for column, name in _steps(run, seen)
    ]


def axis_accuracy(run: Run, seen: Observed) -> list[Measure]:
    """Mean, sample standard deviation and range of accuracy over each axis, and the share of flips."""
    before = reference_of(seen)
    right = ~top_k_wrong(seen.rank, 1)
    axes: dict[str, list[int]] = {}
    for column, name in _steps(run, seen):
        axes.setdefault(axis_of(name), [seen.column(before)]).append(column)
    return [one for axis, columns in axes.items() for one in _of_axis(axis, columns, right, seen)]


def _of_axis(axis: str, columns: list[int], right: NDArray[np.bool_], seen: Observed) -> Iterator[Measure]:
    parts = tuple(seen.conditions[column] for column in columns)
    over = f"over {len(parts)} methods ({', '.join(parts)})"
    chosen = seen.chosen[:, columns]
    yield Measure(
        f"{axis}_mean_accuracy",
        "",
        f"top-1 accuracy, mean {over}",
        parts,
        right[:, columns],
        np.full(len(columns), 1 / len(columns)),
    )
    yield Measure(
        f"{axis}_accuracy_std",
        "",
        f"sample standard deviation (n - 1) of top-1 accuracy {over}; few pictures raise it",
        parts,
        right[:, columns],
        combine=lambda means: means.std(axis=-1, ddof=1),
        limits=(0.0, 1.0),
    )
    yield Measure(
        f"{axis}_accuracy_range",
        "",
        f"largest minus smallest top-1 accuracy {over}; few pictures raise it",
        parts,
        right[:, columns],
        combine=lambda means: means.max(axis=-1) - means.min(axis=-1),
        limits=(0.0, 1.0),
    )
    yield Measure(
        f"{axis}_flip_share",
        "",
        f"share of pictures whose best-placed class is not the same {over}",
        parts,
        (chosen != chosen[:, :1]).any(axis=1, keepdims=True),
    )


def _steps(run: Run, seen: Observed) -> list[tuple[int, str]]:
    return [(column, seen.conditions[column]) for column in step_columns(run)]
