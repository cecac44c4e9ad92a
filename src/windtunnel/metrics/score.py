"""Scores: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.errors import UserError
from windtunnel.metrics.error import mean_per_picture, top_k_wrong
from windtunnel.stats.intervals import clustered_share, wilson

if TYPE_CHECKING:
    from windtunnel.store.run import Run


@dataclass(frozen=True)
class Score:
    """One number and what it means.

    Attributes:
        metric: its name.
        condition: under which condition, or "" for a score over several.
        value: a fraction.
        low, high: 95 % interval.
        n: pictures it rests on.
        formula: in words.
        parts: the conditions it is made of.
        recipe: digest of the run's recipe.
    """

    metric: str
    condition: str
    value: float
    low: float
    high: float
    n: int
    formula: str
    parts: tuple[str, ...] = field(default=())
    recipe: str = ""

    def to_json(self) -> dict[str, object]:
        """The score as JSON keeps it."""
        return asdict(self) | {"parts": list(self.parts)}


@dataclass(frozen=True)
class Ranks:
    """The label's rank of every picture (row) under every condition (column), complete pictures only.

    A picture that fails under one condition leaves all of them, so that every column rests on the same
    pictures; `left_out` counts those.
    """

    conditions: tuple[str, ...]
    values: NDArray[np.int32]
    left_out: int
    unlabelled: int


def label_ranks(run: Run) -> Ranks:
    """Read a finished run's ranks."""
    table = run.predictions(["label_rank", "status"])
    names = tuple(str(condition["name"]) for condition in run.conditions)
    if len(table) != run.expected_rows:
        raise UserError(
            f"{run.path} is not finished ({len(table):,} of {run.expected_rows:,} predictions); "
            "run the same command to go on."
        )
    ok = pc.equal(table["status"], "ok").to_numpy().reshape(-1, len(names))
    ranks = table["label_rank"].fill_null(-1).to_numpy().astype(np.int32).reshape(-1, len(names))
    complete = ok.all(axis=1)
    labelled = (ranks >= 0).all(axis=1)
    return Ranks(names, ranks[complete & labelled], int((~complete).sum()), int((complete & ~labelled).sum()))


def score_run(run: Run) -> list[Score]:
    """Every score a run's suite asks for; none where no picture has a label."""
    ranks = run.ranks
    if not len(ranks.values):
        return []
    return [score for metric in run.recipe["suite"]["metrics"] for score in METRICS[metric](run, ranks)]


def _error_scores(run: Run, ranks: Ranks, k: int, formula: str) -> list[Score]:
    if (len(run.recipe["projection"]["kept"]) or int(run.recipe["model"]["classes"])) <= k:
        return []
    wrong = top_k_wrong(ranks.values, k)
    n = len(wrong)
    found = []
    for column, condition in enumerate(ranks.conditions):
        count = int(wrong[:, column].sum())
        found.append(
            Score(
                f"top{k}_error", condition, count / n, *wilson(count, n), n, formula, (condition,), run.digest
            )
        )
    return found


def _top1(run: Run, ranks: Ranks) -> list[Score]:
    return _error_scores(run, ranks, 1, "share of pictures whose label is not the best-placed class")


def _top5(run: Run, ranks: Ranks) -> list[Score]:
    return _error_scores(
        run, ranks, 5, "share of pictures whose label is not among the five best-placed classes"
    )


def _mean_error(run: Run, ranks: Ranks) -> list[Score]:
    columns = [column for column, condition in enumerate(run.conditions) if condition["kind"] == "corruption"]
    if not columns:
        return []
    per_picture = mean_per_picture(top_k_wrong(ranks.values[:, columns], 1))
    parts = tuple(ranks.conditions[column] for column in columns)
    units = {str(run.conditions[column]["unit"]) for column in columns}
    levels = sorted({int(run.conditions[column]["level"]) for column in columns})
    formula = (
        f"top-1 error, mean over {len(units)} corruptions and severities {', '.join(map(str, levels))}; "
        "not normalised by any other model's errors"
    )
    value = float(per_picture.mean())
    return [
        Score(
            "mean_error",
            "",
            value,
            *clustered_share(per_picture, len(columns)),
            len(per_picture),
            formula,
            parts,
            run.digest,
        )
    ]


METRICS: dict[str, Callable[[Run, Ranks], list[Score]]] = {
    "top1_error": _top1,
    "top5_error": _top5,
    "mean_error": _mean_error,
}
