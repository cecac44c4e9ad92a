"""One model of a study of subtypes: its last layer is trained on the types of seen subtypes."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from windtunnel.analysis.overlap.accuracies import CLEAN
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.samples import Surveyed
from windtunnel.corruptions import edition_of
from windtunnel.data import Dataset
from windtunnel.engine.condition_kinds import frames_before_codec
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models.torch_layers import last_layer
from windtunnel.store.training_folder import read_history
from windtunnel.studies.model_predictions import ModelPredictions
from windtunnel.studies.model_training import BATCH, Predict, predictor_of, torch_on_one_thread
from windtunnel.studies.protocols import Protocol
from windtunnel.train.loop import fit
from windtunnel.train.networks import built
from windtunnel.train.remedies import Remedies
from windtunnel.train.settings import Settings

NETWORK, MODULE = "network", "module"
# The folders of a model's two trainings.
FIRST_TRAINING, LAST_LAYER = "subtypes", "last-layer"


@dataclass(frozen=True)
class SubtypeModel:
    """A model: a network that is first trained on the seen subtypes, or a pretrained module.

    Attributes:
        kind: `network` or `module`.
        network: a network's name, or `FILE.py:factory`.
        content: digest of a third-party file and of a module's weights; "" for a shipped network.
        seed: the seed of its trainings.
    """

    kind: str
    network: str
    content: str
    seed: int

    @property
    def label(self) -> str:
        """Its name in tables: without the folder of a file."""
        file, colon, factory = self.network.rpartition(":")
        return f"{Path(file).name}:{factory}" if colon else self.network

    @property
    def name(self) -> str:
        """The name of its folder and of its file."""
        content = f"-{self.content[:8]}" if self.content else ""
        return f"{self.kind}-{self.label.replace(':', '-')}{content}-seed{self.seed}"

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the {self.kind} {self.label} with seed {self.seed}"


@dataclass(frozen=True)
class SubtypeTraining:
    """The job of a worker: train a model in its folder, and predict the types of the test images.

    Attributes:
        subtypes: the training images, labelled with the seen subtypes.
        types: the same images, labelled with their types.
        data: the dataset of the test images.
        images: the test images.
        labels: their types, as outputs of the models.
        protocol: how networks are trained on the subtypes.
        last: how last layers are trained on the types.
        folder: the folder of the trainings.
        recipe: digest of the study's recipe.
        device: where models are trained.
        needs: what a worker must find where it runs.
    """

    subtypes: Dataset
    types: Dataset
    data: Dataset
    images: tuple[Surveyed, ...]
    labels: NDArray[np.int64]
    protocol: Protocol
    last: Settings
    folder: Path
    recipe: str
    device: str
    needs: Needs

    def begin(self) -> ItemFunction[SubtypeModel]:
        """Nothing has to be loaded."""
        return self.train

    def train(self, item: SubtypeModel, advance: Advance) -> ModelPredictions:
        """Train or continue a model, and evaluate it; counts epochs, and the evaluation as one."""
        try:
            # Factories may print; standard output is for results.
            with torch_on_one_thread(), redirect_stdout(sys.stderr):
                return self._train(item, advance)
        except UserError as error:
            raise UserError(f"{item.description[0].upper()}{item.description[1:]} failed: {error}") from error

    def _train(self, item: SubtypeModel, advance: Advance) -> ModelPredictions:
        protocol, folder = self.protocol, self.folder / item.name
        folder.mkdir(exist_ok=True)
        side_px, outputs = protocol.side_px, len(self.types.label_space)
        module = built(item.network, outputs, side_px, item.seed)
        if item.kind == NETWORK:
            first = built(item.network, len(self.subtypes.label_space), side_px, item.seed)
            self._fit(first, self.subtypes, folder / FIRST_TRAINING, protocol.settings, item, advance)
            copy_features(first, module, len(self.subtypes.label_space), outputs)
        last = Remedies(layers="last")
        trained = self._fit(module, self.types, folder / LAST_LAYER, self.last, item, advance, last)
        correct = self._correct(predictor_of(trained, module, protocol.preprocess, self.device))
        advance(1, 0)
        return ModelPredictions.of(self.recipe, item.name, item.seed, {CLEAN: correct})

    def _fit(
        self,
        module: Any,
        images: Dataset,
        folder: Path,
        settings: Settings,
        item: SubtypeModel,
        advance: Advance,
        remedies: Remedies = Remedies(),  # noqa: B008 (frozen)
    ) -> Any:
        advance(len(read_history(folder)), 0)
        return fit(
            module,
            images,
            folder,
            preprocess=self.protocol.preprocess,
            settings=replace(settings, seed=item.seed),
            mix=self.protocol.mix,
            remedies=remedies,
            device=self.device,
            advance=lambda _epoch, _loss: advance(1, 0),
        )

    def _correct(self, predict: Predict) -> NDArray[np.bool_]:
        """Whether the type of every test image is predicted."""
        side_px = self.protocol.side_px
        clean = Condition("clean", edition=edition_of(side_px, side_px))
        predicted = []
        with pillow_quiet():
            for start in range(0, len(self.images), BATCH):
                batch = [self._pixels(image, clean) for image in self.images[start : start + BATCH]]
                predicted.append(predict(np.stack(batch)).argmax(axis=1))
        return np.asarray(np.concatenate(predicted) == self.labels)

    def _pixels(self, image: Surveyed, clean: Condition) -> NDArray[np.uint8]:
        try:
            (pixels,) = frames_before_codec(
                Source(self.data, image), clean, self.protocol.preprocess.geometry, 0
            )
        except ImageError as error:
            raise RunFailed(
                f"{image.sample.id} could be read before but cannot be read now: {error.reason}"
            ) from error
        return pixels


def copy_features(trained: Any, module: Any, trained_outputs: int, outputs: int) -> None:
    """Give a module all weights of another of the same network, except those of the last layer."""
    old, new = last_layer(trained, trained_outputs), last_layer(module, outputs)
    if not old or old != new:
        raise UserError(
            f"the network's last layer is '{old}' with {trained_outputs} outputs and '{new}' with {outputs}; "
            "give a network that ends in the same linear layer or convolution for any number of classes."
        )
    weights = {name: value for name, value in trained.state_dict().items() if not name.startswith(f"{old}.")}
    own = {name: value for name, value in module.state_dict().items() if name.startswith(f"{new}.")}
    with torch.no_grad():
        module.load_state_dict({**weights, **own})
