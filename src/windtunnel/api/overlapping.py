"""Overlapping scores of accuracies that were measured elsewhere."""

from __future__ import annotations

from pathlib import Path

from windtunnel.analysis.overlap.accuracies import read_accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix, Ratio, overlap_matrix
from windtunnel.core.locations import local_path
from windtunnel.studies.overlap_files import refuse_other_files, write_overlaps


def overlap_of_accuracies(
    accuracies: str | Path, out: str | Path | None = None, *, ratio: Ratio = "clean"
) -> OverlapMatrix:
    """The overlapping scores of models that were trained elsewhere; nothing is trained.

    Args:
        accuracies: a CSV file with the columns trained_on, seed, tested_on, accuracy and images.
        out: a folder for `overlap.json`, `overlap.csv` and `accuracies.csv`; None writes nothing.
        ratio: `clean` divides accuracies by the model's clean accuracy, as in the paper; `raw` does not.

    Raises:
        UserError: the table is incomplete, or the folder contains other files.
    """
    table = read_accuracies(accuracies)
    if out is None:
        return overlap_matrix(table, ratio=ratio)
    folder = local_path(out, "folder of a matrix")
    refuse_other_files(folder)
    return write_overlaps(table, folder, ratio)
