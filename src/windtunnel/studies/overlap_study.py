"""The overlap study: one model per candidate and seed, their accuracies, and the matrix of overlaps.

STUDY/study.json       the recipe
STUDY/models/          one training folder per model
STUDY/predictions/     one file per model: which test images it predicts correctly
STUDY/test-images/     arrays of test images, deleted when all models are evaluated
STUDY/accuracies.csv, overlap.csv, overlap.json
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from windtunnel.analysis.overlap.accuracies import CLEAN, Accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix, Ratio
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.engine.executors import Workers
from windtunnel.store.recipe_folder import RecipeFolder
from windtunnel.studies.library_versions import check_versions, library_versions
from windtunnel.studies.model_training import ModelItem, TrainingPlan
from windtunnel.studies.overlap_files import finished_seeds, write_overlaps
from windtunnel.studies.protocols import Protocol
from windtunnel.studies.records import STUDY, StudyRecipe
from windtunnel.studies.study_data import StudyData
from windtunnel.studies.study_models import StudyModels
from windtunnel.train.augmentation import Augmentation


@dataclass(frozen=True)
class OverlapStudy:
    """A planned or finished study.

    Attributes:
        folder: its folder.
        protocol: how models are trained.
        data: the training and test images.
        models: the models, evaluated under `clean` and the candidates.
        seeds: the seeds of the trainings.
        recipe: everything that determines the models' predictions, except the seeds.
        notes: notes for the reader.
    """

    folder: Path
    protocol: Protocol
    data: StudyData
    models: StudyModels
    seeds: tuple[int, ...]
    recipe: StudyRecipe
    notes: tuple[str, ...]

    @property
    def items(self) -> list[ModelItem]:
        """All models: by seed, the standard model first."""
        return [self._item(tested.name, seed) for seed in self.seeds for tested in self.models.tested]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the candidates."""
        return tuple(tested.name for tested in self.models.tested[1:])

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.data.portable

    @property
    def epochs_per_model(self) -> int:
        """The epochs of a model that progress counts; its evaluation counts as one."""
        return self.protocol.settings.epochs + 1

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
            missing = [item for item in self.items if self.models.stored(item) is None]
            if missing:
                check_versions(folder)
            folder.create_recipe_file({"recipe": self.recipe.to_json(), "versions": library_versions()})
            per_model = self.epochs_per_model
            total = len(self.items) * per_model
            training((len(self.items) - len(missing)) * per_model, total)
            if missing:
                try:
                    with finishing_items():
                        self.models.make_images(workers, making)
                        self.models.train(missing, workers, lambda done: training(done, total))
                except BaseException as error:
                    stored = sum(self.models.stored(item) is not None for item in self.items)
                    error.add_note(
                        f"{stored} of {counted(len(self.items), 'model')} are finished in {self.folder}; the "
                        "others continue at their last epoch."
                    )
                    raise
            matrix = write_overlaps(self.accuracies(), self.folder, ratio)
            self.models.delete_images()
        return matrix

    def check_folder(self) -> None:
        """Refuse a folder with other files or of another study, and name the difference."""
        folder = RecipeFolder(self.folder, STUDY)
        folder.check_free()
        folder.refuse_other_recipe(self.recipe)
        if len(finished := finished_seeds(self.folder)) > len(self.seeds):
            raise UserError(
                f"{option('seeds')} is {len(self.seeds)}, but {self.folder} is finished with "
                f"{counted(len(finished), 'seed')}, and its result would be replaced by one of fewer models; "
                f"give {option('seeds', len(finished))} or more, or another folder."
            )

    def accuracies(self) -> Accuracies:
        """The accuracies of all models, from their stored predictions."""
        names = [tested.name for tested in self.models.tested]
        shape = len(self.seeds), len(names), len(names), len(self.data.images)
        correct = np.zeros(shape, bool)
        for number, seed in enumerate(self.seeds):
            for row, trained_on in enumerate(names):
                stored = self.models.stored(self._item(trained_on, seed))
                if stored is None:
                    raise UserError(
                        f"{self.folder} lacks the predictions of the model trained on {trained_on} with seed "
                        f"{seed}; repeat the command that made the study."
                    )
                for column, name in enumerate(names):
                    correct[number, row, column] = stored.unpacked(name)
        return Accuracies.of_predictions(self.candidates, self.seeds, correct)

    def _item(self, trained_on: str, seed: int) -> ModelItem:
        protocol = self.protocol
        plan = TrainingPlan(
            protocol.network,
            protocol.preprocess,
            replace(protocol.settings, seed=seed),
            protocol.mix,
            _augmentation(trained_on),
        )
        return ModelItem(trained_on, seed, plan, f"the model trained on {trained_on} with seed {seed}")


def _augmentation(trained_on: str) -> Augmentation:
    """A clean and a corrupted copy; the standard model gets the clean copy twice."""
    if trained_on == CLEAN:
        return Augmentation(clean_copies=2)
    return Augmentation((trained_on,), clean_copies=1, corrupted_copies=1)
