"""Facts about a run that do not determine predictions: `RunInfo` and its parts."""

from __future__ import annotations

import msgspec

from windtunnel.core.option_names import spelled
from windtunnel.core.records import OwnSet, Record


class ModelInfo(Record, frozen=True):
    """Further facts about a model.

    Attributes:
        preprocess_from: where its preprocessing was declared.
        preprocess_assumed: whether nothing was declared, and the default was used.
        outputs_from: `declared`, also if a trial run contradicts it, `probed`, or `averaged over N views`.
        own_arithmetic: whether it converts pixels itself, so that the recipe's `tensor` was not applied.
        trained_with: its training remedies, as declared.
        passes: forward passes for each image.
    """

    name: str
    preprocess_from: str
    preprocess_assumed: bool
    outputs_from: str
    trained_on: tuple[str, ...]
    family: str
    parameters: int
    tags: tuple[str, ...]
    own_arithmetic: bool = False
    trained_with: tuple[str, ...] = ()
    passes: int = 1


class DataInfo(Record, frozen=True):
    """Further facts about the data.

    Attributes:
        order: where the order of the classes comes from.
        classes: the classes that are scored.
        clean: location of the clean images of a precomputed or natural set, if they were given.
        layout: the third-party dataset layout that opened the data; "" for a shipped one.
        own_set: the declaration of a user's own natural set, without its classes.
    """

    name: str
    location: str
    order: str
    classes: tuple[str, ...]
    clean: str = ""
    layout: str = ""
    own_set: OwnSet | None = None


class ScoringInfo(Record, frozen=True):
    """How predictions are scored; changing it needs no new predictions.

    Attributes:
        group: the column by which intervals are clustered; "" for none.
        group_found: whether windtunnel found these groups in the data.
        families: by corruption, the family that the suite or a third-party corruption declares.
    """

    metrics: tuple[str, ...]
    weights: dict[str, float]
    group: str = ""
    group_found: bool = False
    families: dict[str, str] = msgspec.field(default_factory=dict)


class RunInfo(Record, frozen=True):
    """Facts about a run that are not in its recipe.

    Attributes:
        suite: `name@version`.
        settings: `unit.name=value` texts given to units.
        missing: conditions of the suite that a precomputed set does not contain.
        notes: notes for the reader, stored as `remarks`; options in them are tokens of `option_names.py`.
        versions: versions of windtunnel and of the libraries that determine pixels and predictions.
        ignored_rows: number of rows of a predictions file outside the run's images, by reason.
        hardware: the name of the accelerator, if it is known.
        options: options of the run that `doctor` takes too, where they were given.
        subset: the requested number of images; 0 for all. Sets with several parts may have a few more.
    """

    model: ModelInfo
    data: DataInfo
    suite: str
    scoring: ScoringInfo
    settings: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...] = msgspec.field(name="remarks")
    versions: dict[str, str]
    ignored_rows: dict[str, int] = msgspec.field(default_factory=dict)
    hardware: str = ""
    options: dict[str, bool | str | tuple[str, ...]] = msgspec.field(default_factory=dict)
    subset: int = 0

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, with options as the current interface spells them."""
        return tuple(map(spelled, self.notes))
