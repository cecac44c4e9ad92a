"""Reading a run folder: its recipe, its images and its predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.labels import Projection
from windtunnel.core.locations import Location, live_location
from windtunnel.core.records import NaturalRecipe, Recipe
from windtunnel.core.run_info import RunInfo
from windtunnel.store.folder import (
    ANNOTATIONS_FILE,
    GROUPS_FILE,
    RECIPE_FILE,
    SAMPLES_FILE,
    SHARDS_FOLDER,
    read_run_json,
)
from windtunnel.store.parquet import read_parquet


class StoredRun:
    """One model on one dataset under many conditions, read from its folder."""

    def __init__(self, path: str | Location) -> None:
        self.path = live_location(path)
        content = read_run_json(self.path)
        self.recipe: Recipe = content.recipe
        self.info: RunInfo = content.info
        self.digest: str = content.recipe_digest

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, in the suite's order."""
        return self.recipe.conditions

    @property
    def corruptions(self) -> tuple[Condition, ...]:
        """The conditions that are corruptions."""
        return tuple(condition for condition in self.conditions if condition.is_corruption)

    @property
    def sequences(self) -> tuple[Condition, ...]:
        """The conditions that are sequences."""
        return tuple(condition for condition in self.conditions if condition.is_sequence)

    @property
    def pipeline_steps(self) -> tuple[Condition, ...]:
        """The conditions that replace a step of the pipeline."""
        return tuple(condition for condition in self.conditions if condition.is_pipeline_step)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return self.info.scoring.metrics

    @property
    def weights(self) -> dict[str, float]:
        """The suite's weights of corruptions, if any."""
        return self.info.scoring.weights

    @property
    def families(self) -> dict[str, str]:
        """The families of corruptions that do not come with windtunnel, if they are declared."""
        return self.info.scoring.families

    @property
    def missing(self) -> tuple[str, ...]:
        """Conditions of the suite that a precomputed set does not contain."""
        return self.info.missing

    @cached_property
    def samples(self) -> pa.Table:
        """The images: id, labels (indices into the data's classes), content hash, width, height, format.

        `meta` has further columns of the data as JSON. In runs over made sets, `source` is the content hash
        of the image that a stored one was made from.
        """
        return _read(self.path / SAMPLES_FILE, None, self.recipe.data.count)

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """Further columns of the data's table, a text per image; "" for empty cells."""
        rows = [json.loads(text) for text in self.samples["meta"].to_pylist()]
        names = sorted({name for row in rows for name in row})
        return {name: [str(row.get(name) or "") for row in rows] for name in names}

    @property
    def natural(self) -> NaturalRecipe | None:
        """The parts and counts of a run over a natural set; None for other runs."""
        return self.recipe.data.natural

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Which of the run's images are out of distribution and therefore have no label."""
        parts = self.natural.parts if self.natural else ()
        names = [part.name for part in parts if part.role == "out"]
        if not names:
            return np.zeros(self.recipe.data.count, bool)
        return np.isin(np.array(self.columns["part"]), names)

    @cached_property
    def frame_sets(self) -> pa.Table | None:
        """Video frames by anchor: group, sample_id, offset, role (`anchor`, `neighbour`); None for none."""
        rows = self.natural.frames if self.natural else 0
        return _read(self.path / GROUPS_FILE, None, rows) if rows else None

    @cached_property
    def annotations(self) -> pa.Table | None:
        """The annotated objects: sample_id, category, box (left, top, width, height), area, crowd."""
        if not self.recipe.data.annotations:
            return None
        file = self.path / ANNOTATIONS_FILE
        if not file.is_file():
            raise UserError(f"{self.path} has no {ANNOTATIONS_FILE}; run the same command to restore it.")
        return read_parquet(file)

    @property
    def projection(self) -> Projection:
        """The projection from the model's outputs, as stored in `logits`, to classes."""
        return self.recipe.projection.projection

    @property
    def expected_rows(self) -> int:
        """The number of rows of the finished run."""
        return self.recipe.data.count * self.views

    @cached_property
    def views(self) -> int:
        """The number of rows per image: the frames of all conditions."""
        return sum(condition.frames for condition in self.conditions)

    def predictions(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every prediction as an Arrow table, sorted by image and condition."""
        wanted = None if columns is None else list(dict.fromkeys(["sample_id", *columns]))
        shards = list(self.shards(wanted))
        if not shards:
            raise UserError(f"{self.path} contains no predictions yet; run the same command to continue.")
        return pa.concat_tables(shards)

    def shards(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The columns of the stored shards, in the order of images; missing shards are left out."""
        if not (self.path / RECIPE_FILE).is_file():
            raise UserError(f"{self.path} was removed after it was opened; restore it, or run again.")
        for start in range(0, self.recipe.data.count, self.recipe.chunk):
            table = self._shard(start, columns)
            if table is not None:
                yield table

    def image_predictions(self, row: int, columns: Sequence[str]) -> pa.Table | None:
        """The predictions on the image in this row of `samples`, from its shard; None if it is missing."""
        start = row - row % self.recipe.chunk
        table = self._shard(start, columns)
        return None if table is None else table.slice((row - start) * self.views, self.views)

    def _shard(self, start: int, columns: Sequence[str] | None) -> pa.Table | None:
        """The shard that begins with this image; None if it is missing."""
        path = self.path / SHARDS_FOLDER / f"{digest([self.digest, start])}.parquet"
        try:
            images = min(self.recipe.chunk, self.recipe.data.count - start)
            return _read_existing(path, columns, images * self.views)
        except FileNotFoundError:
            return None


def _read(path: Location, columns: Sequence[str] | None, rows: int) -> pa.Table:
    """One of a run's tables; refuses a missing or damaged file, and another number of rows."""
    try:
        return _read_existing(path, columns, rows)
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run the same command to make it again.") from None


def _read_existing(path: Location, columns: Sequence[str] | None, rows: int) -> pa.Table:
    """The same for a table that may not be made yet, for which FileNotFoundError is raised."""
    try:
        table = read_parquet(path, list(columns) if columns else None)
        if len(table) == rows:
            return table
        reason = f"{len(table):,} rows instead of {rows:,}"
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise UserError(f"{path} is damaged ({reason}); run the same command to make it again.")
