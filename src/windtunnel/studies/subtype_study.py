"""A study of subtype robustness: last layers trained on seen subtypes, and tested on unseen ones.

STUDY/subtype-study.json   the recipe
STUDY/models/              one folder per model: its training on seen subtypes, and that of its last layer
STUDY/predictions/         one file per model: of which test images it predicts the type
STUDY/split.csv, accuracies.csv, subtypes.json
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.overlap.accuracies import CLEAN
from windtunnel.analysis.subtypes import SubtypeRobustness, TestImages, subtype_robustness
from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import Record
from windtunnel.core.registry import included_files
from windtunnel.core.samples import Surveyed
from windtunnel.core.training_records import MixRecord, PreprocessRecord, SettingsRecord, TrainingData
from windtunnel.core.wording import counted
from windtunnel.data import Dataset
from windtunnel.data.chosen_images import ChosenImages
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Needs, local_paths
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder
from windtunnel.studies.library_versions import check_versions, library_versions
from windtunnel.studies.model_predictions import ModelPredictions, read_predictions
from windtunnel.studies.protocols import Protocol
from windtunnel.studies.subtype_split import SubtypeSplit
from windtunnel.studies.subtype_training import NETWORK, SubtypeModel, SubtypeTraining
from windtunnel.train.settings import Settings

PARTS = {
    "split": "seen and unseen subtypes",
    "train": "training images",
    "test": "test images",
    "preprocess": "preprocessing",
    "settings": "training settings",
    "last": "training settings of the last layer",
    "mix": "training resizer",
    "device": "device",
}
STUDY = FolderKind("study of subtypes", "subtype-study.json", 1, PARTS, option="out")
MODELS, PREDICTIONS = "models", "predictions"
SPLIT_FILE, CSV_FILE, JSON_FILE = "split.csv", "accuracies.csv", "subtypes.json"


class SubtypeRecipe(Record, frozen=True):
    """Everything that determines the predictions of a study, except the models and their seeds.

    Attributes:
        split: by subtype, its type and part.
    """

    split: dict[str, tuple[str, str]]
    train: TrainingData
    test: TrainingData
    preprocess: PreprocessRecord
    settings: SettingsRecord
    last: SettingsRecord
    mix: MixRecord
    device: str

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())


@dataclass(frozen=True)
class SubtypeStudy:
    """A planned or finished study.

    Attributes:
        folder: its folder.
        protocol: preprocessing, and how networks are trained on the seen subtypes.
        last: how last layers are trained on the types.
        data: the images.
        split: the seen and unseen subtypes.
        subtypes, types: the training images, labelled with their subtypes and with their types.
        images: the test images; labels are those of the data.
        items: the models.
        recipe: everything else that determines their predictions.
        device: where models are trained.
        notes: notes for the reader.
    """

    folder: Path
    protocol: Protocol
    last: Settings
    data: Dataset
    split: SubtypeSplit
    subtypes: ChosenImages
    types: ChosenImages
    images: tuple[Surveyed, ...]
    items: tuple[SubtypeModel, ...]
    recipe: SubtypeRecipe
    device: str
    notes: tuple[str, ...]

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.data.portable

    @property
    def test_images(self) -> TestImages:
        """Type, subtype and part of the test images."""
        facts = {subtype.name: subtype for subtype in self.split.subtypes}
        names = self.data.label_space.classes
        own = [facts[names[image.sample.labels[0]]] for image in self.images]
        return TestImages(
            tuple(subtype.type for subtype in own),
            tuple(subtype.name for subtype in own),
            np.array([subtype.part == "unseen" for subtype in own]),
        )

    def epochs(self, item: SubtypeModel) -> int:
        """The epochs of a model that progress counts; its evaluation counts as one."""
        first = self.protocol.settings.epochs if item.kind == NETWORK else 0
        return first + self.last.epochs + 1

    def run(
        self,
        workers: Workers = Workers(),  # noqa: B008 (frozen)
        training: Progress = silent,
    ) -> SubtypeRobustness:
        """Train and evaluate the missing models, then compute and write the accuracies.

        Args:
            workers: how many, and where.
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
            write_whole(self.folder / SPLIT_FILE, self.split.to_csv().encode())
            total = sum(map(self.epochs, self.items))
            training(total - sum(map(self.epochs, missing)), total)
            if missing:
                try:
                    with finishing_items():
                        self._train(missing, workers, lambda done: training(done, total))
                except BaseException as error:
                    stored = sum(self._stored(item) is not None for item in self.items)
                    error.add_note(
                        f"{stored} of {counted(len(self.items), 'model')} are finished in {self.folder}; the "
                        "others continue at their last epoch."
                    )
                    raise
            result = self.result()
            write_whole(self.folder / CSV_FILE, result.to_csv().encode())
            write_whole(self.folder / JSON_FILE, result.to_json_text().encode())
        return result

    def check_folder(self) -> None:
        """Refuse a folder with other files or of another study, and name the difference."""
        folder = RecipeFolder(self.folder, STUDY)
        folder.check_free()
        folder.refuse_other_recipe(self.recipe)

    def result(self) -> SubtypeRobustness:
        """The accuracies of all models, from their stored predictions."""
        rows: dict[tuple[str, str], list[NDArray[np.bool_]]] = {}
        for item in self.items:
            stored = self._stored(item)
            if stored is None:
                raise UserError(
                    f"{self.folder} lacks the predictions of {item.description}; repeat the command that "
                    "made the study."
                )
            rows.setdefault((item.label, item.kind), []).append(stored.unpacked(CLEAN))
        counts = np.bincount([sample.labels[0] for sample in self.types.samples()])
        return subtype_robustness(
            self.test_images,
            {key: np.stack(correct) for key, correct in rows.items()},
            self.split.types[int(counts.argmax())],
            self.notes,
        )

    def _predictions_file(self, item: SubtypeModel) -> Path:
        return self.folder / PREDICTIONS / f"{item.name}.json"

    def _stored(self, item: SubtypeModel) -> ModelPredictions | None:
        """The predictions of a model; None if they are missing, damaged or of another recipe."""
        stored = read_predictions(self._predictions_file(item))
        if stored is None or stored.recipe != self.recipe.digest or stored.images != len(self.images):
            return None
        return stored

    def _train(self, missing: list[SubtypeModel], workers: Workers, advance: Callable[[int], None]) -> None:
        """Train and evaluate models, and store the predictions of each as it is finished."""
        for part in (MODELS, PREDICTIONS):
            (self.folder / part).mkdir(exist_ok=True)
        place = {name: number for number, name in enumerate(self.split.types)}
        labels = np.array([place[type_] for type_ in self.test_images.types], np.int64)
        networks = [item.network for item in self.items]
        inputs = local_paths([self.data.location, *networks])
        job = SubtypeTraining(
            self.subtypes, self.types, self.data, self.images, labels, self.protocol, self.last,
            (self.folder / MODELS).absolute(), self.recipe.digest, self.device,
            Needs(included_files(), inputs, self.folder.absolute(), library_versions()),
        )  # fmt: skip
        executor = workers.executor_for(len(missing))
        for item, predictions in executor.work(
            job, missing, workers.count, lambda done, _failed: advance(done), workers.address
        ):
            predictions.write(self._predictions_file(item))
