"""One model of a study: trained in its folder, then evaluated under every condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed, UserError, first_line
from windtunnel.core.placement import CPU
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.models import load_model
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.torch import TorchPredictor
from windtunnel.models.wrapping import wrap
from windtunnel.store.training_folder import read_history
from windtunnel.studies.condition_images import ConditionItem, stored_images
from windtunnel.studies.model_names import model_name
from windtunnel.studies.model_predictions import ModelPredictions
from windtunnel.train.augmentation import Augmentation
from windtunnel.train.loop import MODEL, Trained, fit
from windtunnel.train.mixing import Mix
from windtunnel.train.networks import built
from windtunnel.train.remedies import Remedies
from windtunnel.train.settings import Settings
from windtunnel.train.trainer import NotFinite
from windtunnel.train.training_sets import TrainingSource
from windtunnel.train.views import training_side

BATCH = 64

Predict = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


@dataclass(frozen=True)
class TrainingPlan:
    """How a model is trained.

    Attributes:
        network: a network's name, or `FILE.py:factory`.
        preprocess: from files to the network's input.
        settings: the settings of the training, with its seed.
        mix, augmentation, remedies: as `windtunnel.train.fit` takes them.
        weights: a file of initial weights; "" for random ones by the seed.
    """

    network: str
    preprocess: Preprocess
    settings: Settings
    mix: Mix
    augmentation: Augmentation
    remedies: Remedies = Remedies()  # noqa: RUF009 (frozen)
    weights: str = ""

    def module(self, classes: int) -> Any:
        """The untrained network, with the initial weights of its seed or file."""
        module = built(self.network, classes, training_side(self.preprocess.geometry), self.settings.seed)
        if self.weights:
            try:
                module.load_state_dict(torch.load(self.weights, map_location="cpu", weights_only=True))
            except FileNotFoundError as error:
                raise UserError(
                    f"There is no file {self.weights}; give a file of initial weights."
                ) from error
            except Exception as error:  # torch raises many kinds of errors for other files
                raise UserError(
                    f"{self.weights} are no weights of {self.network} ({first_line(error)}); give a file "
                    "that torch.save wrote of the network's state_dict()."
                ) from error
        return module


@dataclass(frozen=True)
class ModelItem:
    """One model.

    Attributes:
        model: what distinguishes its training from others of the same seed.
        seed: its seed.
        plan: how it is trained.
        description: what it is, in an error message.
    """

    model: str
    seed: int
    plan: TrainingPlan
    description: str

    @property
    def name(self) -> str:
        """The name of its folder and of its file."""
        return model_name(self.model, self.seed)


@dataclass(frozen=True)
class WrappedItem:
    """A trained model in wrappers, which is only evaluated.

    Attributes:
        model: the name of the variant.
        seed: the seed of the trained model.
        trained: the folder of its training.
        wrappers: the wrappers, the first of which sees the images first.
        description: what it is, in an error message.
    """

    model: str
    seed: int
    trained: str
    wrappers: tuple[str, ...]
    description: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return model_name(self.model, self.seed)


@dataclass(frozen=True)
class Evaluation:
    """The stored test images, and how predictions are recorded.

    Attributes:
        folder: the folder of the test images.
        tested: their conditions.
        labels: the class of every test image.
        recipe: digest of the study's recipe.
    """

    folder: Path
    tested: tuple[ConditionItem, ...]
    labels: NDArray[np.int64]
    recipe: str

    def predictions(self, item: ModelItem | WrappedItem, predict: Predict) -> ModelPredictions:
        """Which test images a model predicts correctly."""
        correct = {tested.name: self._correct(tested, predict) for tested in self.tested}
        return ModelPredictions.of(self.recipe, item.model, item.seed, correct)

    def failure(self, item: ModelItem, reason: str) -> ModelPredictions:
        """The record of a training that failed."""
        return ModelPredictions(self.recipe, item.model, item.seed, len(self.labels), {}, reason)

    def _correct(self, tested: ConditionItem, predict: Predict) -> NDArray[np.bool_]:
        images = stored_images(self.folder, tested.condition)
        if images is None or len(images) != len(self.labels):
            raise RunFailed(f"the test images under {tested.name} are missing in {self.folder}")
        starts = range(0, len(images), BATCH)
        scores = np.concatenate([predict(np.asarray(images[start : start + BATCH])) for start in starts])
        return np.asarray(scores.argmax(axis=1) == self.labels)


@dataclass(frozen=True)
class ModelTraining:
    """The job of a worker: train a model in its folder, and predict the stored test images.

    Attributes:
        data: the training images, as `windtunnel.train.fit` takes them.
        classes: the number of their classes.
        folder: the folder of the trainings.
        evaluation: the test images.
        device: where models are trained.
        records_failures: whether a loss that is not finite is a result; otherwise it is an error.
        needs: what a worker must find where it runs.
    """

    data: TrainingSource
    classes: int
    folder: Path
    evaluation: Evaluation
    device: str
    records_failures: bool
    needs: Needs

    def begin(self) -> ItemFunction[ModelItem]:
        """Nothing has to be loaded."""
        return self.train

    def train(self, item: ModelItem, advance: Advance) -> ModelPredictions:
        """Train or continue a model, and evaluate it; counts epochs, and the evaluation as one."""
        epochs = item.plan.settings.epochs
        counted = 0

        def count(number: int) -> None:
            nonlocal counted
            counted += number
            advance(number, 0)

        try:
            with torch_on_one_thread():
                return self._train(item, count)
        except NotFinite as error:
            if not self.records_failures:
                raise _named(item, error) from error
            advance(epochs + 1 - counted, 0)
            return self.evaluation.failure(item, str(error))
        except UserError as error:
            raise _named(item, error) from error

    def _train(self, item: ModelItem, count: Callable[[int], None]) -> ModelPredictions:
        plan, folder = item.plan, self.folder / item.name
        module = plan.module(self.classes)
        count(len(read_history(folder)))
        trained = fit(
            module,
            self.data,
            folder,
            preprocess=plan.preprocess,
            settings=plan.settings,
            mix=plan.mix,
            augmentation=plan.augmentation,
            remedies=plan.remedies,
            device=self.device,
            advance=lambda _epoch, _loss: count(1),
        )
        # The ONNX file also declares wrappers.
        device = CPU if plan.remedies.wrappers() else self.device
        predict = predictor_of(trained, module, plan.preprocess, device)
        predictions = self.evaluation.predictions(item, predict)
        count(1)
        return predictions


@dataclass(frozen=True)
class WrappedEvaluation:
    """The job of a worker: predict the stored test images with a trained model in wrappers.

    Attributes:
        folder: the folder of the trainings.
        evaluation: the test images.
        needs: what a worker must find where it runs.
    """

    folder: Path
    evaluation: Evaluation
    needs: Needs

    def begin(self) -> ItemFunction[WrappedItem]:
        """Nothing has to be loaded."""
        return self.evaluate

    def evaluate(self, item: WrappedItem, advance: Advance) -> ModelPredictions:
        """Evaluate a model; counts one."""
        model = wrapped_model(self.folder / item.trained, item.wrappers)
        predictions = self.evaluation.predictions(item, model.predict)
        advance(1, 0)
        return predictions


def wrapped_model(training: Path, wrappers: Sequence[str]) -> Any:
    """The trained model of a folder in wrappers, on the CPU."""
    return wrap(load_model(training / MODEL, device=CPU), *wrappers)


def _named(item: ModelItem, error: UserError) -> UserError:
    return UserError(f"{item.description[0].upper()}{item.description[1:]} failed: {error}")


def predictor_of(trained: Trained, module: Any, preprocess: Preprocess, device: str) -> Predict:
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
