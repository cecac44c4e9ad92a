"""Annotations of a made set: unchanged, or moved together with the pixels, written as COCO files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from windtunnel.core.annotations import ObjectAnnotation, Objects
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.core.set_records import FixedFile
from windtunnel.corruptions import REGISTRY
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.data.manifest import HIDDEN_FOLDER, checksum
from windtunnel.engine.chunks import Chunk
from windtunnel.imaging.masks import box_mask, mask_box, run_length_code, segmentation_mask
from windtunnel.make.layouts import Fixed, Piece, folder_of, is_intact, write_image
from windtunnel.store.atomic_files import write_whole

FILE = "annotations.json"
PARTS = f"{HIDDEN_FOLDER}/annotations"
# A unit acts on an image of three channels, so it moves three masks at once.
CHANNELS = 3
HALF = 128
NO_MASK = msgspec.Raw(b"[]")


def moves_annotations(condition: Condition) -> bool:
    """Whether a condition moves pixels, and with them boxes and masks."""
    return condition.is_corruption and bool(REGISTRY.get(condition.unit).motion)


def refuse_shuffled(units: Iterable[str]) -> None:
    """Refuse units that tear objects into pieces, for which no box is meaningful."""
    for unit in units:
        if unit in REGISTRY and REGISTRY.get(unit).motion == "pieces":
            raise UserError(
                f"{unit} tears objects into pieces, so that boxes and masks have no meaning; leave it out of "
                f"{option('only')} and of the suite."
            )


def moved(objects: Objects, image: Surveyed, condition: Condition, seed: int) -> Objects:
    """The objects of an image after a condition that moves pixels.

    The unit is applied to the objects' masks with the same random draws as to the image; a pixel belongs to
    an object if at least half of it does. An object without a mask is moved as its filled box. Objects that
    leave the image are left out.
    """
    unit, result = REGISTRY.get(condition.unit), []
    for start in range(0, len(objects), CHANNELS):
        group = objects[start : start + CHANNELS]
        masks = np.zeros((image.height, image.width, CHANNELS), np.uint8)
        for channel, thing in enumerate(group):
            masks[:, :, channel] = 255 * _mask(thing, image)
        rng = unit.draws(seed, image.sample.id, condition.level)
        warped = unit.apply(masks, rng, condition.level, condition.edition, condition.settings)
        for channel, thing in enumerate(group):
            mask = warped[:, :, channel] >= HALF
            if (box := mask_box(mask)) is not None:
                outline = None
                if _segmentation(thing) is not None:
                    outline = msgspec.Raw(msgspec.json.encode(run_length_code(mask)))
                result.append(replace(thing, box=box, area=float(mask.sum()), segmentation=outline))
    return tuple(result)


def _segmentation(thing: ObjectAnnotation) -> Any:
    """An object's segmentation; None for none."""
    return None if thing.segmentation is None else msgspec.json.decode(bytes(thing.segmentation))


def _mask(thing: ObjectAnnotation, image: Surveyed) -> Any:
    segmentation = _segmentation(thing)
    if segmentation is None:
        return box_mask(thing.box, image.width, image.height)
    try:
        return segmentation_mask(segmentation, image.width, image.height)
    except UserError as error:
        raise UserError(f"{image.sample.id}, annotation {thing.id}: {error}") from error


@dataclass(frozen=True)
class MovedAnnotations:
    """The annotations that a worker moves: a file per chunk and condition, which the set's files are made of.

    Attributes:
        objects: the objects of every image by its id.
        seed: seed of every random draw.
    """

    objects: Mapping[str, Objects]
    seed: int

    def write(self, root: Location, chunk: Chunk, conditions: Sequence[Condition]) -> list[Piece]:
        """Write the moved objects of a chunk under every condition that moves pixels."""
        pieces = []
        for condition in conditions:
            if moves_annotations(condition):
                rows = {
                    image.sample.id: moved(self.objects.get(image.sample.id, ()), image, condition, self.seed)
                    for image in chunk.images
                }
                content = msgspec.json.encode(rows)
                path = part_path(chunk, condition)
                write_image(root / path, content)
                pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces


def part_path(chunk: Chunk, condition: Condition) -> str:
    """The file of a chunk's moved objects under a condition."""
    return f"{PARTS}/{folder_of(condition).replace('/', '-')}/{chunk.name}.json"


class _StoredObject(msgspec.Struct):
    """An object in a chunk's file."""

    category: int
    box: tuple[float, float, float, float]
    area: float
    crowd: bool
    id: str
    segmentation: msgspec.Raw


def write_annotations(
    root: Location,
    dataset: AnnotatedDataset,
    images: Sequence[Surveyed],
    names: Mapping[str, str],
    chunks: Sequence[Chunk],
    conditions: Sequence[Condition],
) -> dict[str, FixedFile]:
    """Write the COCO file of every condition next to its images; returns their checksums by path."""
    files = {}
    for condition in conditions:
        objects: Mapping[str, Any] = dataset.annotations
        if moves_annotations(condition):
            objects = {}
            for chunk in chunks:
                content = (root / part_path(chunk, condition)).read_bytes()
                objects |= msgspec.json.decode(content, type=dict[str, tuple[_StoredObject, ...]])
        content = coco_file(dataset, images, names, objects)
        path = f"{folder_of(condition)}/{FILE}"
        if not is_intact(root / path, Fixed(content, len(content))):
            write_whole(root / path, content)
        files[path] = FixedFile(bytes=len(content), digest=checksum(content), size=len(content))
    return files


def coco_file(
    dataset: AnnotatedDataset,
    images: Sequence[Surveyed],
    names: Mapping[str, str],
    objects: Mapping[str, Sequence[Any]],
) -> bytes:
    """A COCO file with the ids of the source; other sources' images and objects are numbered from 1."""
    image_rows: list[dict[str, Any]] = []
    object_rows: list[dict[str, Any]] = []
    for number, image in enumerate(images, 1):
        sample = image.sample
        id_ = _id(sample.meta.get("coco_id", str(number)))
        row = {"id": id_, "file_name": names[sample.id], "width": image.width, "height": image.height}
        if "video" in sample.meta:
            row["video_id"] = _id(sample.meta["video"])
        if "frame" in sample.meta:
            row["frame_index"] = int(sample.meta["frame"])
        image_rows.append(row)
        for thing in objects.get(sample.id, ()):
            object_rows.append(
                {
                    "id": _id(thing.id) if "coco_id" in sample.meta and thing.id else len(object_rows) + 1,
                    "image_id": id_,
                    "category_id": dataset.category_ids[thing.category],
                    "bbox": thing.box,
                    "area": thing.area,
                    "iscrowd": int(thing.crowd),
                    "segmentation": _written(thing.segmentation),
                }
            )
    pairs = zip(dataset.category_ids, dataset.label_space.classes, strict=True)
    categories = [{"id": id_, "name": name} for id_, name in pairs]
    return msgspec.json.encode({"images": image_rows, "annotations": object_rows, "categories": categories})


def _written(segmentation: msgspec.Raw | None) -> msgspec.Raw:
    """A segmentation as COCO files have it: an empty list for none."""
    return NO_MASK if segmentation is None or bytes(segmentation) == b"null" else segmentation


def _id(text: str) -> int | str:
    """An id as the source wrote it: a number if it looks like one."""
    return int(text) if text.isascii() and text.isdecimal() and str(int(text)) == text else text
