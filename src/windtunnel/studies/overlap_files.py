"""The files of overlapping scores: accuracies and matrix, of a study or of accuracies from elsewhere."""

from __future__ import annotations

from pathlib import Path

from windtunnel.analysis.overlap.accuracies import Accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix, Ratio, overlap_matrix, read_overlap
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.store.atomic_files import refuse_unwritable, write_whole

ACCURACIES_FILE, CSV_FILE, JSON_FILE = "accuracies.csv", "overlap.csv", "overlap.json"
# Of a study, finished or not.
STUDY_FILE = "study.json"
# Written by `windtunnel report`.
PAGE_FILE = "report.html"


def write_overlaps(accuracies: Accuracies, folder: Path, ratio: Ratio) -> OverlapMatrix:
    """Compute the matrix, and write it and the accuracies into a folder."""
    matrix = overlap_matrix(accuracies, ratio=ratio)
    texts = {
        ACCURACIES_FILE: accuracies.to_csv(),
        CSV_FILE: matrix.to_csv(),
        JSON_FILE: matrix.to_json_text(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    return matrix


def finished_seeds(folder: Path) -> tuple[int, ...]:
    """The seeds of the matrix in a folder; () if there is none that can be read."""
    try:
        return read_overlap(folder / JSON_FILE).seeds
    except UserError:
        return ()


def refuse_other_files(folder: Path) -> None:
    """Refuse a folder that cannot be written, or contains other files than those of a matrix."""
    refuse_unwritable(folder, "matrix")
    own = (ACCURACIES_FILE, CSV_FILE, JSON_FILE, PAGE_FILE)
    if folder.exists() and any(entry.name not in own for entry in folder.iterdir()):
        raise UserError(
            f"{folder} contains other files; give a separate folder for the matrix with {option('out')}."
        )
