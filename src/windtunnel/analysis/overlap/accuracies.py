"""Accuracies of models that were each trained with one corruption, on clean and on corrupted images.

The file `accuracies.csv` has one row per model and condition, in the columns of `COLUMNS`. `clean` names
the standard model, which was trained without corruptions, and the clean images. Accuracies are fractions.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.model_tables.csv_rows import csv_rows, number
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.wording import counted

COLUMNS = ("trained_on", "seed", "tested_on", "accuracy", "images")
CLEAN = "clean"

Cell = tuple[str, int, str]


@dataclass(frozen=True)
class Accuracies:
    """The accuracy of every model under every condition.

    Attributes:
        candidates: the corruptions, as conditions are named (`fog:3`).
        seeds: the seeds of the trainings; every candidate was trained once with each.
        accuracy: fractions, (seeds, 1 + candidates, 1 + candidates): seed, trained on, tested on. Index 0 of
            the last two axes is the standard model and the clean images.
        images: number of test images of every cell, of the same shape.
        correct: whether each prediction is correct, (seeds, 1 + candidates, 1 + candidates, images); None if
            only accuracies are known. All cells have the same images in the same order.
    """

    candidates: tuple[str, ...]
    seeds: tuple[int, ...]
    accuracy: NDArray[np.float64]
    images: NDArray[np.int64]
    correct: NDArray[np.bool_] | None = None

    @classmethod
    def of_predictions(
        cls, candidates: Sequence[str], seeds: Sequence[int], correct: NDArray[np.bool_]
    ) -> Accuracies:
        """The accuracies of correct and wrong predictions, (seeds, trained on, tested on, images)."""
        images = np.full(correct.shape[:3], correct.shape[3], np.int64)
        return cls(tuple(candidates), tuple(seeds), correct.mean(axis=3, dtype=np.float64), images, correct)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the last two axes: `clean`, then the candidates."""
        return (CLEAN, *self.candidates)

    def to_csv(self) -> str:
        """The text of `accuracies.csv`."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row, trained in enumerate(self.names):
            for layer, seed in enumerate(self.seeds):
                for column, tested in enumerate(self.names):
                    place = layer, row, column
                    writer.writerow(
                        (trained, seed, tested, repr(float(self.accuracy[place])), int(self.images[place]))
                    )
        return text.getvalue()


def read_accuracies(path: str | Path) -> Accuracies:
    """Read `accuracies.csv`; refuses missing and repeated cells, unknown names and per cent."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"No such table: {path}. Give a CSV file with the columns {', '.join(COLUMNS)}.")
    header, *rows = csv_rows(path)
    if lacking := [name for name in COLUMNS if name not in header]:
        raise UserError(
            f"{path} lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}; a table of "
            f"accuracies has {', '.join(COLUMNS)}."
        )
    cells: dict[Cell, tuple[float, int]] = {}
    for line, row in enumerate(rows, start=2):
        _add_cell(cells, dict(zip(header, row, strict=True)), f"{path}, line {line}")
    return _grid(cells, path)


def _add_cell(cells: dict[Cell, tuple[float, int]], row: dict[str, str], place: str) -> None:
    trained, tested = row["trained_on"], row["tested_on"]
    for name, value in (("trained_on", trained), ("tested_on", tested)):
        if not value:
            raise UserError(f"{place}: {name} is empty; give a corruption, or {CLEAN}.")
    seed, images = _whole(row, "seed", 0, place), _whole(row, "images", 1, place)
    if (trained, seed, tested) in cells:
        raise UserError(
            f"{place}: the model trained on {trained} with seed {seed} is listed twice on {tested}; keep one "
            "of the rows."
        )
    cells[trained, seed, tested] = _fraction(row["accuracy"], place), images


def _whole(row: dict[str, str], column: str, least: int, place: str) -> int:
    text = row[column]
    if not text.isdecimal() or int(text) < least:
        raise UserError(f"{place}: {column} is '{text}'; give a whole number of at least {least}.")
    return int(text)


def _fraction(cell: str, place: str) -> float:
    value = number(cell.removesuffix("%"), f"{place}: accuracy")
    if cell.endswith("%") or 1 < value <= 100:
        raise UserError(
            f"{place}: accuracy is {cell}, which is per cent; give all accuracies as fractions from 0 to 1."
        )
    if not 0 <= value <= 1:
        raise UserError(f"{place}: accuracy is '{cell}'; give a fraction from 0 to 1.")
    return value


def _grid(cells: dict[Cell, tuple[float, int]], path: Path) -> Accuracies:
    """The cells as arrays; refuses a grid with holes."""
    trained = list(dict.fromkeys(cell[0] for cell in cells))
    candidates = [name for name in trained if name != CLEAN]
    seeds = sorted({cell[1] for cell in cells})
    if CLEAN not in trained:
        raise UserError(
            f"{path} has no row with trained_on {CLEAN}; add the standard model, trained without corruptions."
        )
    if len(candidates) < 2:
        raise UserError(f"{path} has {counted(len(candidates), 'candidate')}; an overlap needs two.")
    for _, _, tested in cells:
        if tested not in trained:
            raise unknown_name("condition", tested, trained, f"{path}: tested_on has it, trained_on does not")
    names = [CLEAN, *candidates]
    wanted = [(name, seed, tested) for seed in seeds for name in names for tested in names]
    if missing := [cell for cell in wanted if cell not in cells]:
        name, seed, tested = missing[0]
        raise UserError(
            f"{path} lacks {counted(len(missing), 'cell')}, first trained_on {name}, seed {seed}, tested_on "
            f"{tested}; give every model with every seed under every condition."
        )
    shape = len(seeds), len(names), len(names)
    accuracy = np.array([cells[cell][0] for cell in wanted]).reshape(shape)
    images = np.array([cells[cell][1] for cell in wanted], np.int64).reshape(shape)
    return Accuracies(tuple(candidates), tuple(seeds), accuracy, images)
