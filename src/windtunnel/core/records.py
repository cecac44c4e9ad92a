"""Records: the typed content of the files of a run and of a made set, read strictly.

`Recipe` contains everything that determines predictions; its digest names a run's shards. `RunInfo` in
`run_info.py` contains other facts. Fields are written in the order of declaration; a field with its default
value is omitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.labels import Projection
from windtunnel.core.placement import CPU, DEFAULT_PRECISION

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="Record")
# A number as it was written: reading 255 as 255.0 would change a recipe's digest.
Number = int | float
# The task of recipes that name none, and of models and metrics that declare none.
DEFAULT_TASK = "classification"


class RecordError(ValueError):
    """A stored record does not have the fields that this version of windtunnel writes."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a stored file."""

    def to_json(self) -> dict[str, Any]:
        """The record as a file stores it."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content


def read_record(content: object, type_: type[R]) -> R:
    """The record in a file; refuses a missing, wrong or unknown field and names it."""
    try:
        return msgspec.convert(content, type_)
    except msgspec.ValidationError as error:
        raise RecordError(str(error)) from error


def record_of(value: DataclassInstance, type_: type[R]) -> R:
    """The record of a dataclass with the same fields, as a file returns it: tuples and Python numbers.

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


class WrapperRecord(Record, frozen=True):
    """A wrapper around a model.

    Attributes:
        name: its name.
        settings: all its settings.
        assets: the digest of a third-party wrapper's file.
        revision: the version of its code.
    """

    name: str
    settings: dict[str, Number | str]
    assets: dict[str, str] = msgspec.field(default_factory=dict)
    revision: int = 1


def wrapped_fingerprint(fingerprint: str, wrapper: WrapperRecord) -> str:
    """The fingerprint of a model in a wrapper: `ModelRecipe.weights` removes what is added here."""
    return f"{fingerprint}-{digest(wrapper.to_json())[:16]}"


class ModelRecipe(Record, frozen=True):
    """The facts of a model that determine its predictions.

    Attributes:
        kind: the model kind's name, or `predictions`.
        fingerprint: hash of weights, graph or source.
        classes: number of outputs.
        outputs: `logits`, `probabilities` or `top-k`.
        top_k: the number of best classes, if only these are known; else None.
        assets: digests of the files of third-party decoders and resizers.
        wrappers: the wrappers around the model, the outermost first.
        batch_dependent: whether its scores of an image depend on the other images of a batch or on earlier
            calls.
    """

    kind: str
    fingerprint: str
    classes: int
    outputs: str
    geometry: GeometryRecord
    tensor: TensorRecord
    top_k: int | None = None
    assets: dict[str, str] = msgspec.field(default_factory=dict)
    wrappers: tuple[WrapperRecord, ...] = ()
    batch_dependent: bool = False

    @property
    def weights(self) -> str:
        """The fingerprint of the model without its wrappers."""
        return self.fingerprint.rsplit("-", len(self.wrappers))[0]


class PartRecord(Record, frozen=True):
    """One part of a natural set: its role, its number of images in the run, and that before subsetting."""

    name: str
    role: str
    count: int
    of: int


class FrameChoices(Record, frozen=True):
    """How pm-k of annotated frames is measured, where the paper leaves it open.

    Attributes:
        k: the largest distance of a neighbour from its anchor, in frames.
        anchors: `apart` for sets that share no frame, `every:N`, or `listed` for those of a file.
        iou: the overlap at which a detection matches an object.
        absent: whether detections of categories that a frame does not have count in its AP: `ignored` or
            `counted`.
        ties: which of equally bad frames is the worst: `nearest` to the anchor, then the earlier one, or
            `earliest`.
        anchor: whether an anchor may be its own worst frame: `included` or `excluded`.
    """

    k: int = 10
    anchors: str = "apart"
    iou: float = 0.5
    absent: str = "ignored"
    ties: str = "nearest"
    anchor: str = "included"


class NaturalRecipe(Record, frozen=True):
    """The parts of a natural set, and its frame sets."""

    set: str
    parts: tuple[PartRecord, ...]
    frames: int = 0
    frame_sets: int = 0
    frame_digest: str = ""
    choices: FrameChoices | None = None


class FilterModelInfo(Record, frozen=True):
    """A model that filtered the images of a natural set.

    Attributes:
        name: its name.
        fingerprint: the hash that identifies it.
        base: the fingerprint without its wrappers; "" for a model without wrappers.
    """

    name: str
    fingerprint: str = ""
    base: str = ""

    @property
    def weights(self) -> str:
        """The fingerprint of the model without its wrappers."""
        return self.base or self.fingerprint


class OwnSet(Record, frozen=True):
    """A user's own natural set, as `windtunnel.toml` in its folder declares it.

    Attributes:
        name: its name, and the name of its part in scores.
        extends: the set whose layout, role and suite it has: `natural`, `ood` or `pm-k`.
        title: its name for readers.
        source: where the images come from.
        filter_models: the models that filtered the images.
        not_trained_on: datasets that invalidate the score of a model trained on them.
        notes: notes for the reader.
        classes: its classes in the order of their indices; () for those of its folders.
        masked: whether only the outputs of `classes` compete, or those of its folders if there are none.
    """

    name: str
    extends: str
    title: str
    source: str = ""
    filter_models: tuple[FilterModelInfo, ...] = ()
    not_trained_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    masked: bool = False


class PrecomputedIdentity(Record, frozen=True):
    """The identity of a set of precomputed images: the recipe of a made set, or a digest of its files."""

    recipe: str = ""
    seed: int | None = None
    digest: str = ""


class DataRecipe(Record, frozen=True):
    """The facts of the data that determine predictions.

    Attributes:
        count, of: number of images in the run, and in the dataset or its selected classes.
        finished: identity of a precomputed set; None for other datasets.
        classes: the rule that selects classes: `every:10`, or `listed:` and a digest; "" for all.
        annotations: a digest of the annotated objects; "" for data without any.
    """

    count: int
    of: int
    subset_seed: int
    label_space: str
    digest: str
    finished: PrecomputedIdentity | None
    natural: NaturalRecipe | None = None
    classes: str = ""
    annotations: str = ""


class SuiteRecipe(Record, frozen=True):
    """The facts of a suite that determine predictions."""

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
    """The edition of a run and how its images became canvases."""

    edition: int
    geometry: GeometryRecord
    note: str


class ProjectionRecipe(Record, frozen=True):
    """The outputs of a model that compete, and the output of each class of the data.

    Attributes:
        kind: `identity`, `mask` or `collapse`.
        kept: the competing classes; () for all.
        labels: by class of the data, its output.
        outputs: by class of the data, all its outputs; () if every output is a class.
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
    """Everything that determines a run's predictions.

    Attributes:
        seed: seed of every random draw.
        stream: version of the random stream.
        keep: the conditions for which all outputs are stored.
        batch, chunk: images in a batch and in a shard.
        task: what the model predicts.
        device: the kind of device it computed on, or execution providers; `cpu` also for models whose own
            code chooses the device.
        precision: `float32` for the model's own types, `float16` or `bfloat16` under autocast.
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
    device: str = CPU
    precision: str = DEFAULT_PRECISION

    @property
    def counted_classes(self) -> int:
        """The number of classes that take part in a prediction."""
        return len(self.projection.kept) or self.model.classes

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The recipe as run.json stores it."""
        return super().to_json() | {"conditions": [condition.to_json() for condition in self.conditions]}


def read_recipe(content: Mapping[str, Any]) -> Recipe:
    """The recipe in run.json."""
    try:
        return read_record({**content, "conditions": stored_fields(content["conditions"])}, Recipe)
    except (KeyError, TypeError) as error:
        raise RecordError(f"no conditions can be read ({type(error).__name__}: {error})") from error


def read_conditions(rows: list[dict[str, Any]]) -> tuple[Condition, ...]:
    """The conditions in a file."""
    try:
        return msgspec.convert(stored_fields(rows), tuple[Condition, ...])
    except msgspec.ValidationError as error:
        raise RecordError(str(error)) from error


def stored_fields(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fields of stored conditions without the derived ones."""
    names = set(Condition.__dataclass_fields__) | set(DERIVED)
    for row in rows:
        if unknown := sorted(set(row) - names):
            raise RecordError(f"a condition has the unknown field `{unknown[0]}`")
    return [{key: value for key, value in row.items() if key not in DERIVED} for row in rows]


# Derived fields of a stored condition, written for other programs than windtunnel.
DERIVED = ("name", "id")
