"""The rows of a run, filled from blocks of predictions in any order; problems are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted
from windtunnel.engine.plan import Plan
from windtunnel.engine.summary import Summary, summarise
from windtunnel.importing.prediction_files import TOP_K, Block
from windtunnel.importing.unscored_rows import Ignored, Reason
from windtunnel.models import SUM_TOLERANCE, finite_rows
from windtunnel.store.rows import NOT_FINITE_REASON, PIXELS, TOP, schema

NO_LABEL = -2
NOT_GIVEN = "no prediction was given"
MISSING = "predictions missing"


class Rows:
    """Summaries of every image under every condition, in memory: about 60 bytes each.

    Full outputs that the plan keeps are also in memory, four bytes per number.
    """

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
        self._labels = [[plan.label_map[label] for label in image.sample.labels] for image in plan.surveyed]
        self._mask = plan.projection.mask_for(plan.model.class_count)
        count = len(self._ids) * self._width
        self._given = np.zeros(count, bool)
        self._not_finite = np.zeros(count, bool)
        self._columns: dict[str, NDArray[Any]] = {}
        self._wrong: dict[str, tuple[int, str]] = {}
        kept = [condition.name in plan.logits_for for condition in plan.conditions]
        # The index of a condition's outputs among the kept outputs of an image; -1 for none.
        self._slots = np.where(kept, np.cumsum(kept) - 1, -1)
        self._logits = np.zeros((len(self._ids) * sum(kept), plan.model.class_count), np.float32)

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
        finite = self._finite(block)
        good = (samples >= 0) & self._sound(block, ids, finite)
        place = samples * self._width + column
        first = np.zeros(len(ids), bool)
        first[np.unique(place, return_index=True)[1]] = True
        again = good & (~first | self._given[np.maximum(place, 0)])
        self._note_where("rows given twice", again, ids)
        good &= ~again
        self._not_finite[place[good & ~finite]] = True
        values = block.values if self._best_only else np.where(finite[:, None], block.values, 0)
        self._fill(
            place[good],
            samples[good],
            values[good],
            None if block.top_scores is None else block.top_scores[good],
        )

    def _without_left_out(self, block: Block) -> Block:
        """The rows of scored images and of unknown ids; rows of images that are not scored are counted."""
        unknown = block.ids.filter(pc.invert(pc.is_in(block.ids, self._ids)))
        rows = {str(row["values"]): int(row["counts"]) for row in unknown.value_counts().to_pylist()}
        reasons = {id_: self._reason_left_out(id_) for id_ in rows}
        left_out = [id_ for id_, reason in reasons.items() if reason]
        if not left_out:
            return block
        self.ignored.add({id_: rows[id_] for id_ in left_out}, reasons)
        kept = pc.invert(pc.is_in(block.ids, pa.array(left_out, pa.string())))
        places = kept.to_numpy(zero_copy_only=False)
        return replace(
            block,
            ids=block.ids.filter(kept),
            conditions=None if block.conditions is None else block.conditions.filter(kept),
            values=block.values[places],
            top_scores=None if block.top_scores is None else block.top_scores[places],
        )

    @property
    def _best_only(self) -> bool:
        """Whether only the best classes are given."""
        return str(self._plan.model.outputs) == TOP_K

    def _finite(self, block: Block) -> NDArray[np.bool_]:
        """Whether each row is finite; best classes alone need a first class without a NaN score."""
        if not self._best_only:
            return finite_rows(block.values)
        has_class = self._indices(block.values)[:, 0] >= 0
        return has_class if block.top_scores is None else has_class & np.isfinite(block.top_scores[:, 0])

    def _sound(self, block: Block, ids: pa.Array, finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each row has numbers that can be scores; rows that are not finite are wrong predictions."""
        if self._plan.model.outputs != "probabilities":
            return np.ones(len(ids), bool)
        sums = block.values.sum(axis=1, dtype=np.float64)
        likely = (block.values >= 0).all(axis=1) & (np.abs(sums - 1) <= SUM_TOLERANCE)
        self._note_where("rows of probabilities that do not sum to 1", finite & ~likely, ids)
        return np.asarray(~finite | likely, np.bool_)

    def _fill(
        self,
        place: NDArray[np.int64],
        samples: NDArray[np.int64],
        values: NDArray[Any],
        top_scores: NDArray[Any] | None,
    ) -> None:
        if not len(place):
            return
        self._given[place] = True
        labels = [self._labels[sample] for sample in samples]
        if self._best_only:
            summary = best_only(self._indices(values), top_scores, labels)
        else:
            scores = self._plan.projection.apply(np.ascontiguousarray(values, np.float32))
            summary = summarise(scores, labels, self._plan.model.outputs, self._mask)
        for column in fields(Summary):
            filled = getattr(summary, column.name)
            if column.name not in self._columns:
                self._columns[column.name] = np.zeros((len(self._given), *filled.shape[1:]), filled.dtype)
            self._columns[column.name][place] = filled
        slot = self._slots[place % self._width]
        kept = slot >= 0
        if kept.any():
            per_image = int(self._slots.max()) + 1
            self._logits[(samples * per_image + slot)[kept]] = values[kept]

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
        missing = np.flatnonzero(~self._given)
        complete = int(self._given.reshape(-1, self._width).all(axis=1).sum())
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
        """What --partial would score, or the condition without which more could be scored."""
        if complete:
            return (
                f"--partial scores only the {complete:,} of {len(self._ids):,} images that have all of them."
            )
        lacking = (~self._given).reshape(-1, self._width).sum(axis=0)
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
        part = slice(start * self._width, stop * self._width)
        given = self._given[part]
        ok = given & ~self._not_finite[part]
        values = {name: column[part] for name, column in self._columns.items()}
        labelled = given & (values["label_rank"] >= 0)
        # A prediction that is not finite ranks the label after every class.
        values["label_rank"] = np.where(
            labelled & ~ok, self._plan.model.class_count, values["label_rank"]
        ).astype(np.int32)
        whole = not self._best_only
        valid = {
            "label_rank": labelled,
            "label_score": labelled & ok & np.isfinite(values["label_score"]),
            "logsumexp": ok & (self._plan.model.outputs == "logits"),
            "entropy": ok & whole,
            "sum_p2": ok & whole,
        }
        swapped = any(condition.kind == "pipeline" for condition in self._plan.conditions)
        wanted = schema(with_logits=bool(len(self._logits)), with_pixels=swapped)
        names = [condition.name for condition in self._plan.conditions]
        columns = {
            "sample_id": self._ids[start:stop].take(
                pa.array(np.repeat(np.arange(stop - start), self._width))
            ),
            "condition": pa.array(names * (stop - start), pa.string()),
            "frame": pa.array(np.zeros(len(given), np.int16)),
            "top": _lists(values["top"], ok, wanted.field("top").type),
            "top_score": _lists(values["top_score"], ok, wanted.field("top_score").type),
            **{name: pa.array(values[name], mask=~good) for name, good in valid.items()},
            "status": pa.array(np.where(ok, "ok", np.where(given, "not_finite", "model_error"))),
            "reason": pa.array(np.where(given, NOT_FINITE_REASON, NOT_GIVEN), mask=ok),
            "logits": self._kept_outputs(start, stop, ok),
            # Imported predictions have no pixels.
            **{name: pa.nulls(len(given)) for name, _ in PIXELS},
        }
        return pa.table([columns[field_.name].cast(field_.type) for field_ in wanted], schema=wanted)

    def _kept_outputs(self, start: int, stop: int, given: NDArray[np.bool_]) -> pa.Array:
        """The full outputs of the rows as lists, null if they are not kept or not given."""
        per_image = int(self._slots.max()) + 1
        kept = given & np.tile(self._slots >= 0, stop - start)
        outputs = self._logits[start * per_image : stop * per_image]
        outputs = outputs[given.reshape(stop - start, -1)[:, self._slots >= 0].ravel()]
        lengths = np.where(kept, self._logits.shape[1], 0)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        flat = pa.array(outputs.reshape(-1), pa.float32())
        return pa.ListArray.from_arrays(offsets, flat, mask=pa.array(~kept))


def best_only(top: NDArray[np.int32], scores: NDArray[Any] | None, labels: list[list[int]]) -> Summary:
    """The summary of best classes alone: the label's rank is its place among them, or their number."""
    count, width = top.shape
    most = max((len(row) for row in labels), default=0) or 1
    wanted = np.full((count, most), NO_LABEL, np.int32)
    for row, classes in enumerate(labels):
        wanted[row, : len(classes)] = classes
    hit = (top[:, :, None] == wanted[:, None, :]).any(axis=2)
    rank = np.where(hit.any(axis=1), hit.argmax(axis=1), width).astype(np.int32)
    rank[wanted[:, 0] == NO_LABEL] = -1
    kept = min(width, TOP)
    best = np.full((count, TOP), -1, np.int32)
    best_score = np.full((count, TOP), np.nan, np.float32)
    label_score = np.full(count, np.nan, np.float32)
    best[:, :kept] = top[:, :kept]
    if scores is not None:
        best_score[:, :kept] = scores[:, :kept]
        at_rank = np.take_along_axis(scores, np.clip(rank, 0, width - 1)[:, None].astype(np.int64), axis=1)[
            :, 0
        ]
        label_score = np.where(hit.any(axis=1), at_rank, np.nan).astype(np.float32)
    nothing = np.full(count, np.nan, np.float32)
    return Summary(best, best_score, label_score, rank, nothing, nothing, nothing)


def _index(values: pa.Array, allowed: pa.Array) -> NDArray[np.int64]:
    indices: NDArray[np.int64] = pc.index_in(values, allowed).fill_null(-1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64)


def _lists(values: NDArray[Any], given: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(values).reshape(-1), kind.value_type)
    return pa.FixedSizeListArray.from_arrays(flat, type=kind, mask=pa.array(~given))


def _counted(what: str, count: int) -> str:
    """A number with the text that it counts: `1 row given twice`, `2 rows given twice`."""
    noun, _, rest = what.partition(" ")
    return f"{counted(count, noun.removesuffix('s'))} {rest}"
