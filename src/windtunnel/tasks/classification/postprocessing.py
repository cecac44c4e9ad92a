"""Postprocessing: from a model's outputs (scores of all classes, or top-k classes) to a shard's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.records import ProjectionRecipe
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.task import Postprocessor
from windtunnel.models import Scores, finite_rows
from windtunnel.tasks.classification.summary import TOP, Summary, summarise, summarise_best

TOP_K = "top-k"

COLUMNS: tuple[pa.Field, ...] = (
    pa.field("top", pa.list_(pa.int32(), TOP)),
    pa.field("top_score", pa.list_(pa.float32(), TOP)),
    pa.field("label_score", pa.float32()),
    pa.field("label_rank", pa.int32()),
    pa.field("logsumexp", pa.float32()),
    pa.field("entropy", pa.float32()),
    pa.field("sum_p2", pa.float32()),
)
LOGITS: pa.Field = pa.field("logits", pa.list_(pa.float32()))


@dataclass(frozen=True)
class BestClasses:
    """The best classes of a batch of images, if other scores are unknown.

    Attributes:
        classes: indices of outputs (n, k), best first; -1 if there are fewer.
        scores: their scores; None if they are unknown.
    """

    classes: NDArray[np.int32]
    scores: NDArray[Any] | None

    def __getitem__(self, rows: Any) -> BestClasses:
        return BestClasses(self.classes[rows], None if self.scores is None else self.scores[rows])


@dataclass(frozen=True)
class ClassPostprocessor(Postprocessor):
    """The part of postprocessing that all kinds of outputs share.

    Attributes:
        outputs: `logits`, `probabilities` or `top-k`.
        width: number of outputs.
        mapping: the outputs that compete, and the output of each class of the data.
    """

    outputs: Any
    width: int
    mapping: ProjectionRecipe

    def empty(self, count: int) -> dict[str, NDArray[Any]]:
        """Columns of zeros."""
        return {
            column.name: np.zeros(
                (count, TOP) if pa.types.is_fixed_size_list(column.type) else count,
                getattr(column.type, "value_type", column.type).to_pandas_dtype(),
            )
            for column in COLUMNS
        }

    def columns(self, outputs: Any, images: Sequence[Surveyed]) -> dict[str, NDArray[Any]]:
        """The columns of finite outputs."""
        labels = [[self.mapping.labels[label] for label in image.sample.labels] for image in images]
        summary = self._summary(outputs, labels)
        return {field.name: getattr(summary, field.name) for field in fields(Summary)}

    def _summary(self, outputs: Any, labels: Sequence[Sequence[int]]) -> Summary:
        raise NotImplementedError

    def arrays(
        self, columns: Mapping[str, NDArray[Any]], samples: Sequence[Sample], status: NDArray[np.str_]
    ) -> dict[str, pa.Array]:
        """The columns with nulls: failed rows have no values, images without labels have no rank."""
        ok = status == "ok"
        # A prediction that is not finite ranks the label behind every class.
        last = (status == "not_finite") & np.array([bool(sample.labels) for sample in samples], bool)
        ranks = np.where(last, self.width, columns["label_rank"]).astype(np.int32)
        labelled = ok & (ranks >= 0)
        every_class = ok & (self.outputs != TOP_K)
        valid = {
            "top": ok,
            "top_score": ok,
            "label_score": labelled & np.isfinite(columns["label_score"]),
            "label_rank": labelled | last,
            "logsumexp": ok & (self.outputs == "logits"),
            "entropy": every_class,
            "sum_p2": every_class,
        }
        values = {**columns, "label_rank": ranks}
        return {field.name: _array(values[field.name], valid[field.name], field.type) for field in COLUMNS}


class ScorePostprocessor(ClassPostprocessor):
    """Outputs are the scores of every class (n, k)."""

    def finite(self, outputs: Scores) -> NDArray[np.bool_]:
        """Which rows are finite in every class."""
        return finite_rows(outputs)

    @cached_property
    def _mask(self) -> NDArray[np.bool_]:
        return self.mapping.projection.mask_for(self.width)

    def _summary(self, outputs: Scores, labels: Sequence[Sequence[int]]) -> Summary:
        scores = self.mapping.projection.apply(np.ascontiguousarray(outputs, np.float32))
        return summarise(scores, labels, self.outputs, self._mask)


class BestPostprocessor(ClassPostprocessor):
    """Outputs are only the top-k classes."""

    def finite(self, outputs: BestClasses) -> NDArray[np.bool_]:
        """Which rows have a first class whose score is not NaN."""
        has_class = outputs.classes[:, 0] >= 0
        return has_class if outputs.scores is None else has_class & np.isfinite(outputs.scores[:, 0])

    def _summary(self, outputs: BestClasses, labels: Sequence[Sequence[int]]) -> Summary:
        return summarise_best(outputs.classes, outputs.scores, labels)


# By the kind of a model's outputs.
POSTPROCESSORS: dict[str, Callable[[str, int, ProjectionRecipe], ClassPostprocessor]] = {
    "logits": ScorePostprocessor,
    "probabilities": ScorePostprocessor,
    TOP_K: BestPostprocessor,
}


def _array(values: NDArray[Any], valid: NDArray[np.bool_], type_: pa.DataType) -> pa.Array:
    if not pa.types.is_fixed_size_list(type_):
        return pa.array(values, type_, mask=~valid)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1), type_.value_type)
    return pa.FixedSizeListArray.from_arrays(flat, type=type_, mask=pa.array(~valid))
