"""One model of an overlap study: trained with one corruption, then evaluated under every condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.analysis.overlap.accuracies import CLEAN
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.placement import CPU
from windtunnel.data import Dataset
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.models import load_model
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.torch import TorchPredictor
from windtunnel.store.training_folder import read_history
from windtunnel.studies.condition_images import stored_images
from windtunnel.studies.model_predictions import ModelPredictions
from windtunnel.studies.protocols import Protocol
from windtunnel.train.augmentation import Augmentation
from windtunnel.train.loop import Trained, fit
from windtunnel.train.networks import built

BATCH = 64
# From uint8 NHWC images to scores (n, classes).
PredictFunction = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


@dataclass(frozen=True)
class ModelItem:
    """One model: what it is trained on, `clean` for the standard model, and its seed."""

    trained_on: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder and of its file."""
        return f"{self.trained_on.replace('/', '-').replace(':', '-')}-seed{self.seed}"

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the model trained on {self.trained_on} with seed {self.seed}"

    @property
    def augmentation(self) -> Augmentation:
        """A clean and a corrupted copy; the standard model gets the clean copy twice."""
        if self.trained_on == CLEAN:
            return Augmentation(clean_copies=2)
        return Augmentation((self.trained_on,), clean_copies=1, corrupted_copies=1)


@dataclass(frozen=True)
class ModelTraining:
    """The job of a worker: train a model in its folder, and predict the stored test images.

    Attributes:
        dataset: the training images.
        protocol: how models are trained.
        folder: the folder of the trainings.
        test_folder: the folder of the test images.
        conditions: the conditions of the test images.
        labels: the class of every test image.
        recipe: digest of the study's recipe.
        device: where models are trained.
        needs: what a worker must find where it runs.
    """

    dataset: Dataset
    protocol: Protocol
    folder: Path
    test_folder: Path
    conditions: tuple[Condition, ...]
    labels: NDArray[np.int64]
    recipe: str
    device: str
    needs: Needs

    def begin(self) -> ItemFunction[ModelItem]:
        """Nothing has to be loaded."""
        return self.train

    def train(self, item: ModelItem, advance: Advance) -> ModelPredictions:
        """Train or continue a model, and evaluate it; counts epochs, and the evaluation as one."""
        try:
            with torch_on_one_thread():
                return self._train(item, advance)
        except UserError as error:
            raise UserError(f"{item.description[0].upper()}{item.description[1:]} failed: {error}") from error

    def _train(self, item: ModelItem, advance: Advance) -> ModelPredictions:
        protocol, folder = self.protocol, self.folder / item.name
        module = built(protocol.network, len(self.dataset.label_space), protocol.side_px, item.seed)
        advance(len(read_history(folder)), 0)
        trained = fit(
            module,
            self.dataset,
            folder,
            preprocess=protocol.preprocess,
            settings=replace(protocol.settings, seed=item.seed),
            mix=protocol.mix,
            augmentation=item.augmentation,
            device=self.device,
            advance=lambda _epoch, _loss: advance(1, 0),
        )
        predict = predictor_of(trained, module, protocol.preprocess, self.device)
        correct = {condition.name: self._correct(condition, predict) for condition in self.conditions}
        advance(1, 0)
        return ModelPredictions.of(self.recipe, item.trained_on, item.seed, correct)

    def _correct(self, condition: Condition, predict: PredictFunction) -> NDArray[np.bool_]:
        images = stored_images(self.test_folder, condition)
        if images is None or len(images) != len(self.labels):
            raise RunFailed(f"the test images under {condition.name} are missing in {self.test_folder}")
        starts = range(0, len(images), BATCH)
        scores = np.concatenate([predict(np.asarray(images[start : start + BATCH])) for start in starts])
        return np.asarray(scores.argmax(axis=1) == self.labels)


def predictor_of(trained: Trained, module: Any, preprocess: Preprocess, device: str) -> PredictFunction:
    """The predictions of a trained module, by ONNX Runtime or on the device of its training."""
    if device == CPU:  # ONNX Runtime takes half the time of torch there
        return load_model(trained.model, device=CPU).predict
    return TorchPredictor(module, preprocess.tensor)


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """Restrict torch to one thread, so that results do not depend on the number of cores or workers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
