"""The accuracies of a finished study, with the predictions of its models if they are stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from windtunnel.analysis.overlap.accuracies import Accuracies, read_accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix, overlap_matrix, read_overlap
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.studies.model_names import PREDICTIONS
from windtunnel.studies.model_predictions import ModelPredictions, read_predictions
from windtunnel.studies.overlap_files import ACCURACIES_FILE, JSON_FILE, STUDY_FILE


def is_study(path: str | Path) -> bool:
    """Whether a path is the folder of a finished study, or of the matrix of a table."""
    return (Path(path) / ACCURACIES_FILE).is_file()


def refuse_unfinished(path: str | Path) -> None:
    """Refuse the folder of a study whose models are not all trained."""
    if (Path(path) / STUDY_FILE).is_file() and not is_study(path):
        raise UserError(
            f"{path} is an overlap study that is not finished; repeat the command that started it, "
            f"windtunnel overlap TRAIN TEST {option('out', str(path))} with the same options, which "
            "continues it."
        )


def read_study(folder: Path) -> tuple[OverlapMatrix, Accuracies]:
    """The matrix and the accuracies of a study.

    Raises:
        UserError: the study is not finished, or its files are not of one study.
    """
    refuse_unfinished(folder)
    if not is_study(folder):
        raise UserError(
            f"{folder} has no {ACCURACIES_FILE}; give the folder of a finished overlap study, its "
            f"{JSON_FILE}, or a table of accuracies."
        )
    accuracies = _with_predictions(read_accuracies(folder / ACCURACIES_FILE), folder / PREDICTIONS)
    file = folder / JSON_FILE
    if not file.is_file():
        return overlap_matrix(accuracies), accuracies
    matrix = read_overlap(file)
    if (matrix.candidates, matrix.seeds) != (accuracies.candidates, accuracies.seeds):
        raise UserError(
            f"{file} has other candidates or seeds than {ACCURACIES_FILE} in the same folder; repeat the "
            "command that made the study."
        )
    return matrix, accuracies


def _with_predictions(accuracies: Accuracies, folder: Path) -> Accuracies:
    """The accuracies with the predictions in a folder, or without if those of a model are missing."""
    stored = {
        (predictions.trained_on, predictions.seed): predictions
        for file in sorted(folder.glob("*.json"))
        if (predictions := read_predictions(file)) is not None
    }
    names, images = accuracies.names, int(accuracies.images.min())
    correct = np.zeros((*accuracies.accuracy.shape, images), bool)
    for number, seed in enumerate(accuracies.seeds):
        for row, trained_on in enumerate(names):
            found = stored.get((trained_on, seed))
            if found is None or not _fits(found, names, images):
                return accuracies
            for column, name in enumerate(names):
                correct[number, row, column] = found.unpacked(name)
    if not np.allclose(correct.mean(axis=3), accuracies.accuracy, atol=1e-9):
        return accuracies  # the table is of another study than the predictions
    return Accuracies.of_predictions(accuracies.candidates, accuracies.seeds, correct)


def _fits(predictions: ModelPredictions, names: tuple[str, ...], images: int) -> bool:
    return predictions.images == images and set(names) <= set(predictions.correct)
