"""Writing a set: find missing or damaged files, make them, record their checksums."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pyarrow as pa

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.locations import Location, is_inside, live_location, local_path
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.set_records import FixedFile
from windtunnel.core.wording import counted
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.data.manifest import (
    CHUNKS_FOLDER,
    SAMPLES_FILE,
    SET,
    Manifest,
    SetFolder,
    checksum,
    create_manifest,
    read_manifest,
    write_manifest,
)
from windtunnel.data.precomputed_shards import WEBDATASET
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_before_codec
from windtunnel.engine.executors import Workers
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Needs, local_paths
from windtunnel.engine.warm_up import warm_up_apart
from windtunnel.imaging.codecs import suffix_of
from windtunnel.make.annotations import MovedAnnotations, moves_annotations, write_annotations
from windtunnel.make.imagenet_s import ImageArrays, paper_names
from windtunnel.make.layouts import ARRAYS, Arrays, Copies, Folders, Layout, Piece
from windtunnel.make.plan import MakePlan, count_views
from windtunnel.make.shards import Shards
from windtunnel.make.verification import fixed_damage, sound_conditions
from windtunnel.make.work import Making
from windtunnel.options.make import COPIES_LAYOUT, SPLITS, STEPS_LAYOUT
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.parquet import parquet_bytes, read_parquet

CHECKSUMS = pa.schema(
    [
        ("path", pa.string()),
        ("condition", pa.string()),
        ("start", pa.int64()),
        ("bytes", pa.int64()),
        ("digest", pa.string()),
    ]
)


def make(
    plan: MakePlan,
    out: Location,
    *,
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    includes: tuple[Path, ...] = (),
    checking: Progress = silent,
    progress: Progress = silent,
) -> Manifest:
    """Write the missing or damaged files of a set and return its manifest.

    Args:
        plan: the set.
        out: its folder; created, or continued if it has the same recipe.
        workers: how many, and where.
        includes: files of the user's units, which workers need too.
        checking: counts stored chunks that were checked.
        progress: counts written images.
    """
    workers.check(portable=plan.dataset.portable, live="A live Python array")
    out = live_location(out)
    check_target(plan, out)
    layout = _layout(plan)
    with SetFolder(out).locked():
        check_target(plan, out)  # again, now that no other process can write
        stored = read_manifest(out)
        pending = _pending(plan, out, checking)
        if stored and (any(pending.values()) or fixed_damage(stored)):
            _check_versions(stored, plan)
        manifest = _begin(plan, out, layout, stored)
        layout.prepare(out)
        missing = [chunk for chunk in plan.chunks if pending[chunk.name]]
        left = sum(len(chunk.images) * count_views(pending[chunk.name]) for chunk in missing)
        progress(plan.files - left, plan.files)
        if missing:
            executor = workers.executor_for(len(missing))
            if executor.separate:
                warm_up_apart(plan.conditions, includes)
            split = plan.recipe.split or SPLITS[0]
            job = Making(
                plan.dataset, plan.canvas.geometry, plan.seed, layout, out, plan.names, split, pending,
                _moved_annotations(plan), _needs(plan, out, includes),
            )  # fmt: skip
            stored_files = plan.files - left

            def advance(done: int, failed: int) -> None:
                progress(done, plan.files, failed)

            try:
                with finishing_items():
                    for chunk, pieces in executor.work(job, missing, workers.count, advance, workers.address):
                        _add_to_table(out, chunk, manifest, pieces)
                        stored_files += len(chunk.images) * count_views(pending[chunk.name])
            except BaseException as error:
                error.add_note(
                    f"{stored_files:,} of {counted(plan.files, 'image')} are in {out} and checked; those of "
                    "unfinished chunks will be made again."
                )
                raise
        if isinstance(plan.dataset, AnnotatedDataset) and plan.layout == COPIES_LAYOUT:
            files = write_annotations(
                out, plan.dataset, plan.images, plan.names, plan.chunks, plan.conditions
            )
            info = msgspec.structs.replace(manifest.info, fixed={**manifest.info.fixed, **files})
            manifest = replace(manifest, info=info)
            write_manifest(manifest)
    return manifest


def _moved_annotations(plan: MakePlan) -> MovedAnnotations | None:
    """The annotations that workers move; None if no condition moves pixels."""
    if plan.layout != COPIES_LAYOUT or plan.dataset.annotations is None:
        return None
    if not any(map(moves_annotations, plan.conditions)):
        return None
    return MovedAnnotations(plan.dataset.annotations, plan.seed)


def _pending(plan: MakePlan, out: Location, checking: Progress) -> dict[str, tuple[Condition, ...]]:
    """The conditions of every chunk that are missing or damaged."""
    pending = {}
    begun = {chunk.name for chunk in plan.chunks if _table_file(out, chunk).exists()}
    for chunk in plan.chunks:
        sound = sound_conditions(out, _table(out, chunk))
        if chunk.name in begun:
            checking(1, len(begun))
        pending[chunk.name] = tuple(condition for condition in plan.conditions if condition.name not in sound)
    return pending


def _needs(plan: MakePlan, out: Location, includes: tuple[Path, ...]) -> Needs:
    """What workers need: the source images, files of the conditions' settings, and the set's folder."""
    settings = [str(value) for condition in plan.conditions for value in condition.settings.values()]
    inputs = local_paths([plan.dataset.location, *settings])
    output = next(iter(local_paths([str(out)])), None)
    return Needs(includes, inputs, output, plan.info.versions)


def check_target(plan: MakePlan, out: Location) -> None:
    """Refuse a folder with other files or a set of another recipe, and name the difference."""
    if plan.layout == "arrays":
        local_path(out, ARRAYS, f"use {option('layout', 'folders')}")
    if is_inside(out, plan.dataset.location):
        raise UserError(f"{out} is inside {plan.dataset.location}; give a folder outside the images.")
    manifest = read_manifest(out)
    if manifest is None:
        made = (out / CHUNKS_FOLDER).is_dir() and any((out / CHUNKS_FOLDER).iterdir())
        SetFolder(out).check_free(nothing_made=not made)
        return
    differing = SetFolder(out).differing_parts(manifest.recipe, plan.recipe)
    if differing:
        raise UserError(
            f"{out} contains a set with another {SET.parts[differing[0]]}; choose another folder, or use the "
            "same setting. Two recipes are never mixed."
        )
    stored = {condition.name: condition.id for condition in manifest.conditions}
    for condition in plan.conditions:
        if stored.get(condition.name, condition.id) != condition.id:
            raise UserError(
                f"{out} contains {condition.name} of another revision or with other settings; "
                "choose another folder. Two recipes are never mixed."
            )
    assets = {condition.unit: condition.assets for condition in manifest.conditions}
    for condition in plan.conditions:
        if dict(assets.get(condition.unit, condition.assets)) != dict(condition.assets):
            raise UserError(
                f"{out} contains {condition.unit} with other settings; choose another folder, or give the "
                f"same {option('settings')}. Two recipes are never mixed."
            )


def _layout(plan: MakePlan) -> Layout:
    if plan.layout == STEPS_LAYOUT:
        places = {
            condition.name: paper_names(plan.recipe.canvas.geometry, condition)
            for condition in plan.conditions
        }
        ids = [image.sample.id for image in plan.images]
        labels = tuple(image.sample.labels[0] for image in plan.images)
        return ImageArrays(places, tuple(plan.names[id_] for id_ in ids), labels)
    if plan.layout == COPIES_LAYOUT:
        return Copies()
    if plan.layout == WEBDATASET:
        rows = {plan.names[image.sample.id]: row for row, image in enumerate(plan.images)}
        return Shards(rows, tuple(image.sample.labels[0] for image in plan.images), plan.recipe.chunk)
    if plan.layout != "arrays":
        return Folders()
    first = plan.images[0]
    source = Source(plan.dataset, first)
    image = next(frames_before_codec(source, plan.conditions[0], plan.canvas.geometry, plan.seed))
    labels = tuple(surveyed.sample.labels[0] for surveyed in plan.images)
    return Arrays(plan.conditions, labels, image.shape[0], image.shape[1])


def _begin(plan: MakePlan, out: Location, layout: Layout, stored: Manifest | None) -> Manifest:
    """Write the list of images and the manifest first, or add conditions to them."""
    rows = [
        {
            "id": image.sample.id,
            "label": -1 if plan.layout == COPIES_LAYOUT else image.sample.labels[0],
            "class": plan.classes[image.sample.id],
            "name": _named(plan, image.sample.id),
            "content": image.content,
        }
        for image in plan.images
    ]
    known = {condition.name: condition for condition in (stored.conditions if stored else ())}
    fixed = {
        name: FixedFile(bytes=len(file.head), digest=checksum(file.head), size=file.size)
        for name, file in layout.fixed().items()
    }
    before = stored.info if stored else plan.info
    info = msgspec.structs.replace(
        plan.info,
        settings=tuple(dict.fromkeys([*before.settings, *plan.info.settings])),
        fixed={**before.fixed, **fixed},
        samples=digest(rows),
    )
    conditions = tuple({**known, **{condition.name: condition for condition in plan.conditions}}.values())
    manifest = Manifest(out, plan.recipe, plan.recipe.digest, conditions, info)
    if stored is None and not create_manifest(manifest):
        check_target(plan, out)  # another process was first
    write_manifest(manifest)
    content = parquet_bytes(pa.Table.from_pylist(rows))
    file = out / SAMPLES_FILE
    if not file.is_file() or file.read_bytes() != content:
        write_whole(file, content)
    (out / CHUNKS_FOLDER).mkdir(exist_ok=True)
    return manifest


def _named(plan: MakePlan, id_: str) -> str:
    """An image's name for readers of the set."""
    return plan.names[id_] + (suffix_of(plan.recipe.codec) if plan.layout == "folders" else "")


def _check_versions(manifest: Manifest, plan: MakePlan) -> None:
    """Refuse to continue with other versions of libraries: their pixels may differ in the last bit."""
    for name, version in plan.info.versions.items():
        if (begun := manifest.info.versions.get(name)) != version:
            raise UserError(
                f"{manifest.root} was started with {name} {begun}, but {version} is installed; "
                "install that version or choose another folder."
            )


def _table_file(out: Location, chunk: Chunk) -> Location:
    return out / CHUNKS_FOLDER / f"{chunk.name}.parquet"


def _table(out: Location, chunk: Chunk) -> pa.Table:
    """A chunk's checksums; empty if it is not made, or its table is damaged."""
    try:
        return read_parquet(_table_file(out, chunk))
    except (pa.ArrowException, OSError):
        return CHECKSUMS.empty_table()


def _add_to_table(out: Location, chunk: Chunk, manifest: Manifest, pieces: list[Piece]) -> None:
    """Record what was written; replaces earlier records of the same conditions."""
    fresh = {piece.condition for piece in pieces}
    rows = [row for row in _table(out, chunk).to_pylist() if row["condition"] not in fresh]
    rows += [asdict(piece) for piece in pieces]
    order = {condition.name: number for number, condition in enumerate(manifest.conditions)}
    rows.sort(key=lambda row: (order[row["condition"]], row["path"]))
    table = pa.Table.from_pylist(rows, CHECKSUMS)
    write_whole(_table_file(out, chunk), parquet_bytes(table))
