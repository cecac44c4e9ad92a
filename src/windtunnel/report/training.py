"""The page of one or more trainings: learning curves, recipes and epochs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from windtunnel.core.calls import call_text
from windtunnel.core.csv_cells import csv_cell
from windtunnel.core.locations import Location
from windtunnel.core.training_records import RemedyRecord, TrainingRecipe
from windtunnel.core.wording import counted, duration, listed
from windtunnel.report.figures import COLOURS, DASHES
from windtunnel.report.page import render_page
from windtunnel.report.tables import csv_text
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.training_folder import COLUMNS, EpochRow, StoredTraining

HEIGHT_PX = 340
# Up to so many epochs, each has a tick; the axis would otherwise show halves.
FEW_EPOCHS = 10
EPOCH_HEADER = ("training", "epoch", "loss", "accuracy, %", "learning rate", "time, s")


def training_names(trainings: Sequence[StoredTraining]) -> list[str]:
    """The name of each training's folder, or its path if two have the same name."""
    uses = Counter(training.folder.name for training in trainings)
    return [
        str(training.folder) if uses[training.folder.name] > 1 else training.folder.name
        for training in trainings
    ]


def trainings_document(trainings: Sequence[StoredTraining]) -> dict[str, Any]:
    """Recipes and epochs as one JSON document; what was not measured is null."""
    return {
        "trainings": [
            {
                "name": name,
                "finished": training.is_finished,
                "recipe": training.recipe.to_json(),
                "epochs": [_epoch_document(number, row) for number, row in enumerate(training.history, 1)],
            }
            for name, training in zip(training_names(trainings), trainings, strict=True)
        ]
    }


def trainings_csv(trainings: Sequence[StoredTraining]) -> str:
    """The epochs as CSV: a line for each epoch of each training."""
    rows = [
        SimpleNamespace(training=csv_cell(name), **_epoch_document(number, row))
        for name, training in zip(training_names(trainings), trainings, strict=True)
        for number, row in enumerate(training.history, 1)
    ]
    return csv_text(("training", "epoch", *COLUMNS), rows)


def render_trainings(trainings: Sequence[StoredTraining]) -> str:
    """The HTML page of trainings."""
    names = training_names(trainings)
    measures: dict[str, tuple[str, Callable[[EpochRow], float]]] = {
        "loss": ("mean training loss", lambda row: row.loss),
        "accuracy": ("training accuracy, %", lambda row: 100 * row.accuracy),
        "learning_rate": ("learning rate", lambda row: row.learning_rate),
    }
    figures = {
        name: figure
        for name, (title, value) in measures.items()
        if (figure := learning_curves(names, trainings, title, value))
    }
    return render_page(
        "training.html.j2",
        figures,
        title=f"{listed(names, 3)}: learning curves",
        facts=", ".join(_facts(trainings)),
        notes=_notes(names, trainings),
        recipes=(("setting", *names), _recipe_table(trainings)),
        epochs=(EPOCH_HEADER, _epoch_table(names, trainings)),
    )


def write_trainings_page(trainings: Sequence[StoredTraining], file: Location) -> Location:
    """Write the HTML page of trainings; returns the file."""
    write_whole(file, render_trainings(trainings).encode())
    return file


def _epoch_document(number: int, row: EpochRow) -> dict[str, float | None]:
    values = {name: getattr(row, name) for name in COLUMNS}
    return {
        "epoch": number,
        **{name: value if math.isfinite(value) else None for name, value in values.items()},
    }


def learning_curves(
    names: Sequence[str],
    trainings: Sequence[StoredTraining],
    title: str,
    value: Callable[[EpochRow], float],
) -> dict[str, Any]:
    """A measure by epoch, a line for each training; {} if it was never measured."""
    lines = []
    for place, (name, training) in enumerate(zip(names, trainings, strict=True)):
        points = [(number, value(row)) for number, row in enumerate(training.history, 1)]
        points = [(number, measured) for number, measured in points if math.isfinite(measured)]
        if points:
            epochs, values = zip(*points, strict=True)
            lines.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": list(epochs),
                    "y": list(values),
                    "line": {"color": COLOURS[place % len(COLOURS)],
                             "dash": DASHES[place // len(COLOURS) % len(DASHES)]},
                    "hovertemplate": f"epoch %{{x}}: %{{y:.4~g}}<extra>{name}</extra>",
                }
            )  # fmt: skip
    if not lines:
        return {}
    most = max(len(training.history) for training in trainings)
    return {
        "data": lines,
        "layout": {
            "xaxis": {"title": {"text": "epoch"}, **({"dtick": 1} if most <= FEW_EPOCHS else {})},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero"},
            "height": HEIGHT_PX,
            "showlegend": len(trainings) > 1,
        },
    }


def _facts(trainings: Sequence[StoredTraining]) -> list[str]:
    if len(trainings) > 1:
        return [counted(len(trainings), "training")]
    [training] = trainings
    recipe = training.recipe
    return [
        recipe.module.name,
        counted(recipe.data.count, "image"),
        counted(len(recipe.data.classes), "class", "classes"),
        f"{len(training.history)} of {counted(recipe.settings.epochs, 'epoch')}",
    ]


def _notes(names: Sequence[str], trainings: Sequence[StoredTraining]) -> list[str]:
    notes = [
        f"{name} has {len(training.history)} of {counted(training.recipe.settings.epochs, 'epoch')}; the "
        "same call continues it."
        for name, training in zip(names, trainings, strict=True)
        if not training.is_finished
    ]
    if len({_loss_text(training.recipe) for training in trainings}) > 1:
        notes.append("The trainings minimise different losses, whose values cannot be compared.")
    first, *others = [_image_parts(training.recipe) for training in trainings]
    if differing := [name for name in first if any(other[name] != first[name] for other in others)]:
        notes.append(
            f"The trainings differ in {listed(differing)}: their losses and training accuracies are of "
            "different images and cannot be compared. Compare runs of the models instead."
        )
    return notes


def _image_parts(recipe: TrainingRecipe) -> dict[str, object]:
    """What determines the images and targets that losses and training accuracies are computed from."""
    remedies = recipe.remedies
    return {
        "training images": (recipe.data.digest, recipe.data.classes, recipe.data.shares),
        "preprocessing": recipe.preprocess,
        "crop area": recipe.settings.area,
        "mirroring": recipe.settings.mirror,
        "decoders and resizers": recipe.mix,
        "copies": recipe.augmentation,
        "image steps": remedies.images if remedies else (),
        "batch step": remedies.batch if remedies else None,
    }


def _recipe_table(trainings: Sequence[StoredTraining]) -> list[list[str]]:
    columns = [_settings(training) for training in trainings]
    return [[name, *(column[name] for column in columns)] for name in columns[0]]


def _settings(training: StoredTraining) -> dict[str, str]:
    """The recipe of a training in words, and its duration."""
    recipe = training.recipe
    settings, augmentation, remedies = recipe.settings, recipe.augmentation, recipe.remedies
    drops = (
        f"divided by 10 after epoch {listed(settings.drop_after)}" if settings.drop_after else "cosine to 0"
    )
    drops += ", momentum from 0 after each division" if settings.reset_momentum else ""
    shares = [f"{share:g}" for share in recipe.data.shares]
    per = f", drawn for each {recipe.mix.per}" if recipe.mix.decoders or recipe.mix.resizers else ""
    copies = (
        f"{augmentation.clean_copies} clean, {augmentation.corrupted_copies} corrupted "
        f"({listed(augmentation.corruptions)})"
        if augmentation
        else "1 clean"
    )
    seconds = sum(row.seconds for row in training.history)
    return {
        "module": recipe.module.name,
        "images": f"{recipe.data.count:,}",
        "shares of the sets in an epoch": listed(shares) if shares else "one set",
        "classes": f"{len(recipe.data.classes):,}",
        "epochs": f"{len(training.history)} of {settings.epochs}",
        "images per step": f"{settings.batch:,}",
        "learning rate": f"{settings.learning_rate:g}, {drops}",
        "momentum": f"{settings.momentum:g}",
        "weight decay": f"{settings.weight_decay:g}",
        "seed": str(settings.seed),
        "crop area": f"{settings.area[0]:g} to {settings.area[1]:g} of the image",
        "mirrored": "half of the images" if settings.mirror else "none",
        "decoders and resizers": (listed([*recipe.mix.decoders, *recipe.mix.resizers]) if per else "own")
        + per,
        "copies of each image in an epoch": copies,
        "image steps": listed([_remedy_text(step) for step in remedies.images]) if remedies else "none",
        "batch step": _remedy_text(remedies.batch) if remedies and remedies.batch else "none",
        "loss": _loss_text(recipe),
        "moving average of weights": f"{remedies.ema:g}" if remedies and remedies.ema else "none",
        "trained layers": remedies.layers if remedies else "all",
        "time": duration(seconds) if math.isfinite(seconds) and training.history else "not measured",
    }


def _loss_text(recipe: TrainingRecipe) -> str:
    return _remedy_text(recipe.remedies.loss) if recipe.remedies else "cross_entropy(smoothing=0)"


def _remedy_text(remedy: RemedyRecord) -> str:
    return call_text(remedy.name, remedy.settings)


def _epoch_table(names: Sequence[str], trainings: Sequence[StoredTraining]) -> list[list[str]]:
    return [
        [
            name,
            str(number),
            f"{row.loss:.4f}",
            _cell(100 * row.accuracy, ".1f"),
            _cell(row.learning_rate, ".3g"),
            _cell(row.seconds, ".1f"),
        ]
        for name, training in zip(names, trainings, strict=True)
        for number, row in enumerate(training.history, 1)
    ]


def _cell(value: float, format_: str) -> str:
    """A number as text; "" for one that was not measured."""
    return format(value, format_) if math.isfinite(value) else ""
