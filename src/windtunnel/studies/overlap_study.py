"""The overlap study: one model per candidate and seed, their accuracies, and the matrix of overlaps.

STUDY/study.json       the recipe
STUDY/models/          one training folder per model
STUDY/predictions/     one file per model: which test images it predicts correctly
STUDY/test-images/     arrays of test images, deleted when all models are evaluated
STUDY/accuracies.csv, overlap.csv, overlap.json
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from windtunnel.analysis.overlap.accuracies import Accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix, Ratio
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import RecordError, read_record
from windtunnel.core.registry import included_files
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted, listed
from windtunnel.data import Dataset
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Needs, local_paths
from windtunnel.engine.warm_up import warm_up_apart
from windtunnel.store.recipe_folder import RecipeFolder
from windtunnel.studies.condition_images import (
    ConditionItem,
    MakingTestImages,
    remove_damaged,
    stored_images,
)
from windtunnel.studies.library_versions import check_versions, library_versions
from windtunnel.studies.model_predictions import ModelPredictions, read_predictions
from windtunnel.studies.model_training import ModelItem, ModelTraining
from windtunnel.studies.overlap_files import finished_seeds, write_overlaps
from windtunnel.studies.protocols import Protocol
from windtunnel.studies.records import STUDY, StudyRecipe

MODELS, PREDICTIONS, TEST_IMAGES = "models", "predictions", "test-images"


@dataclass(frozen=True)
class OverlapStudy:
    """A planned or finished study.

    Attributes:
        folder: its folder.
        protocol: how models are trained.
        train, test: the datasets.
        images: the test images.
        labels: their classes, as outputs of the models.
        conditions: `clean`, then the candidates.
        seeds: the seeds of the trainings.
        recipe: everything that determines the models' predictions, except the seeds.
        device: where models are trained.
        notes: notes for the reader.
    """

    folder: Path
    protocol: Protocol
    train: Dataset
    test: Dataset
    images: tuple[Surveyed, ...]
    labels: tuple[int, ...]
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...]
    recipe: StudyRecipe
    device: str
    notes: tuple[str, ...]

    @property
    def items(self) -> list[ModelItem]:
        """All models: by seed, the standard model first."""
        return [ModelItem(condition.name, seed) for seed in self.seeds for condition in self.conditions]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the candidates."""
        return tuple(condition.name for condition in self.conditions[1:])

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.train.portable and self.test.portable

    @property
    def epochs_per_model(self) -> int:
        """The epochs of a model that progress counts; its evaluation counts as one."""
        return self.protocol.settings.epochs + 1

    @property
    def test_bytes(self) -> int:
        """The size of the arrays of test images."""
        return len(self.conditions) * len(self.images) * 3 * self.protocol.side_px**2

    def run(
        self,
        workers: Workers = Workers(),  # noqa: B008 (frozen)
        *,
        ratio: Ratio = "clean",
        making: Progress = silent,
        training: Progress = silent,
    ) -> OverlapMatrix:
        """Train and evaluate the missing models, then compute and write the matrix.

        Args:
            workers: how many, and where.
            ratio: what accuracies are divided by.
            making: counts test images.
            training: counts epochs; the evaluation of a model counts as one.
        """
        workers.check(portable=self.portable, live="A dataset in memory")
        self.check_folder()
        folder = RecipeFolder(self.folder, STUDY)
        with folder.locked():
            self.check_folder()  # again, now that no other process can write
            missing = [item for item in self.items if self._stored(item) is None]
            if missing:
                check_versions(folder)
            folder.create_recipe_file({"recipe": self.recipe.to_json(), "versions": library_versions()})
            per_model = self.epochs_per_model
            total = len(self.items) * per_model
            training((len(self.items) - len(missing)) * per_model, total)
            if missing:
                try:
                    with finishing_items():
                        self._make_images(workers, making)
                        self._train(missing, workers, lambda done: training(done, total))
                except BaseException as error:
                    stored = sum(self._stored(item) is not None for item in self.items)
                    error.add_note(
                        f"{stored} of {counted(len(self.items), 'model')} are finished in {self.folder}; the "
                        "others continue at their last epoch."
                    )
                    raise
            matrix = write_overlaps(self.accuracies(), self.folder, ratio)
            shutil.rmtree(self.folder / TEST_IMAGES, ignore_errors=True)
        return matrix

    def check_folder(self) -> None:
        """Refuse a folder with other files or of another study, and name the difference."""
        folder = RecipeFolder(self.folder, STUDY)
        folder.check_free()
        if not folder.recipe_path.exists():
            return
        try:
            stored = read_record(folder.read_recipe_file().get("recipe"), StudyRecipe)
        except RecordError as error:
            raise folder.damaged(error) from error
        if changed := folder.differing_parts(stored, self.recipe):
            raise UserError(
                f"{self.folder} contains another study (different "
                f"{listed([STUDY.parts[part] for part in changed])}); give another folder."
            )
        if len(finished := finished_seeds(self.folder)) > len(self.seeds):
            raise UserError(
                f"{option('seeds')} is {len(self.seeds)}, but {self.folder} is finished with "
                f"{counted(len(finished), 'seed')}, and its result would be replaced by one of fewer models; "
                f"give {option('seeds', len(finished))} or more, or another folder."
            )

    def accuracies(self) -> Accuracies:
        """The accuracies of all models, from their stored predictions."""
        names = [condition.name for condition in self.conditions]
        shape = len(self.seeds), len(names), len(names), len(self.images)
        correct = np.zeros(shape, bool)
        for number, seed in enumerate(self.seeds):
            for row, trained_on in enumerate(names):
                stored = self._stored(ModelItem(trained_on, seed))
                if stored is None:
                    raise UserError(
                        f"{self.folder} lacks the predictions of the model trained on {trained_on} with seed "
                        f"{seed}; repeat the command that made the study."
                    )
                for column, name in enumerate(names):
                    correct[number, row, column] = stored.unpacked(name)
        return Accuracies.of_predictions(self.candidates, self.seeds, correct)

    def _predictions_file(self, item: ModelItem) -> Path:
        return self.folder / PREDICTIONS / f"{item.name}.json"

    def _stored(self, item: ModelItem) -> ModelPredictions | None:
        """The predictions of a model; None if they are missing, damaged or of another recipe."""
        stored = read_predictions(self._predictions_file(item))
        if stored is None or stored.recipe != self.recipe.digest or stored.images != len(self.images):
            return None
        return stored

    def _make_images(self, workers: Workers, making: Progress) -> None:
        """Make the test images of every condition that are not stored."""
        folder = self.folder / TEST_IMAGES
        folder.mkdir(exist_ok=True)
        for condition in self.conditions:
            remove_damaged(folder, condition)
        items = [ConditionItem(one) for one in self.conditions if stored_images(folder, one) is None]
        if not items:
            return
        total = len(items) * len(self.images)
        making(0, total)
        executor = workers.executor_for(len(items))
        if executor.separate:
            warm_up_apart(self.conditions, included_files())
        job = MakingTestImages(
            self.test, self.images, self.protocol.preprocess.geometry, folder.absolute(), self._needs()
        )

        def advance(done: int, failed: int) -> None:
            making(done, total, failed)

        for _ in executor.work(job, items, workers.count, advance, workers.address):
            pass

    def _train(self, missing: list[ModelItem], workers: Workers, advance: Callable[[int], None]) -> None:
        """Train and evaluate models, and store the predictions of each as it is finished."""
        for part in (MODELS, PREDICTIONS):
            (self.folder / part).mkdir(exist_ok=True)
        job = ModelTraining(
            self.train, self.protocol, (self.folder / MODELS).absolute(),
            (self.folder / TEST_IMAGES).absolute(), self.conditions, np.array(self.labels, np.int64),
            self.recipe.digest, self.device, self._needs(),
        )  # fmt: skip
        executor = workers.executor_for(len(missing))
        for item, predictions in executor.work(
            job, missing, workers.count, lambda done, _failed: advance(done), workers.address
        ):
            predictions.write(self._predictions_file(item))

    def _needs(self) -> Needs:
        """What workers need: the data, the file of a network, and the study's folder."""
        inputs = local_paths([self.train.location, self.test.location, self.protocol.network])
        return Needs(included_files(), inputs, self.folder.absolute(), library_versions())
