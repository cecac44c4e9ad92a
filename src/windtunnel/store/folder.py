"""Writing the run folder: created once, locked while it is written, every file written atomically."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from windtunnel.core.annotations import Objects
from windtunnel.core.conditions import digest
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.recipe_differences import differing_arithmetic, differing_settings
from windtunnel.core.records import Recipe, RecordError, read_recipe, read_record
from windtunnel.core.run_info import RunInfo, ScoringInfo
from windtunnel.core.samples import FrameRow, Surveyed
from windtunnel.core.task import Task
from windtunnel.store.atomic_files import create_file, write_whole
from windtunnel.store.parquet import parquet_bytes, read_parquet
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder
from windtunnel.store.rows import schema

RECIPE_FILE = "run.json"
SAMPLES_FILE = "samples.parquet"
GROUPS_FILE = "groups.parquet"
ANNOTATIONS_FILE = "annotations.parquet"
SHARDS_FOLDER = "shards"
# Every field of a recipe with its name for messages on recipes that differ.
PARTS = {
    "model": "model",
    "data": "data",
    "suite": "suite",
    "conditions": "list of conditions",
    "seed": "seed",
    "canvas": "canvas",
    "projection": "mask or map",
    "keep": "kept columns",
    "device": "device",
    "precision": "precision",
    "batch": "batch size",
    "chunk": "chunk size",
    "stream": "random stream version",
    "task": "task",
}
RUN = FolderKind("run", RECIPE_FILE, 2, PARTS, option="out")


def samples_table(surveyed: Sequence[Surveyed], sources: Mapping[str, str]) -> pa.Table:
    """The images of a run as a table; `sources` are content hashes of the images they were made from."""
    table = pa.table(
        {
            "id": pa.array([image.sample.id for image in surveyed], pa.string()),
            "labels": pa.array([image.sample.labels for image in surveyed], pa.list_(pa.int32())),
            "content": pa.array([image.content for image in surveyed], pa.string()),
            "width": pa.array([image.width or None for image in surveyed], pa.int32()),
            "height": pa.array([image.height or None for image in surveyed], pa.int32()),
            "format": pa.array([image.format or None for image in surveyed], pa.string()),
            "meta": pa.array([_meta_text(image.sample.meta) for image in surveyed], pa.string()),
        }
    )
    if not sources:
        return table
    return table.append_column("source", pa.array([sources.get(image.sample.id) for image in surveyed]))


def groups_table(rows: Sequence[FrameRow]) -> pa.Table:
    """Frame sets as a table: the anchor of each frame, and its offset from the anchor."""
    return pa.table(
        {
            "group": pa.array([frame.group for frame in rows], pa.string()),
            "sample_id": pa.array([frame.sample_id for frame in rows], pa.string()),
            "offset": pa.array([frame.offset for frame in rows], pa.int32()),
            "role": pa.array([frame.role for frame in rows], pa.string()),
        }
    )


def annotations_table(annotations: Mapping[str, Objects]) -> pa.Table:
    """Annotated objects as a table, one row for each: image, category, box, area, crowd."""
    rows = [(id_, thing) for id_, things in annotations.items() for thing in things]
    return pa.table(
        {
            "sample_id": pa.array([id_ for id_, _ in rows], pa.string()),
            "category": pa.array([thing.category for _, thing in rows], pa.int32()),
            "box": pa.array([thing.box for _, thing in rows], pa.list_(pa.float64(), 4)),
            "area": pa.array([thing.area for _, thing in rows], pa.float64()),
            "crowd": pa.array([thing.crowd for _, thing in rows], pa.bool_()),
        }
    )


def _meta_text(meta: Mapping[str, str]) -> str:
    return json.dumps(dict(meta), sort_keys=True, ensure_ascii=False)


class RunFolder(RecipeFolder):
    """One run's folder, as the engine writes it."""

    def __init__(self, path: Location) -> None:
        super().__init__(path, RUN)
        self.written: set[str] = set()  # the shards that this process has stored

    def open_for(
        self,
        recipe: Recipe,
        info: RunInfo,
        samples: pa.Table,
        groups: pa.Table | None = None,
        annotations: pa.Table | None = None,
    ) -> None:
        """Create the folder, or check that it has the same recipe; refuses and names a difference."""
        created = not self.recipe_path.exists() and self.create_recipe_file(
            _run_json(RunRecord(recipe, recipe.digest, info))
        )
        if not created:  # it was there, or another process was first
            self.check_same(recipe, samples)
            self._score_as(info.scoring)
        self._complete({SAMPLES_FILE: samples, GROUPS_FILE: groups, ANNOTATIONS_FILE: annotations})

    def _score_as(self, scoring: ScoringInfo) -> None:
        """Store other metrics or weights than before; the predictions do not change."""
        content = read_run_json(self.path)
        if content.info.scoring != scoring:
            info = msgspec.structs.replace(content.info, scoring=scoring)
            self.write_recipe_file(_run_json(dataclasses.replace(content, info=info)))

    def _complete(self, tables: Mapping[str, pa.Table | None]) -> None:
        """Write the tables that are missing or damaged."""
        (self.path / SHARDS_FOLDER).mkdir(exist_ok=True)
        for name, table in tables.items():
            if table is None:
                continue
            content, file = parquet_bytes(table), self.path / name
            if not file.exists() or file.read_bytes() != content:
                write_whole(file, content)

    def check_versions(self, versions: dict[str, str]) -> None:
        """Refuse to continue with other versions of libraries: their results may differ in the last bit."""
        stored = read_run_json(self.path).info.versions
        for name, version in versions.items():
            if stored.get(name) != version:
                raise UserError(
                    f"{self.path} was started with {name} {stored.get(name)}, but {version} is installed; "
                    f"install that version, or choose another folder with {option('out')}."
                )

    def check_hardware(self, hardware: str) -> None:
        """Refuse to continue on another accelerator than before: its results may differ in the last bit."""
        stored = read_run_json(self.path).info.hardware
        if stored != hardware:
            raise UserError(
                f"{self.path} was started on {stored or 'unnamed hardware'}, but this is "
                f"{hardware or 'unnamed hardware'}; continue there, or choose another folder with "
                f"{option('out')}."
            )

    def check_same(self, recipe: Recipe, samples: pa.Table) -> None:
        """Refuse a folder with a run of another recipe, and name the difference."""
        self.check_free()
        if not (self.path / RECIPE_FILE).exists():
            return
        stored = read_run_json(self.path).recipe
        if stored == recipe:
            return
        differing = self.differing_parts(stored, recipe)
        if "data" in differing and "chunk" in differing:
            differing.remove("chunk")  # by default it follows from the number of images
        if "device" in differing and "batch" in differing:
            differing.remove("batch")  # by default it follows from the device
        named = [
            _data_difference(self.path, samples) if key == "data" else f"another {self.kind.parts[key]}"
            for key in differing
        ]
        detail = ""
        if settings := [*differing_settings(stored, recipe), *differing_arithmetic(stored, recipe)]:
            detail = f" ({', '.join(f'{name} {old} there, {new} here' for name, old, new in settings)})"
        raise UserError(
            f"{self.path} contains a run with {', '.join(named)}{detail}; "
            f"choose another folder with {option('out')}, or use the same options as that run."
        )

    def shard_path(self, name: str) -> Location:
        """The location of a shard."""
        return self.path / SHARDS_FOLDER / f"{name}.parquet"

    def has_shard(self, name: str, rows: int, task: Task) -> bool:
        """Whether a shard is complete; a damaged one counts as missing and is made again."""
        return self._is_sound(name, rows, schema(task).names)

    def _is_sound(self, name: str, rows: int, columns: Sequence[str]) -> bool:
        try:
            table = read_parquet(self.shard_path(name))
            return len(table) == rows and set(columns) <= set(table.column_names)
        except (pa.ArrowException, OSError):
            return False

    def failures(self, name: str) -> list[dict[str, Any]]:
        """The rows of a shard without a finite prediction; none for a damaged shard, which is made again."""
        try:
            table = read_parquet(self.shard_path(name), ["sample_id", "condition", "status", "reason"])
        except (pa.ArrowException, OSError):
            return []
        return [row for row in table.to_pylist() if row["status"] != "ok"]

    def write_shard(self, name: str, table: pa.Table) -> None:
        """Write a shard whole or not at all; the same shard of another process is left as it is.

        A damaged shard and one with failed rows are replaced. Another content without failures is refused:
        predictions of two machines or libraries would be mixed.
        """
        path, content = self.shard_path(name), parquet_bytes(table)
        if not create_file(path, content) and path.read_bytes() != content:
            if self._is_sound(name, len(table), table.column_names) and not self.failures(name):
                raise RunFailed(
                    f"{path} was written by another process with other predictions of the same images: its "
                    "machine or libraries differ; use the same for all processes, or another folder"
                )
            write_whole(path, content)
        self.written.add(name)


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json."""

    recipe: Recipe
    recipe_digest: str
    info: RunInfo


def _run_json(content: RunRecord) -> dict[str, Any]:
    return {
        "recipe": content.recipe.to_json(),
        "recipe_digest": content.recipe_digest,
        "info": content.info.to_json(),
    }


def read_run_json(path: Location) -> RunRecord:
    """The content of a run folder's run.json; refuses other and damaged folders."""
    file = path / RECIPE_FILE
    if not file.is_file():
        why = "it does not exist" if not path.exists() else f"it has no {RECIPE_FILE}"
        why = "it is a file" if path.is_file() else why
        raise UserError(
            f"{path} is not a run folder: {why}; give a folder written by windtunnel run. windtunnel report "
            "takes the folder of an overlap study, a training or an experiment too."
        )
    folder = RunFolder(path)
    content = folder.read_recipe_file()
    if digest(content.get("recipe")) != content.get("recipe_digest"):
        raise folder.damaged("the recipe differs from its digest")
    try:
        recipe = read_recipe(content["recipe"])
        return RunRecord(recipe, content["recipe_digest"], read_record(content.get("info"), RunInfo))
    except RecordError as error:
        raise folder.damaged(error) from error


def stored_subset(path: Location) -> int | None:
    """The subset that was requested for a started run, 0 for all images; None if there is no run."""
    if not (path / RECIPE_FILE).is_file():
        return None
    record = read_run_json(path)
    data = record.recipe.data
    return record.info.subset or (0 if data.count == data.of else data.count)


def _data_difference(path: Location, samples: pa.Table) -> str:
    """How the requested images differ from those of a stored run."""
    if not (path / SAMPLES_FILE).exists():
        return "other data"
    try:
        stored = read_parquet(path / SAMPLES_FILE, ["id", "content"])
    except (pa.ArrowException, OSError):
        return "other data"
    old = dict(zip(stored["id"].to_pylist(), stored["content"].to_pylist(), strict=True))
    new = dict(zip(samples["id"].to_pylist(), samples["content"].to_pylist(), strict=True))
    parts = {
        "not in it": sorted(new.keys() - old.keys()),
        "only in it": sorted(old.keys() - new.keys()),
        "changed since": sorted(id_ for id_ in old.keys() & new.keys() if old[id_] != new[id_]),
    }
    differences = [f"{len(ids):,} {what}, such as {ids[0]}" for what, ids in parts.items() if ids]
    return f"other images ({'; '.join(differences)})" if differences else "other labels"
