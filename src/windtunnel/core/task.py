"""Tasks as plug-ins: what models predict, and how their outputs become the rows of a shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.core.errors import Status
from windtunnel.core.labels import LabelSpace
from windtunnel.core.records import ProjectionRecipe, Recipe
from windtunnel.core.registry import Plugin, Registry
from windtunnel.core.samples import Sample, Surveyed

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelOptions:
    """The user's declarations on labels.

    Attributes:
        labels: the label space of the data's class indices; None if it is not declared.
        map_file: the file that maps outputs of the model to classes of the data; None for no such file.
        trust: whether the data's class indices are the model's outputs.
        has_sequences: whether the suite has sequences, whose flip rates need no labels.
    """

    labels: str | None = None
    map_file: Path | None = None
    trust: bool = False
    has_sequences: bool = False


class LabelMapping(ABC):
    """How a dataset's labels correspond to a model's outputs.

    Attributes:
        data_space: the classes that labels refer to.
        space: the classes that are scored.
        notes: notes for the user.
        unused_notes: notes on scored classes without images.
    """

    data_space: LabelSpace
    space: LabelSpace
    notes: Sequence[str]
    unused_notes: Sequence[str]

    @abstractmethod
    def check_metrics(self, suite: str, metrics: Sequence[str]) -> None:
        """Refuse a suite whose metrics need labels that the data does not have."""

    @abstractmethod
    def projection(self, surveyed: Sequence[Surveyed], *, masked: bool) -> ProjectionRecipe:
        """The projection for a recipe; if `masked`, only outputs of the classes of these images compete."""


class Postprocessor(ABC):
    """How a model's outputs become the task's columns; made from a recipe and sent to workers.

    Attributes:
        width: number of outputs per image.
    """

    width: int

    @abstractmethod
    def finite(self, outputs: Any) -> NDArray[np.bool_]:
        """Which outputs of a batch are finite; others count as wrong predictions."""

    @abstractmethod
    def empty(self, count: int) -> dict[str, NDArray[Any]]:
        """Empty columns for `count` rows."""

    @abstractmethod
    def columns(self, outputs: Any, images: Sequence[Surveyed]) -> dict[str, NDArray[Any]]:
        """The columns of finite outputs, one for each of these images."""

    @abstractmethod
    def arrays(
        self, columns: Mapping[str, NDArray[Any]], samples: Sequence[Sample], status: NDArray[np.str_]
    ) -> dict[str, pa.Array]:
        """The columns as a shard stores them, with nulls if a row of that status has no value."""


class Task(Plugin, ABC):
    """What models predict: the columns of a shard, and how labels and outputs become their values.

    Attributes:
        help: description in one sentence.
        predicted: the statuses of rows that count as predictions.
        whole_images: whether conditions act on the whole image and the model's geometry follows; else they
            act on the suite's canvas.
        metrics: the metrics of suites that list none of this task.
    """

    name: str
    help: str
    predicted: tuple[Status, ...]
    whole_images: bool = False
    metrics: tuple[str, ...] = ()

    @property
    @abstractmethod
    def columns(self) -> Sequence[pa.Field]:
        """The task's columns of every shard."""

    @property
    @abstractmethod
    def outputs(self) -> pa.Field | None:
        """The column of unprocessed outputs, in shards that keep them; None for a task without such."""

    @abstractmethod
    def map_labels(
        self, model: Any, dataset: Any, samples: Sequence[Sample], options: LabelOptions
    ) -> LabelMapping:
        """Map the labels of all images to a model's outputs; refuses a mismatch."""

    @abstractmethod
    def postprocessor(self, recipe: Recipe) -> Postprocessor:
        """The postprocessor for runs of a recipe."""


REGISTRY: Registry[Task] = Registry("task", "windtunnel.tasks", Task)  # type: ignore[type-abstract]
