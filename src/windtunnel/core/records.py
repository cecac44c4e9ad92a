"""Records: what is written to disk of a run and of a made set, typed and read strictly.

`Recipe` holds what decides predictions; its digest names a run's shards. `RunInfo` holds what else is worth
knowing. Fields are written in the order they are declared; a field with a default is omitted where it has
that value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.labels import Projection

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="Record")
# A number as it was written: reading 255 as 255.0 would change a recipe's digest.
Number = int | float
# The task of recipes that name none, and of models and metrics that declare none.
DEFAULT_TASK = "classification"


class RecordError(ValueError):
    """A stored record is not what this version of windtunnel writes."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a stored file."""

    def to_json(self) -> dict[str, Any]:
        """The record as a file keeps it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def read_record(content: object, type_: type[R]) -> R:
    """The record that a file keeps; a missing, wrong or unknown field is named and refused."""
    try:
        return msgspec.convert(content, type_)
    except msgspec.ValidationError as error:
        raise RecordError(str(error)) from error


def record_of(value: DataclassInstance, type_: type[R]) -> R:
    """The record of a dataclass with the same fields, as a file returns it: tuples and Python's own numbers.

    Callers may give lists or NumPy's floats.
    """
    return read_record(json.loads(json.dumps(asdict(value))), type_)


class GeometryRecord(Record, frozen=True):
    """How a file became the pixels that a condition acts on."""

    decoder: str
    exif: str
    rule: str
    resizer: str
    resize_px: int
    crop_px: int
    crop_frac: Number
    long_side: str
    crop_offset: str
    colour: str


class TensorRecord(Record, frozen=True):
    """How pixels became the model's input."""

    channels: str
    divisor: Number
    mean: tuple[Number, ...]
    std: tuple[Number, ...]
    layout: str
    dtype: str


class ModelRecipe(Record, frozen=True):
    """What of a model decides its predictions.

    Attributes:
        kind: the model kind's name, or `predictions`.
        fingerprint: hash of weights, graph or source.
        classes: number of outputs.
        outputs: `logits`, `probabilities` or `top-k`.
        top_k: how many of the best classes are known, where these are all that is known.
        assets: digests of the files of decoders and resizers that do not come with windtunnel.
    """

    kind: str
    fingerprint: str
    classes: int
    outputs: str
    geometry: GeometryRecord
    tensor: TensorRecord
    top_k: int | None = None
    assets: dict[str, str] = msgspec.field(default_factory=dict)


class PartRecord(Record, frozen=True):
    """One part of a natural set: its role, how many images the run has of it, and of how many."""

    name: str
    role: str
    count: int
    of: int


class NaturalRecipe(Record, frozen=True):
    """The parts of a natural set, and its frame sets."""

    set: str
    parts: tuple[PartRecord, ...]
    frames: int = 0
    frame_sets: int = 0
    frame_digest: str = ""


class PrecomputedIdentity(Record, frozen=True):
    """What tells two sets of precomputed images apart: the recipe of a made set, or a digest of its files."""

    recipe: str = ""
    seed: int | None = None
    digest: str = ""


class DataRecipe(Record, frozen=True):
    """What of the data decides predictions."""

    count: int
    of: int
    subset_seed: int
    label_space: str
    digest: str
    finished: PrecomputedIdentity | None
    natural: NaturalRecipe | None = None


class SuiteRecipe(Record, frozen=True):
    """What of a suite decides predictions."""

    name: str
    version: int
    canvas: str
    edition: int | str
    codec: str
    units: tuple[str, ...]
    levels: tuple[int, ...]
    subset: int
    mask: bool
    stored: bool
    unit_levels: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    natural: str = ""


class CanvasRecipe(Record, frozen=True):
    """Which edition a run uses and how its images became canvases."""

    edition: int
    geometry: GeometryRecord
    note: str


class ProjectionRecipe(Record, frozen=True):
    """Which of a model's outputs count, and the output of each class of the data.

    Attributes:
        kind: `identity`, `mask` or `collapse`.
        kept: the classes that count; () for all.
        labels: by class of the data, the output that stands for it.
        outputs: by class of the data, all outputs that stand for it; () where classes are outputs.
    """

    kind: str
    kept: tuple[int, ...]
    labels: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...] = ()

    @property
    def projection(self) -> Projection:
        """The projection that is applied to outputs."""
        return Projection(self.kept, self.outputs)


class Recipe(Record, frozen=True):
    """Everything that decides a run's predictions.

    Attributes:
        seed: of every random draw.
        stream: version of the random stream.
        keep: the conditions whose outputs are stored whole.
        batch, chunk: images in a batch and in a shard.
        task: what the model predicts.
    """

    model: ModelRecipe
    data: DataRecipe
    suite: SuiteRecipe
    canvas: CanvasRecipe
    conditions: tuple[Condition, ...]
    projection: ProjectionRecipe
    seed: int
    stream: int
    keep: tuple[str, ...]
    batch: int
    chunk: int
    task: str = DEFAULT_TASK

    @property
    def counted_classes(self) -> int:
        """How many classes take part in a prediction."""
        return len(self.projection.kept) or self.model.classes

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The recipe as run.json keeps it."""
        return super().to_json() | {"conditions": [condition.to_json() for condition in self.conditions]}


class ModelInfo(Record, frozen=True):
    """What else is worth knowing of a model."""

    name: str
    preprocess_from: str
    preprocess_assumed: bool
    outputs_from: str
    trained_on: tuple[str, ...]
    family: str
    parameters: int
    tags: tuple[str, ...]


class DataInfo(Record, frozen=True):
    """What else is worth knowing of the data.

    Attributes:
        order: where the order of the classes comes from.
        classes: the classes that are scored.
        clean: where the clean images of a precomputed or natural set are, if they were given.
    """

    name: str
    location: str
    order: str
    classes: tuple[str, ...]
    clean: str = ""


class ScoringInfo(Record, frozen=True):
    """How predictions are scored; it may change without predicting again.

    Attributes:
        group: the column by which intervals are clustered; "" for none.
        group_found: whether windtunnel found these groups in the data.
    """

    metrics: tuple[str, ...]
    weights: dict[str, float]
    group: str = ""
    group_found: bool = False


class RunInfo(Record, frozen=True):
    """What is worth knowing of a run besides its recipe.

    Attributes:
        suite: `name@version`.
        settings: `unit.name=value` texts given to units.
        missing: conditions of the suite that a precomputed set does not hold.
        versions: of windtunnel and of the libraries that decide pixels and predictions.
        ignored_rows: rows of a predictions file that are not of the run's images, by reason.
    """

    model: ModelInfo
    data: DataInfo
    suite: str
    scoring: ScoringInfo
    settings: tuple[str, ...]
    missing: tuple[str, ...]
    remarks: tuple[str, ...]
    versions: dict[str, str]
    ignored_rows: dict[str, int] = msgspec.field(default_factory=dict)


class SetData(Record, frozen=True):
    """The source images of a made set."""

    count: int
    of: int
    label_space: str
    digest: str


class SetRecipe(Record, frozen=True):
    """What two makes must share to share a folder."""

    suite: str
    layout: str
    data: SetData
    canvas: CanvasRecipe
    codec: str
    seed: int
    stream: int
    chunk: int
    class_folders: str = ""
    split: str = ""

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())


class SetClasses(Record, frozen=True):
    """The classes of a made set's source."""

    name: str
    order: str
    names: tuple[str, ...]


class FixedFile(Record, frozen=True):
    """A file of a made set that belongs to no image: its first bytes are checked by a digest."""

    bytes: int
    digest: str
    size: int


class SetInfo(Record, frozen=True):
    """What else is worth knowing of a made set.

    Attributes:
        left_out: images that could not be read, and why.
        fixed: files that belong to no image.
        samples: digest of the list of images.
    """

    source: str
    classes: SetClasses
    left_out: dict[str, str]
    remarks: tuple[str, ...]
    settings: tuple[str, ...]
    versions: dict[str, str]
    fixed: dict[str, FixedFile] = msgspec.field(default_factory=dict)
    samples: str = ""


def differing_settings(recipe: Recipe, other: Recipe) -> list[tuple[str, str, str]]:
    """The settings of all conditions in which two recipes differ: name, value in one, value in the other."""
    ours, theirs = _settings(recipe), _settings(other)
    return [(name, ours[name], theirs[name]) for name in ours if ours[name] != theirs.get(name, ours[name])]


def _settings(recipe: Recipe) -> dict[str, str]:
    """What holds for all conditions of a recipe; the difficulty only of sequences."""
    corrupted = [condition for condition in recipe.conditions if condition.unit]
    found = {"edition": str(recipe.canvas.edition)}
    if corrupted:
        found["codec"] = ", ".join(sorted({condition.codec for condition in corrupted}))
    if any(condition.is_sequence for condition in corrupted):
        found["difficulty"] = str(recipe.suite.levels[0])
    return found


def read_recipe(content: Mapping[str, Any]) -> Recipe:
    """The recipe that run.json keeps."""
    try:
        return read_record({**content, "conditions": stored_fields(content["conditions"])}, Recipe)
    except (KeyError, TypeError) as error:
        raise RecordError(f"no conditions can be read ({type(error).__name__}: {error})") from error


def read_conditions(rows: list[dict[str, Any]]) -> tuple[Condition, ...]:
    """The conditions that a file keeps."""
    try:
        return msgspec.convert(stored_fields(rows), tuple[Condition, ...])
    except msgspec.ValidationError as error:
        raise RecordError(str(error)) from error


def stored_fields(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fields of stored conditions without what follows from them."""
    names = set(Condition.__dataclass_fields__) | set(DERIVED)
    for row in rows:
        if unknown := sorted(set(row) - names):
            raise RecordError(f"a condition has the unknown field `{unknown[0]}`")
    return [{key: value for key, value in row.items() if key not in DERIVED} for row in rows]


# What a stored condition says of itself for readers other than windtunnel.
DERIVED = ("name", "id")
