"""Making a set on this machine: find what is missing or damaged, make it, note its checksums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.conditions import Condition, digest
from windtunnel.corruptions import include_units
from windtunnel.data import Dataset
from windtunnel.data.manifest import (
    CHECKSUMS,
    CHUNKS_FOLDER,
    HIDDEN_FOLDER,
    MANIFEST_FILE,
    SAMPLES_FILE,
    Manifest,
    read_manifest,
    write_manifest,
)
from windtunnel.engine.local import opencv_on_one_thread
from windtunnel.engine.pictures import Source
from windtunnel.engine.pool import Advance, Chunk, Labour, work_in_processes
from windtunnel.engine.work import warm_up
from windtunnel.errors import PictureError, RunFailed, UserError
from windtunnel.imaging.codecs import suffix_of
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import pillow_quiet
from windtunnel.make.check import sound_conditions
from windtunnel.make.layouts import Arrays, Folders, Layout, Made, Piece
from windtunnel.make.plan import MakePlan
from windtunnel.store.files import locked, parquet_bytes, read_parquet, write_whole

# What each part of a recipe is called when two recipes disagree.
PARTS = {
    "suite": "suite, edition or codec",
    "layout": "layout",
    "data": "data",
    "canvas": "canvas",
    "codec": "codec",
    "seed": "seed",
    "stream": "random stream version",
    "chunk": "chunk size",
}


@dataclass(frozen=True)
class Making:
    """The job of a worker: make the pending conditions of a chunk's pictures and write them.

    Attributes:
        dataset: the source pictures.
        geometry: how they become canvases.
        seed: of every random draw.
        layout: how they are laid out.
        root: the set's folder.
        names: of the pictures in the set, by id.
        pending: what is to be made, by chunk.
        includes: files of the user's units.
    """

    dataset: Dataset
    geometry: Geometry
    seed: int
    layout: Layout
    root: Path
    names: dict[str, str]
    pending: dict[str, tuple[Condition, ...]]
    includes: tuple[Path, ...]

    def begin(self) -> Labour:
        """Know the user's units."""
        include_units(self.includes)
        return self.make

    def make(self, chunk: Chunk, advance: Advance) -> list[Piece]:
        """Every pending picture of a chunk, written; returns what was."""
        try:
            with pillow_quiet():
                return self.layout.write(self.root, self._pictures(chunk, advance))
        except OSError as error:
            raise RunFailed(f"{self.root} cannot be written: {error.strerror or error}") from error

    def _pictures(self, chunk: Chunk, advance: Advance) -> Iterator[Made]:
        for picture in chunk.pictures:
            source = Source(self.dataset, picture)
            for condition in self.pending[chunk.name]:
                try:
                    image = source.before_codec(condition, self.geometry, self.seed)
                except PictureError as error:
                    raise RunFailed(
                        f"{picture.sample.id} could be read before and cannot now: {error.reason}"
                    ) from error
                yield self.names[picture.sample.id], condition, image
            advance(len(self.pending[chunk.name]), 0)


def make(
    plan: MakePlan,
    out: Path,
    *,
    workers: int = 1,
    includes: tuple[Path, ...] = (),
    look: Callable[[int, int], None] = lambda _done, _total: None,
    advance: Advance = lambda _done, _failed: None,
) -> Manifest:
    """Write what is missing of a set, or damaged, and return its manifest.

    Args:
        plan: the set.
        out: its folder; made, or continued where it holds the same recipe.
        workers: 1 works in this process; more spawn as many.
        includes: files of the user's units, which workers need too.
        look: told of finished pieces that were checked, and of how many.
        advance: told of pieces as they are there.
    """
    if workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1.")
    if workers > 1 and not plan.dataset.portable:
        raise UserError("A live Python array cannot be sent to worker processes; use workers=1.")
    check_target(plan, out)
    layout = _layout(plan)
    hidden = out / HIDDEN_FOLDER
    with locked(out, f"{HIDDEN_FOLDER}/lock"):
        loose = layout.prepare(out)
        manifest = _begin(plan, out, loose)
        tables = {chunk.name: _table(hidden, chunk) for chunk in plan.chunks}
        pending: dict[str, tuple[Condition, ...]] = {}
        for chunk in plan.chunks:
            sound = sound_conditions(out, tables[chunk.name])
            look(len(tables[chunk.name]), sum(map(len, tables.values())))
            pending[chunk.name] = tuple(one for one in plan.conditions if one.name not in sound)
        missing = [chunk for chunk in plan.chunks if pending[chunk.name]]
        advance(plan.files - sum(len(chunk.pictures) * len(pending[chunk.name]) for chunk in missing), 0)
        if missing:
            _check_versions(manifest, plan)
            warm_up(plan.conditions)
            job = Making(
                plan.dataset, plan.canvas.geometry, plan.seed, layout, out, plan.names, pending, includes
            )
            for chunk, pieces in _made(job, missing, workers, advance):
                fresh = {one.condition for one in pieces}
                kept = [row for row in tables[chunk.name].to_pylist() if row["condition"] not in fresh]
                _write_table(hidden, chunk, manifest, kept + [asdict(piece) for piece in pieces])
    return manifest


def _made(
    job: Making, missing: list[Chunk], workers: int, advance: Advance
) -> Iterator[tuple[Chunk, list[Piece]]]:
    if workers > 1 and len(missing) > 1:
        yield from work_in_processes(job, missing, workers, advance)
        return
    with opencv_on_one_thread():
        for chunk in missing:
            yield chunk, job.make(chunk, advance)


def check_target(plan: MakePlan, out: Path) -> None:
    """Refuse a folder that holds something else or a set of another recipe, and name the difference."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; give a folder for the set.")
    manifest = read_manifest(out)
    if manifest is None:
        begun = (HIDDEN_FOLDER, MANIFEST_FILE)
        if out.is_dir() and any(entry.name not in begun for entry in out.iterdir()) and not _is_begun(out):
            raise UserError(f"{out} holds other files; give a folder of its own for the set.")
        return
    differing = [PARTS[key] for key in PARTS if manifest.recipe.get(key) != plan.recipe.get(key)]
    if differing:
        raise UserError(
            f"{out} holds a set with another {', another '.join(differing)}; choose another folder, or give "
            "what it was made with. Two recipes are never mixed."
        )
    stored = {one.name: one.id for one in manifest.conditions}
    for condition in plan.conditions:
        if stored.get(condition.name, condition.id) != condition.id:
            raise UserError(
                f"{out} holds {condition.name} of another revision or with other settings; "
                "choose another folder. Two recipes are never mixed."
            )


def _is_begun(out: Path) -> bool:
    """Whether a make was killed in its first moment: its hidden folder is there, its manifest is not."""
    return (out / HIDDEN_FOLDER).is_dir()


def _layout(plan: MakePlan) -> Layout:
    if plan.layout == "folders":
        return Folders()
    first = plan.pictures[0]
    image = Source(plan.dataset, first).before_codec(plan.conditions[0], plan.canvas.geometry, plan.seed)
    labels = tuple(one.sample.labels[0] for one in plan.pictures)
    units = tuple(dict.fromkeys(one.unit for one in plan.conditions if one.unit))
    return Arrays(units, labels, image.shape[0], image.shape[1])


def _begin(plan: MakePlan, out: Path, loose: dict[str, str]) -> Manifest:
    """Write the manifest and the list of pictures, or add conditions to those that are there."""
    stored = read_manifest(out)
    info: dict[str, Any] = {**(stored.info if stored else plan.info), "files": loose}
    known = {one.name: one for one in (stored.conditions if stored else ())}
    conditions = tuple({**known, **{one.name: one for one in plan.conditions}}.values())
    manifest = Manifest(out, plan.recipe, digest(plan.recipe), conditions, info)
    table = pa.table(
        {
            "id": [one.sample.id for one in plan.pictures],
            "class": [plan.classes[one.sample.id] for one in plan.pictures],
            "name": [_named(plan, one.sample.id) for one in plan.pictures],
            "content": [one.content for one in plan.pictures],
        }
    )
    write_whole(out / HIDDEN_FOLDER / SAMPLES_FILE, parquet_bytes(table))
    (out / HIDDEN_FOLDER / CHUNKS_FOLDER).mkdir(exist_ok=True)
    if stored is None or stored != manifest:
        write_manifest(manifest)
    return manifest


def _named(plan: MakePlan, id_: str) -> str:
    """A picture's name as a reader of the set finds it."""
    return plan.names[id_] + (suffix_of(plan.recipe["codec"]) if plan.layout == "folders" else "")


def _check_versions(manifest: Manifest, plan: MakePlan) -> None:
    """Refuse to go on with other libraries: their pixels may differ in the last bit."""
    for name, version in plan.info["versions"].items():
        if (begun := manifest.info["versions"].get(name)) != version:
            raise UserError(
                f"{manifest.root} was begun with {name} {begun}, here is {version}; "
                "finish it there or choose another folder."
            )


def _table(hidden: Path, chunk: Chunk) -> pa.Table:
    """A chunk's checksums; none where it is not made, or its table is damaged."""
    try:
        return read_parquet(hidden / CHUNKS_FOLDER / f"{chunk.name}.parquet")
    except (pa.ArrowException, OSError):
        return CHECKSUMS.empty_table()


def _write_table(hidden: Path, chunk: Chunk, manifest: Manifest, rows: list[dict[str, Any]]) -> None:
    order = {one.name: number for number, one in enumerate(manifest.conditions)}
    rows.sort(key=lambda row: (order[row["condition"]], row["path"]))
    table = pa.Table.from_pylist(rows, CHECKSUMS)
    write_whole(hidden / CHUNKS_FOLDER / f"{chunk.name}.parquet", parquet_bytes(table))
