"""The rows of a run, filled from blocks of predictions in any order; problems are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.engine.plan import Plan
from windtunnel.engine.shard_rows import ShardRows
from windtunnel.importing.prediction_files import Block
from windtunnel.importing.unscored_rows import Ignored, Reason
from windtunnel.models import SUM_TOLERANCE, finite_rows
from windtunnel.tasks.classification.postprocessing import TOP_K, BestClasses

MISSING = "predictions missing"


class Rows:
    """The rows of every image under every condition, in memory, and the given rows that do not fit."""

    def __init__(
        self, plan: Plan, conditions: Mapping[str, int], path: Path, reason_left_out: Reason
    ) -> None:
        self._plan, self._path = plan, path
        self._reason_left_out = reason_left_out
        self.ignored = Ignored()
        self._width = len(plan.conditions)
        self._ids = pa.array([image.sample.id for image in plan.surveyed], pa.string())
        self._names = pa.array(list(conditions), pa.string())
        self._places = np.array(list(conditions.values()), np.int64)
        self._rows = ShardRows(
            plan.task, plan.postprocessor, plan.surveyed, plan.conditions, plan.recipe.keep
        )
        self._wrong: dict[str, tuple[int, str]] = {}

    def add(self, block: Block) -> None:
        """Assign the rows of a block; rows that do not fit are counted."""
        if block.ragged:
            self._note(
                f"rows with another number of classes than {block.values.shape[1]}",
                block.ragged,
                block.example,
            )
        block = self._without_left_out(block)
        ids = block.ids
        samples = _index(ids, self._ids)
        self._note_where("rows with unknown ids", samples < 0, ids)
        if block.conditions is None:
            column = np.zeros(len(ids), np.int64)
        else:
            column = self._places[_index(block.conditions, self._names)]
        outputs = (
            BestClasses(self._indices(block.values), block.top_scores) if self._best_only else block.values
        )
        good = (samples >= 0) & self._sound(block)
        place = samples * self._width + column
        first = np.zeros(len(ids), bool)
        first[np.unique(place, return_index=True)[1]] = True
        again = good & (~first | self._rows.predicted[np.maximum(place, 0)])
        self._note_where("rows given twice", again, ids)
        good &= ~again
        self._rows.add(place[good], outputs[good])

    def _without_left_out(self, block: Block) -> Block:
        """The rows of scored images and of unknown ids; rows of images that are not scored are counted."""
        unknown = block.ids.filter(pc.invert(pc.is_in(block.ids, self._ids)))
        rows = {str(row["values"]): int(row["counts"]) for row in unknown.value_counts().to_pylist()}
        reasons = {id_: self._reason_left_out(id_) for id_ in rows}
        left_out = [id_ for id_, reason in reasons.items() if reason]
        if not left_out:
            return block
        self.ignored.add({id_: rows[id_] for id_ in left_out}, reasons)
        known = pc.invert(pc.is_in(block.ids, pa.array(left_out, pa.string())))
        places = known.to_numpy(zero_copy_only=False)
        return replace(
            block,
            ids=block.ids.filter(known),
            conditions=None if block.conditions is None else block.conditions.filter(known),
            values=block.values[places],
            top_scores=None if block.top_scores is None else block.top_scores[places],
        )

    @property
    def _best_only(self) -> bool:
        """Whether only the best classes are given."""
        return str(self._plan.model.outputs) == TOP_K

    def _sound(self, block: Block) -> NDArray[np.bool_]:
        """Whether each row has numbers that can be scores; rows that are not finite are wrong predictions."""
        if self._plan.model.outputs != "probabilities":
            return np.ones(len(block.ids), bool)
        finite = finite_rows(block.values)
        sums = block.values.sum(axis=1, dtype=np.float64)
        likely = (block.values >= 0).all(axis=1) & (np.abs(sums - 1) <= SUM_TOLERANCE)
        self._note_where("rows of probabilities that do not sum to 1", finite & ~likely, block.ids)
        return np.asarray(~finite | likely, np.bool_)

    def _indices(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Best classes as indices of outputs; -1 for missing ones."""
        if values.dtype.kind in "iu":
            return values.astype(np.int32)
        where = {name: index for index, name in enumerate(self._plan.model.classes)}
        names, back = np.unique(values.astype(str), return_inverse=True)
        indices = [where.get(name, int(name) if name.lstrip("-").isdecimal() else -1) for name in names]
        return np.array(indices, np.int32)[back].reshape(values.shape)

    def check(self, *, partial: bool) -> None:
        """Refuse rows that do not fit, with counts and examples; also missing ones, unless `partial`."""
        missing = np.flatnonzero(~self._rows.predicted)
        complete = int(self._rows.predicted.reshape(-1, self._width).all(axis=1).sum())
        if len(missing) and not (partial and complete):
            sample, condition = divmod(int(missing[0]), self._width)
            name = f"{self._ids[sample].as_py()} under {self._plan.conditions[condition].name}"
            self._note(MISSING, len(missing), name)
        if self._wrong:
            problems = "; ".join(
                f"{_counted(what, count)} (such as '{example}')"
                for what, (count, example) in self._wrong.items()
            )
            advice = f" {self._after_partial(complete)}" if MISSING in self._wrong else ""
            raise UserError(f"{self._path}: {problems}.{advice}")

    def _after_partial(self, complete: int) -> str:
        """What `partial` would score, or the condition without which more could be scored."""
        if complete:
            return (
                f"{option('partial', True)} scores only the {complete:,} of {len(self._ids):,} images that "
                "have all of them."
            )
        lacking = (~self._rows.predicted).reshape(-1, self._width).sum(axis=0)
        worst = int(lacking.argmax())
        return (
            f"No image has a prediction under every condition; {self._plan.conditions[worst].name} lacks the "
            f"most, {int(lacking[worst]):,} of {len(self._ids):,}."
        )

    def _note_where(self, what: str, rows: NDArray[np.bool_], ids: pa.Array) -> None:
        if rows.any():
            self._note(what, int(rows.sum()), str(ids[int(rows.argmax())].as_py()))

    def _note(self, what: str, count: int, example: str) -> None:
        before, first = self._wrong.get(what, (0, example))
        self._wrong[what] = before + count, first

    def table(self, start: int, stop: int) -> pa.Table:
        """The rows of the images `start` to `stop` as a shard stores them."""
        return self._rows.table(start, stop)


def _index(values: pa.Array, allowed: pa.Array) -> NDArray[np.int64]:
    indices: NDArray[np.int64] = pc.index_in(values, allowed).fill_null(-1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64)


def _counted(what: str, count: int) -> str:
    """A number with the text that it counts: `1 row given twice`, `2 rows given twice`."""
    noun, _, rest = what.partition(" ")
    return f"{counted(count, noun.removesuffix('s'))} {rest}"
