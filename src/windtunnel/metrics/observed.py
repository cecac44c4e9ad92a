"""What a model said, as matrices: a row for every complete picture, a column for every condition."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.errors import UserError

if TYPE_CHECKING:
    from windtunnel.store.run import Run


class Observed:
    """The predictions of a finished run, read column by column when asked for.

    A picture that fails under one condition leaves all of them, so that every condition rests on the same
    pictures; pictures without a label leave too, since every score needs one.

    Attributes:
        conditions: their names, in the run's order.
        left_out: pictures that failed under some condition.
        unlabelled: complete pictures without a label.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.conditions = tuple(str(condition["name"]) for condition in run.conditions)
        ok = self._read("status", lambda values: pc.equal(values, "ok")).astype(bool)
        labelled = (self._read("label_rank", lambda values: values.fill_null(-1)) >= 0).all(axis=1)
        complete = ok.all(axis=1)
        self.kept: NDArray[np.bool_] = np.logical_and(complete, labelled)
        self.left_out = int((~complete).sum())
        self.unlabelled = int((complete & ~labelled).sum())

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The pictures' ids."""
        return np.array(self._run.samples["id"].to_pylist(), object)[self.kept]

    @cached_property
    def labels(self) -> list[tuple[int, ...]]:
        """The pictures' classes, as indices of the data's label space."""
        rows = self._run.samples["labels"].to_pylist()
        return [tuple(row) for row, kept in zip(rows, self.kept, strict=True) if kept]

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """The label's place among the outputs, 0 for the best."""
        return self.numbers("label_rank").astype(np.int32)

    @cached_property
    def chosen(self) -> NDArray[np.int32]:
        """The best-placed class."""
        return self._read("top", lambda values: pc.list_element(values, 0))[self.kept].astype(np.int32)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The best-placed class's probability."""
        return np.asarray(np.exp(self.log_probability(self.best_score)), np.float64)

    @cached_property
    def best_score(self) -> NDArray[np.float64]:
        """The best-placed class's score, as the model gives it."""
        return self._read("top_score", lambda values: pc.list_element(values, 0))[self.kept]

    @property
    def gives_logits(self) -> bool:
        """Whether the model's outputs are logits."""
        return bool(self._run.recipe["model"]["outputs"] == "logits")

    @property
    def gives_probabilities(self) -> bool:
        """Whether every class's probability was known; of the best few classes alone it is not."""
        return bool(self._run.recipe["model"]["outputs"] in ("logits", "probabilities"))

    @cached_property
    def label_log_probability(self) -> NDArray[np.float64]:
        """The logarithm of the label's probability; of several labels, of the best-placed one's."""
        return self.log_probability(self.numbers("label_score"))

    def log_probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithm of the probability that a score stands for, picture by picture.

        A stored probability of 0 counts as the least that float32 holds in full, 1.2e-38.
        """
        if self.gives_logits:
            return np.asarray(scores - self._logsumexp, np.float64)
        return np.log(np.maximum(scores, np.finfo(np.float32).tiny))

    @cached_property
    def _logsumexp(self) -> NDArray[np.float64]:
        return self.numbers("logsumexp")

    def numbers(self, name: str) -> NDArray[np.float64]:
        """One of the store's columns of numbers."""
        return self._read(name, lambda values: values)[self.kept]

    def column(self, condition: str) -> int:
        """Where a condition stands."""
        return self.conditions.index(condition)

    def _read(self, name: str, convert: Any) -> NDArray[Any]:
        parts = [
            _flat(convert(shard[name])).to_numpy(zero_copy_only=False) for shard in self._run.shards([name])
        ]
        found, expected = sum(map(len, parts)), self._run.expected_rows
        if found != expected:
            raise UserError(
                f"{self._run.path} is not finished ({found:,} of {expected:,} predictions); "
                "run the same command to go on."
            )
        return np.concatenate(parts).reshape(-1, len(self.conditions))


def _flat(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
