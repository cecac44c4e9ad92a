"""The recipe of a training, and the folder that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from windtunnel.core.conditions import digest
from windtunnel.core.records import record_of
from windtunnel.core.samples import Surveyed
from windtunnel.core.training_records import (
    AugmentationRecord,
    MixRecord,
    ModuleRecord,
    PreprocessRecord,
    SettingsRecord,
    TrainingData,
    TrainingRecipe,
)
from windtunnel.data import Dataset
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.torch import state_fingerprint
from windtunnel.models.torch_layers import last_layer
from windtunnel.store.recipe_folder import RecipeFolder
from windtunnel.store.training_folder import TRAINING
from windtunnel.train.augmentation import Augmentation
from windtunnel.train.mixing import Mix
from windtunnel.train.remedies import Remedies
from windtunnel.train.settings import Settings
from windtunnel.train.views import training_side


def training_recipe(
    module: Any,
    data: TrainingData,
    preprocess: Preprocess,
    settings: Settings,
    mix: Mix,
    augmentation: Augmentation,
    remedies: Remedies,
) -> TrainingRecipe:
    """Everything that determines the weights, except initial weights that training changes."""
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    # Layers without weights appear in torch's text of a module; memory addresses are removed.
    printed = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(module))
    geometry = preprocess.geometry
    return TrainingRecipe(
        module=ModuleRecord(
            type(module).__qualname__, shapes, digest(printed), _fixed(module, remedies, len(data.classes))
        ),
        data=data,
        preprocess=preprocess_record(preprocess),
        settings=record_of(settings, SettingsRecord),
        mix=msgspec.structs.replace(record_of(mix, MixRecord), assets=mix.assets(geometry)),
        augmentation=augmentation_record(augmentation, training_side(geometry)),
        remedies=remedies.record(),
    )


def _fixed(module: Any, remedies: Remedies, classes: int) -> str:
    """The digest of given weights that training does not change: a teacher's, or those of frozen layers."""
    loss = remedies.loss_call()
    if loss.plugin.teacher(loss.settings) == "start":
        return state_fingerprint(module)
    return state_fingerprint(module, last_layer(module, classes)) if remedies.layers == "last" else ""


def training_data(
    dataset: Dataset, images: Sequence[Surveyed], shares: tuple[float, ...] = ()
) -> TrainingData:
    """The record of images and classes, and of the shares of several sets."""
    return TrainingData(
        digest=digest([[image.sample.id, image.sample.labels, image.content] for image in images]),
        count=len(images),
        classes=dataset.label_space.classes,
        shares=shares,
    )


def preprocess_record(preprocess: Preprocess) -> PreprocessRecord:
    """The record of a preprocessing."""
    geometry = preprocess.geometry
    return PreprocessRecord(geometry.record(), preprocess.tensor.record(), geometry.assets())


def augmentation_record(augmentation: Augmentation, side_px: int) -> AugmentationRecord | None:
    """The record of an augmentation, None for none; the digests identify the corruptions' definitions."""
    if augmentation == Augmentation():
        return None
    conditions = augmentation.conditions(side_px)
    return msgspec.structs.replace(
        record_of(augmentation, AugmentationRecord),
        conditions={condition.name: condition.id for condition in conditions},
    )


def check_same_training(path: Path, recipe: TrainingRecipe) -> None:
    """Write the training's recipe into its folder; refuses a folder of another training."""
    folder = RecipeFolder(path, TRAINING)
    folder.refuse_other_recipe(recipe)
    if not folder.recipe_path.exists():
        folder.write_recipe_file({"recipe": recipe.to_json()})
