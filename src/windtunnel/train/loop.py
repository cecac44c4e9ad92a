"""The training loop: any torch module, our datasets, checkpoints; the same seed gives the same weights.

All random draws depend on seed, epoch and image, so that the same command with the same folder continues an
interrupted training with the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from windtunnel.core.errors import UserError
from windtunnel.core.locations import local_path
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.executors import checked_executor
from windtunnel.imaging.crops import refuse_scaling
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, wanted
from windtunnel.store.recipe_folder import RecipeFolder
from windtunnel.store.training_folder import TRAINING, write_history
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.pipeline_steps import NOT_DECODED, nothing_is_decoded
from windtunnel.train.augmentation import Augmentation
from windtunnel.train.checkpoints import (
    load_weights,
    resume,
    save_checkpoint,
)
from windtunnel.train.export import check_exporter, check_exports, export_onnx
from windtunnel.train.mixing import Mix
from windtunnel.train.module_checks import blank_inputs, check_fits, check_types, torch_device
from windtunnel.train.remedies import Remedies
from windtunnel.train.remote import train_on_worker
from windtunnel.train.settings import Settings
from windtunnel.train.trained_layers import check_layers, trained_parameters
from windtunnel.train.trainer import Trainer
from windtunnel.train.training_recipe import check_same_training, training_data, training_recipe
from windtunnel.train.training_sets import (
    TrainingSource,
    epoch_samples,
    open_training_data,
    refuse_shared_images,
    set_sizes,
    sources_and_shares,
)
from windtunnel.train.views import Batch, batches, labelled, readable, training_side

MODEL = "model.onnx"


@dataclass(frozen=True)
class Trained:
    """A trained module.

    Attributes:
        folder: the folder of its files.
        model: the ONNX file.
        losses: mean loss of every epoch.
        left_out: images that cannot be read, and why.
    """

    folder: Path
    model: Path
    losses: tuple[float, ...]
    left_out: tuple[str, ...] = ()


def fit(
    module: Any,
    data: TrainingSource,
    out: str | Path,
    *,
    preprocess: str | Path | Preprocess,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    mix: Mix = Mix(),  # noqa: B008 (frozen)
    augmentation: Augmentation = Augmentation(),  # noqa: B008 (frozen)
    remedies: Remedies = Remedies(),  # noqa: B008 (frozen)
    device: str = "auto",
    advance: Callable[[int, float], None] = lambda _done, _loss: None,
    executor: str | None = None,
    address: str | None = None,
) -> Trained:
    """Train a module; writes a checkpoint after every epoch, and an ONNX file with its TOML at the end.

    Args:
        module: a torch module from the preprocess's tensor to one score per class of the data.
        data: labelled images, or pairs of images and their share of an epoch, such as
            `[("train", 0.8), ("stylized", 0.2)]`.
        out: the folder of the training; a folder of the same training is continued.
        preprocess: the module's preprocessing, in training and afterwards: a preset's name, a TOML file or a
            `Preprocess`.
        settings: epochs, learning rate and so on.
        mix: decoders and resizers to draw from; by default those of the preprocessing.
        augmentation: corrupted copies to train on; by default each epoch has every image once, clean.
        remedies: methods for more robust models; by default none.
        device: `cpu`, `cuda`, or `auto` for the GPU if there is one.
        advance: called after each epoch with its number and its mean loss.
        executor: where to train, as `windtunnel list executors` names it; by default in this process. A
            worker uses one thread, and writes to `out` itself: on a cluster, `out` must be on a file system
            that all nodes share.
        address: the cluster, for an executor that takes one.

    Raises:
        UserError: the folder contains other files or another training, the module cannot be exported to ONNX,
            the package onnx is missing, or module, preprocessing, data and device do not fit.
    """
    check_exporter()
    preprocess = wanted(preprocess)
    check_types(
        module,
        settings=(settings, Settings),
        mix=(mix, Mix),
        augmentation=(augmentation, Augmentation),
        remedies=(remedies, Remedies),
    )
    remedies.check_tensor(preprocess.tensor)
    _, shares = sources_and_shares(data)
    folder = local_path(out, "folder of a training")
    RecipeFolder(folder, TRAINING).check_free()
    chosen = checked_executor(executor, address)
    if chosen and chosen.separate:
        arguments = {
            "module": module, "data": data, "out": out, "preprocess": preprocess, "settings": settings,
            "mix": mix, "augmentation": augmentation, "remedies": remedies, "device": device,
        }  # fmt: skip
        trained = train_on_worker(fit, arguments, folder, advance, chosen, address)
        load_weights(folder, module)
        return trained
    geometry = preprocess.geometry
    ways = mix.ways(geometry)
    refuse_scaling(way.decoder for way in ways)
    corruptions = augmentation.conditions(training_side(geometry))
    remedies.check_images(training_side(geometry))
    check_deterministic(corruptions, mix.variants(geometry) or [geometry])
    dataset = open_training_data(data)
    images, left_out = _training_images(dataset, mix, ways)
    samples = [image.sample for image in images]
    count = sum(set_sizes(samples, shares)) if shares else len(samples)
    if shares:
        refuse_shared_images(dataset, images)
    place, classes = torch_device(device), len(dataset.label_space)
    module = module.to(place)
    check_fits(module, preprocess, classes, place)
    blank = blank_inputs(preprocess, place)
    check_layers(module, remedies.layers, classes, blank)
    remedies.check_module(module, blank)
    check_exports(module, preprocess)
    folder.mkdir(parents=True, exist_ok=True)
    recipe = training_recipe(
        module, training_data(dataset, images, shares), preprocess, settings, mix, augmentation, remedies
    )
    check_same_training(folder, recipe)
    with trained_parameters(module, remedies.layers, classes) as parameters:
        optimiser = torch.optim.SGD(
            parameters,
            lr=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        )
        trainer = Trainer.of(module, optimiser, place, preprocess, settings, remedies, classes)
        history = resume(folder, trainer.modules(), optimiser, place)
        write_history(folder, history)
        steps = max(1, count * augmentation.copies // settings.batch)

        def views(epoch: int, versions: int) -> Iterator[Batch]:
            return batches(
                dataset,
                epoch_samples(samples, shares, settings.seed, epoch),
                geometry,
                seed=settings.seed,
                epoch=epoch,
                size=settings.batch,
                mix=mix,
                area=settings.area,
                mirror=settings.mirror,
                augmentation=augmentation,
                image_steps=remedies.image_calls(),
                versions=versions,
            )

        # Epochs seed torch's generator; the caller's state is restored at the end.
        with torch.random.fork_rng():
            versions = trainer.loss.plugin.views
            for epoch in range(len(history), settings.epochs):
                made = views(epoch, versions)
                history.append(trainer.epoch(made, epoch, steps))
                save_checkpoint(folder, trainer.modules(), optimiser, history)
                advance(epoch + 1, history[-1].loss)
            if trainer.average is not None:
                trainer.recompute_statistics(views(settings.epochs, versions))
                save_checkpoint(folder, trainer.modules(), optimiser, history)
                module.load_state_dict(trainer.average.module.state_dict())
    declared = {
        "trained_on": (*augmentation.corruptions, *remedies.trained_on()),
        "trained_with": remedies.trained_with(),
        "wrappers": remedies.wrappers(),
    }
    model = export_onnx(module, preprocess, dataset.label_space.classes, folder / MODEL, declared)
    return Trained(folder, model, tuple(row.loss for row in history), left_out)


def _training_images(
    dataset: Dataset, mix: Mix, ways: Sequence[Geometry]
) -> tuple[list[Surveyed], tuple[str, ...]]:
    """The images that every decoder can read, and the others with the reason; refuses too few images."""
    surveyed = readable(dataset, labelled(dataset), ways)
    images = [image for image in surveyed if image.status == "ok"]
    left_out = tuple(f"{image.sample.id}: {image.reason}" for image in surveyed if image.status != "ok")
    if len(images) < 2:
        raise UserError(
            f"{len(images)} images of {dataset.location} can be read ({left_out[0]}); training needs two."
        )
    if mix.decoders and nothing_is_decoded(Counter(image.format for image in images)):
        raise UserError(f"Mix draws decoders, but {NOT_DECODED}; leave decoders out, or give encoded files.")
    return images, left_out
