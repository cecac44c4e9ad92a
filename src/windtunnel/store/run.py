"""Reading a run folder: its recipe, its images and its predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.labels import Projection
from windtunnel.core.records import NaturalRecipe, Recipe, RunInfo
from windtunnel.store.folder import GROUPS_FILE, SAMPLES_FILE, SHARDS_FOLDER, read_run_json
from windtunnel.store.parquet import read_parquet


class StoredRun:
    """One model on one data set under many conditions, as its folder holds it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
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
        """What is scored."""
        return self.info.scoring.metrics

    @property
    def weights(self) -> dict[str, float]:
        """The suite's weights of corruptions, if any."""
        return self.info.scoring.weights

    @property
    def missing(self) -> tuple[str, ...]:
        """Conditions of the suite that a precomputed set does not hold."""
        return self.info.missing

    @cached_property
    def samples(self) -> pa.Table:
        """The images: id, labels (indices into the data's classes), content hash, width, height, format.

        `meta` holds what else the data says of an image, as JSON. `source` is
        the content hash of what a finished image was made of, in runs over made sets.
        """
        return _read(self.path / SAMPLES_FILE, None, self.recipe.data.count)

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """What else the data's table says of every image, by column; "" where it says nothing."""
        rows = [json.loads(text) for text in self.samples["meta"].to_pylist()]
        names = sorted({name for row in rows for name in row})
        return {name: [str(row.get(name) or "") for row in rows] for name in names}

    @property
    def natural(self) -> NaturalRecipe | None:
        """Of a run over a natural set its parts and counts; else None."""
        return self.recipe.data.natural

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Which of the run's images are out of distribution, and so have no label."""
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

    @property
    def projection(self) -> Projection:
        """How the model's outputs, as `logits` holds them, become classes."""
        return self.recipe.projection.projection

    @property
    def expected_rows(self) -> int:
        """How many rows the finished run has."""
        return self.recipe.data.count * self.views

    @cached_property
    def views(self) -> int:
        """How many rows an image has: every condition's frames."""
        return sum(condition.frames for condition in self.conditions)

    def predictions(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every prediction as an Arrow table, sorted by image and condition."""
        wanted = None if columns is None else list(dict.fromkeys(["sample_id", *columns]))
        shards = list(self.shards(wanted))
        if not shards:
            raise UserError(f"{self.path} holds no predictions yet; run the same command to go on.")
        return pa.concat_tables(shards)

    def shards(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The finished shards' columns, in the order of images; what is not finished is left out."""
        if not self.path.is_dir():
            raise UserError(f"{self.path} has gone since it was opened; restore it, or run again.")
        size, count = self.recipe.chunk, self.recipe.data.count
        for start in range(0, count, size):
            path = self.path / SHARDS_FOLDER / f"{digest([self.digest, start])}.parquet"
            if path.exists():
                yield _read(path, columns, min(size, count - start) * self.views)


def _read(path: Path, columns: Sequence[str] | None, rows: int) -> pa.Table:
    """One of a run's tables, which holds as many rows as it should, or else is damaged."""
    try:
        table = read_parquet(path, list(columns) if columns else None)
        if len(table) == rows:
            return table
        reason = f"{len(table):,} rows where {rows:,} belong"
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run the same command to make it again.") from None
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise UserError(f"{path} is damaged ({reason}); run the same command to make it again.")
