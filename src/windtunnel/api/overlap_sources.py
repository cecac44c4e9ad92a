"""Overlaps of a study folder, of a matrix file, or of a table of accuracies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.overlap.accuracies import COLUMNS as ACCURACY_COLUMNS
from windtunnel.analysis.overlap.accuracies import Accuracies, read_accuracies
from windtunnel.analysis.overlap.scores import (
    REPLICATES,
    OverlapMatrix,
    Ratio,
    overlap_matrix,
    read_overlap,
    replicated_overlaps,
)
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.studies.stored_accuracies import read_study

Source = str | Path | OverlapMatrix | Accuracies


@dataclass(frozen=True)
class Overlaps:
    """The overlap matrix of a source.

    Attributes:
        matrix: the matrix.
        replicates: its bootstrap replicates, (replicates, candidates, candidates); None if only the matrix is
            known.
    """

    matrix: OverlapMatrix
    replicates: NDArray[np.float64] | None


def source_name(source: Source) -> str:
    """The name of a study's folder or file, for titles."""
    return Path(source).resolve().stem if isinstance(source, str | Path) else "Study"


def read_overlaps(source: Source, replicates: int) -> Overlaps:
    """The matrix of a study folder, `overlap.json`, `overlap.csv` or `accuracies.csv`.

    Args:
        source: a path, or the object itself.
        replicates: the number of bootstrap replicates to return, if accuracies are known.

    Raises:
        UserError: there is no such file, it is neither, or so many replicates do not exist.
    """
    if not 0 <= replicates <= REPLICATES:
        raise UserError(
            f"{option('replicates')} is {replicates}; give 0 to {REPLICATES:,}, the replicates of the "
            "intervals."
        )
    if isinstance(source, OverlapMatrix):
        return Overlaps(source, None)
    if isinstance(source, Accuracies):
        return _of_accuracies(source, replicates)
    path = Path(source)
    if path.is_dir():
        matrix, accuracies = read_study(path)
        return Overlaps(matrix, _replicates(accuracies, matrix, replicates))
    if not path.is_file():
        raise UserError(
            f"No such study: {path}. Give the folder of an overlap study, overlap.json, overlap.csv, or a "
            "table of accuracies."
        )
    if _is_accuracies(path):
        return _of_accuracies(read_accuracies(path), replicates)
    return Overlaps(read_overlap(path), None)


def _is_accuracies(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        return ACCURACY_COLUMNS[0] in stream.readline(10_000).split(",")


def _of_accuracies(accuracies: Accuracies, replicates: int) -> Overlaps:
    matrix = overlap_matrix(accuracies)
    return Overlaps(matrix, _replicates(accuracies, matrix, replicates))


def _replicates(accuracies: Accuracies, matrix: OverlapMatrix, count: int) -> NDArray[np.float64] | None:
    """The first replicates of the matrix's intervals, all of which decide which candidates are defined."""
    if not count:
        return None
    ratio = cast(Ratio, matrix.ratio or "clean")
    return replicated_overlaps(accuracies, ratio=ratio, minimum_gain=matrix.minimum_gain)[:count]
