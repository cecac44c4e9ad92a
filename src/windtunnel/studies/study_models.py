"""The models of a study: test images made once, models trained and evaluated, predictions stored.

FOLDER/models/         one training folder per model
FOLDER/predictions/    one file per model: which test images it predicts correctly
FOLDER/test-images/    arrays of test images, deleted when all models are evaluated
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from windtunnel.core.progress import Progress
from windtunnel.core.registry import included_files
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Needs, local_paths
from windtunnel.engine.warm_up import warm_up_apart
from windtunnel.imaging.geometry import Geometry
from windtunnel.studies.condition_images import (
    ConditionItem,
    MakingTestImages,
    remove_damaged,
    stored_images,
)
from windtunnel.studies.library_versions import library_versions
from windtunnel.studies.model_names import MODELS, PREDICTIONS, TEST_IMAGES
from windtunnel.studies.model_predictions import ModelPredictions, read_predictions
from windtunnel.studies.model_training import (
    Evaluation,
    ModelItem,
    ModelTraining,
    WrappedEvaluation,
    WrappedItem,
)
from windtunnel.studies.study_data import StudyData


@dataclass(frozen=True)
class StudyModels:
    """The models of a study and their stored predictions.

    Attributes:
        folder: the study's folder.
        data: the images.
        geometry: the network's own geometry.
        tested: the conditions of the test images.
        recipe: digest of the study's recipe.
        device: where models are trained.
        files: files that workers read, besides the data.
    """

    folder: Path
    data: StudyData
    geometry: Geometry
    tested: tuple[ConditionItem, ...]
    recipe: str
    device: str
    files: tuple[str, ...] = ()

    @property
    def test_bytes(self) -> int:
        """The size of the arrays of test images."""
        side_px = self.geometry.output_px or 0
        return len(self.tested) * len(self.data.images) * 3 * side_px**2

    def stored(self, item: ModelItem | WrappedItem) -> ModelPredictions | None:
        """The predictions of a model; None if they are missing, damaged or of another recipe."""
        stored = read_predictions(self._predictions_file(item))
        if stored is None or stored.recipe != self.recipe or stored.images != len(self.data.images):
            return None
        return stored

    def make_images(self, workers: Workers, making: Progress) -> None:
        """Make the test images of every condition that are not stored."""
        folder = self.folder / TEST_IMAGES
        folder.mkdir(exist_ok=True)
        for item in self.tested:
            remove_damaged(folder, item.condition)
        items = [item for item in self.tested if stored_images(folder, item.condition) is None]
        if not items:
            return
        total = len(items) * len(self.data.images)
        making(0, total)
        executor = workers.executor_for(len(items))
        if executor.separate:
            warm_up_apart([item.condition for item in self.tested], included_files())
        job = MakingTestImages(
            self.data.test, self.data.images, self.geometry, folder.absolute(), self._needs()
        )

        def advance(done: int, failed: int) -> None:
            making(done, total, failed)

        for _ in executor.work(job, items, workers.count, advance, workers.address):
            pass

    def train(
        self,
        missing: Sequence[ModelItem],
        workers: Workers,
        advance: Callable[[int], None],
        *,
        records_failures: bool = False,
    ) -> None:
        """Train and evaluate models, and store the predictions of each as it is finished."""
        for part in (MODELS, PREDICTIONS):
            (self.folder / part).mkdir(exist_ok=True)
        job = ModelTraining(
            self.data.source, len(self.data.train.label_space), (self.folder / MODELS).absolute(),
            self._evaluation(), self.device, records_failures, self._needs(),
        )  # fmt: skip
        executor = workers.executor_for(len(missing))
        for item, predictions in executor.work(
            job, missing, workers.count, lambda done, _failed: advance(done), workers.address
        ):
            predictions.write(self._predictions_file(item))

    def evaluate_wrapped(
        self, missing: Sequence[WrappedItem], workers: Workers, advance: Callable[[int], None]
    ) -> None:
        """Evaluate trained models in wrappers, and store the predictions of each as it is finished."""
        job = WrappedEvaluation((self.folder / MODELS).absolute(), self._evaluation(), self._needs())
        executor = workers.executor_for(len(missing))
        for item, predictions in executor.work(
            job, missing, workers.count, lambda done, _failed: advance(done), workers.address
        ):
            predictions.write(self._predictions_file(item))

    def delete_images(self) -> None:
        """Delete the arrays of test images."""
        shutil.rmtree(self.folder / TEST_IMAGES, ignore_errors=True)

    def _predictions_file(self, item: ModelItem | WrappedItem) -> Path:
        return self.folder / PREDICTIONS / f"{item.name}.json"

    def _evaluation(self) -> Evaluation:
        labels = np.array(self.data.labels, np.int64)
        return Evaluation((self.folder / TEST_IMAGES).absolute(), self.tested, labels, self.recipe)

    def _needs(self) -> Needs:
        """What workers need: the data, further files such as a network's, and the study's folder."""
        inputs = local_paths([*self.data.locations, *self.files])
        return Needs(included_files(), inputs, self.folder.absolute(), library_versions())
