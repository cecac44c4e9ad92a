"""The training loop: any torch module, our datasets, checkpoints; the same seed gives the same weights.

All random draws depend on seed, epoch and image, so that the same command with the same folder continues an
interrupted training with the same result.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError, first_line
from windtunnel.core.locations import Location, local_path
from windtunnel.core.records import RecordError, read_record, record_of
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset, open_dataset
from windtunnel.engine.executors import checked_executor
from windtunnel.imaging.crops import AREA, Area, refuse_scaling
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, wanted
from windtunnel.store.atomic_files import UNFINISHED, write_whole
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.pipeline_steps import NOT_DECODED, nothing_is_decoded
from windtunnel.train.export import check_exports, export_onnx
from windtunnel.train.mixing import Mix
from windtunnel.train.records import (
    MixRecord,
    ModuleRecord,
    PreprocessRecord,
    SettingsRecord,
    TrainingData,
    TrainingRecipe,
)
from windtunnel.train.remote import train_on_worker
from windtunnel.train.views import batches, labelled, readable

CHECKPOINT = "checkpoint.pt"
PARTS = {
    "module": "module",
    "data": "data",
    "preprocess": "preprocess",
    "settings": "settings",
    "mix": "mix",
}
TRAINING = FolderKind("training", "training.json", 2, PARTS)
HISTORY = "history.csv"
MODEL = "model.onnx"
MOST_SHOWN = 60

# The numeric settings, with the smallest allowed value of each.
LEAST: tuple[tuple[str, int, Any], ...] = (
    ("epochs", 1, int),
    ("batch", 1, int),
    ("learning_rate", 0, int | float),
    ("momentum", 0, int | float),
    ("weight_decay", 0, int | float),
    ("seed", 0, int),
)


@dataclass(frozen=True)
class Settings:
    """How a module is trained: SGD with momentum and a cosine schedule of the learning rate to 0.

    Attributes:
        epochs: passes over the images; each leaves out a last batch that is too small.
        batch: images per step.
        learning_rate: the learning rate at the start.
        momentum, weight_decay: settings of the optimiser.
        area: the smallest and largest share of an image's area for random crops.
        mirror: whether half of the images are mirrored; not for text and digits.
        seed: seed of crops, order and mixing; the caller initialises the module's weights.
    """

    epochs: int = 10
    batch: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    area: Area = AREA
    mirror: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least, type_ in LEAST:
            value = getattr(self, name)
            if not isinstance(value, type_) or isinstance(value, bool) or not least <= value < math.inf:
                what = "a whole number" if type_ is int else "a number"
                raise UserError(f"{name} is {value!r}; give {what} of at least {least}.")
        if not self.learning_rate:
            raise UserError("learning_rate is 0, which learns nothing; give a number above 0, such as 0.1.")
        if not isinstance(self.area, list | tuple) or len(self.area) != 2:
            raise UserError(f"area is {self.area!r}; give two shares, such as {AREA}.")
        if not 0 < self.area[0] <= self.area[1] <= 1:
            raise UserError(f"area is {self.area}; give two shares between 0 and 1, the smaller first.")


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
    data: str | Location | Dataset,
    out: str | Path,
    *,
    preprocess: str | Path | Preprocess,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    mix: Mix = Mix(),  # noqa: B008 (frozen)
    device: str = "auto",
    advance: Callable[[int, float], None] = lambda _done, _loss: None,
    executor: str | None = None,
    address: str | None = None,
) -> Trained:
    """Train a module; writes a checkpoint after every epoch, and an ONNX file with its TOML at the end.

    Args:
        module: a torch module from the preprocess's tensor to one score per class of the data.
        data: labelled images.
        out: the folder of the training; a folder of the same training is continued.
        preprocess: the module's preprocessing, in training and afterwards: a preset's name, a TOML file or a
            `Preprocess`.
        settings: epochs, learning rate and so on.
        mix: decoders and resizers to draw from; by default those of the preprocessing.
        device: `cpu`, `cuda`, or `auto` for the GPU if there is one.
        advance: called after each epoch with its number and its mean loss.
        executor: where to train, as `windtunnel list executors` names it; by default in this process. A
            worker uses one thread, and writes to `out` itself: on a cluster, `out` must be on a file system
            that all nodes share.
        address: the cluster, for an executor that takes one.

    Raises:
        UserError: the folder contains other files or another training, the module cannot be exported to ONNX,
            or module, preprocessing, data and device do not fit.
    """
    preprocess = wanted(preprocess)
    _check_kinds(module, settings, mix)
    folder = local_path(out, "folder of a training")
    RecipeFolder(folder, TRAINING).check_free()
    chosen = checked_executor(executor, address)
    if chosen and chosen.separate:
        arguments = {
            "module": module, "data": data, "out": out, "preprocess": preprocess, "settings": settings,
            "mix": mix, "device": device,
        }  # fmt: skip
        trained = train_on_worker(fit, arguments, folder / HISTORY, advance, chosen, address)
        _load_weights(folder, module)
        return trained
    ways = mix.ways(preprocess.geometry)
    refuse_scaling(way.decoder for way in ways)
    check_deterministic((), mix.variants(preprocess.geometry) or [preprocess.geometry])
    dataset = open_dataset(data)
    images, left_out = _training_images(dataset, mix, ways)
    place = _device(device)
    module = module.to(place)
    _check_fits(module, preprocess, len(dataset.label_space), place)
    check_exports(module, preprocess)
    folder.mkdir(parents=True, exist_ok=True)
    _check_same(folder, _recipe(module, dataset, images, preprocess, settings, mix))
    rate, momentum, decay = settings.learning_rate, settings.momentum, settings.weight_decay
    optimiser = torch.optim.SGD(module.parameters(), lr=rate, momentum=momentum, weight_decay=decay)
    losses = _resume(folder, module, optimiser, place)
    _write_history(folder, losses)
    samples = [image.sample for image in images]
    steps = max(1, len(samples) // settings.batch)
    # Epochs seed torch's generator; the caller's state is restored at the end.
    with torch.random.fork_rng():
        for epoch in range(len(losses), settings.epochs):
            losses.append(
                _epoch(module, optimiser, place, dataset, samples, preprocess, settings, mix, epoch, steps)
            )
            _checkpoint(folder, module, optimiser, losses)
            advance(epoch + 1, losses[-1])
    model = export_onnx(module, preprocess, dataset.label_space.classes, folder / MODEL)
    return Trained(folder, model, tuple(losses), left_out)


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


def _check_kinds(module: object, settings: object, mix: object) -> None:
    """Refuse arguments of a wrong type."""
    if not isinstance(module, torch.nn.Module):
        given = f"the class {module.__name__}" if isinstance(module, type) else repr(module)[:MOST_SHOWN]
        raise UserError(f"module is {given}; give a torch module, such as torch.nn.Sequential(...).")
    for name, value, type_ in (("settings", settings, Settings), ("mix", mix, Mix)):
        if not isinstance(value, type_):
            raise UserError(
                f"{name} is {repr(value)[:MOST_SHOWN]}; give windtunnel.train.{type_.__name__}(...), or "
                "leave it out."
            )


def _device(name: str) -> torch.device:
    """The device; refuses one that is not available."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch's errors for devices
        raise UserError(f"device is '{name}', which torch does not have here; give cpu or auto.") from error
    return device


def _check_fits(module: Any, preprocess: Preprocess, classes: int, place: torch.device) -> None:
    """Apply a module to two blank images; refuses one that fails or does not return class scores."""
    side_px = preprocess.geometry.output_px
    if side_px is None:
        raise UserError(
            "The preprocessing gives images of any size; training needs one, such as crop_px = 224."
        )
    blank = preprocess.tensor.apply(np.zeros((2, side_px, side_px, 3), np.uint8))
    training = module.training
    try:
        with torch.no_grad():
            scores = module.eval()(torch.from_numpy(blank).to(place))
    except Exception as error:  # of the user's module
        reason = " ".join(str(error).split())
        raise UserError(
            f"The module cannot take what the preprocessing gives, {blank.dtype} of shape {blank.shape}: "
            f"{reason}"
        ) from error
    finally:
        module.train(training)
    shape = tuple(getattr(scores, "shape", ()))
    if shape != (2, classes):
        raise UserError(
            f"The module returns {f'a {type(scores).__name__}' if not shape else f'shape {shape}'} for 2 "
            f"images, but the data has {classes} classes; give a module with an output of (2, {classes})."
        )


def _epoch(
    module: Any,
    optimiser: Any,
    place: torch.device,
    dataset: Dataset,
    samples: list[Any],
    preprocess: Preprocess,
    settings: Settings,
    mix: Mix,
    epoch: int,
    steps: int,
) -> float:
    """One pass over the images; returns the mean loss."""
    module.train()
    torch.manual_seed((settings.seed * 1_000_003 + epoch) % 2**64)  # for dropout and similar layers
    total, seen = 0.0, 0
    views = batches(
        dataset,
        samples,
        preprocess.geometry,
        seed=settings.seed,
        epoch=epoch,
        size=settings.batch,
        mix=mix,
        area=settings.area,
        mirror=settings.mirror,
    )
    for step, (images, labels) in enumerate(views):
        share = (epoch * steps + step) / (settings.epochs * steps)
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * 0.5 * (1 + math.cos(math.pi * share))
        inputs = torch.from_numpy(np.ascontiguousarray(preprocess.tensor.apply(images))).to(place)
        loss = torch.nn.functional.cross_entropy(module(inputs), torch.from_numpy(labels).to(place))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total, seen = total + loss.item() * len(labels), seen + len(labels)
    if not np.isfinite(total):
        raise UserError(f"The loss is no longer finite in epoch {epoch + 1}; lower learning_rate.")
    return total / seen


def _recipe(
    module: Any,
    dataset: Dataset,
    images: Sequence[Surveyed],
    preprocess: Preprocess,
    settings: Settings,
    mix: Mix,
) -> TrainingRecipe:
    """Everything that determines the weights, except the module's initial weights."""
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    # Layers without weights appear in torch's text of a module; memory addresses are removed.
    printed = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(module))
    geometry = preprocess.geometry
    return TrainingRecipe(
        module=ModuleRecord(type(module).__qualname__, shapes, digest(printed)),
        data=TrainingData(
            digest=digest([[image.sample.id, image.sample.labels, image.content] for image in images]),
            count=len(images),
            classes=dataset.label_space.classes,
        ),
        preprocess=PreprocessRecord(geometry.record(), preprocess.tensor.record(), geometry.assets()),
        settings=record_of(settings, SettingsRecord),
        mix=msgspec.structs.replace(record_of(mix, MixRecord), assets=mix.assets(geometry)),
    )


def _check_same(path: Path, recipe: TrainingRecipe) -> None:
    """Write the training's recipe into its folder; refuses a folder of another training."""
    folder = RecipeFolder(path, TRAINING)
    if not folder.recipe_path.exists():
        folder.write_recipe_file({"recipe": recipe.to_json()})
        return
    try:
        stored = read_record(folder.read_recipe_file().get("recipe"), TrainingRecipe)
    except RecordError as error:
        raise folder.damaged(error) from error
    if changed := folder.differing_parts(stored, recipe):
        raise UserError(
            f"{path} contains another training (different {', '.join(changed)}); give another folder."
        )


def _checkpoint(folder: Path, module: Any, optimiser: Any, losses: list[float]) -> None:
    """Write everything that a later process needs to continue, atomically."""
    unfinished = folder / f"{CHECKPOINT}{UNFINISHED}"
    state = {"module": module.state_dict(), "optimiser": optimiser.state_dict(), "losses": losses}
    torch.save(state, unfinished)
    unfinished.replace(folder / CHECKPOINT)
    _write_history(folder, losses)


def _write_history(folder: Path, losses: Sequence[float]) -> None:
    """Write the losses of completed epochs as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("epoch", "loss"), *enumerate(losses, start=1)])
    write_whole(folder / HISTORY, text.getvalue().encode())


def _load_weights(folder: Path, module: Any) -> None:
    """Give a module the weights that a worker stored."""
    state = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    module.load_state_dict(state["module"])


def _resume(folder: Path, module: Any, optimiser: Any, place: torch.device) -> list[float]:
    """Load a checkpoint; returns the losses of completed epochs."""
    path = folder / CHECKPOINT
    if not path.exists():
        return []
    try:
        state = torch.load(path, map_location=place, weights_only=True)
        module.load_state_dict(state["module"])
        optimiser.load_state_dict(state["optimiser"])
        return list(state["losses"])
    except Exception as error:  # torch raises many kinds of errors for damaged files
        raise UserError(
            f"{path} cannot be loaded ({first_line(error)}); delete it to train from the start, or replace "
            "it by an intact copy."
        ) from error
