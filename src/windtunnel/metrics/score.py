"""Scores: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.errors import UserError
from windtunnel.metrics.names import SCORERS

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
    return [score for metric in run.recipe["suite"]["metrics"] for score in _scorer(metric)(run, ranks)]


def _scorer(metric: str) -> Callable[[Run, Ranks], list[Score]]:
    module, _, function = SCORERS[metric].partition(":")
    found: Callable[[Run, Ranks], list[Score]] = getattr(importlib.import_module(module), function)
    return found
