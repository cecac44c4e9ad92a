"""COCO annotation files: images, categories and objects in one JSON file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from windtunnel.core.annotations import ObjectAnnotation, Objects
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, local_file
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted
from windtunnel.data import nfc, read_file, refuse_duplicates
from windtunnel.data.annotated import AnnotatedDataset, BoxFaults, Coordinate

Id = int | str
# How files write that an object has no mask.
NO_MASK = (b"null", b"[]")


class CocoImage(msgspec.Struct):
    """One entry of `images`."""

    id: Id
    file_name: str
    width: int = 0
    height: int = 0
    video_id: Id | None = None
    frame_index: int | None = None


class CocoCategory(msgspec.Struct):
    """One entry of `categories`."""

    id: Id
    name: str


class CocoAnnotation(msgspec.Struct):
    """One entry of `annotations`."""

    image_id: Id
    category_id: Id
    bbox: list[Coordinate] = []
    id: Id = ""
    area: Coordinate = None
    iscrowd: int = 0
    segmentation: msgspec.Raw = msgspec.Raw(b"null")


class CocoFile(msgspec.Struct):
    """The parts of a COCO file that are read."""

    images: list[CocoImage]
    annotations: list[CocoAnnotation] = []
    categories: list[CocoCategory] = []


def looks_like_coco(path: Location) -> bool:
    """Whether a JSON file is a COCO annotation file, by its beginning and end.

    The keys of a COCO file may be in any order, but `images` is one of them, and images have file names.
    """
    with local_file(path).open("rb") as stream:
        head = stream.read(65536)
    return head.lstrip()[:1] == b"{" and any(
        key in head for key in (b'"images"', b'"annotations"', b'"categories"')
    )


class CocoDataset(AnnotatedDataset):
    """The images of a COCO file; the id of an image is its file name."""

    def __init__(self, file: Location) -> None:
        self.name, self.location = file.stem, str(file)
        content = read_coco(file)
        _refuse_twice([image.id for image in content.images], "image", file)
        _refuse_twice([category.id for category in content.categories], "category", file)
        _refuse_twice([thing.id for thing in content.annotations if thing.id != ""], "annotation", file)
        ordered = sorted(content.categories, key=lambda category: (str(type(category.id)), category.id))
        self.label_space = LabelSpace(
            "categories", tuple(category.name for category in ordered), "categories in the order of their ids"
        )
        self._category_ids = tuple(category.id for category in ordered)
        names = {image.id: nfc(image.file_name) for image in content.images}
        place = {id_: number for number, id_ in enumerate(self._category_ids)}
        unknown_image = [thing for thing in content.annotations if thing.image_id not in names]
        unknown_category = [thing for thing in content.annotations if thing.category_id not in place]
        for wrong, what in ((unknown_image, "image_id"), (unknown_category, "category_id")):
            if wrong:
                raise UserError(
                    f"{file}: {counted(len(wrong), 'annotation')} of {len(content.annotations)} have an "
                    f"unknown {what} (the first, id {wrong[0].id}: {getattr(wrong[0], what)!r}); correct "
                    "the file."
                )
        objects, notes = _objects(content.annotations, names, place)
        self.set_objects(objects, notes)
        self._samples = sorted(
            (self._sample(image) for image in content.images), key=lambda sample: sample.id
        )
        if not self._samples:
            raise UserError(f"{file} lists no images; give a COCO file with entries in images.")
        refuse_duplicates(self._samples, str(file))
        self._root = image_root(file, self._samples[0].meta["path"])

    def _sample(self, image: CocoImage) -> Sample:
        id_ = nfc(image.file_name)
        path = PurePosixPath(image.file_name)
        if path.is_absolute() or ".." in path.parts:
            raise UserError(
                f"{self.location}: the file name {image.file_name!r} leaves the folder of the images; give "
                "names relative to it."
            )
        meta = {"path": image.file_name, "coco_id": str(image.id)}
        if image.width and image.height:
            meta |= {"width": str(image.width), "height": str(image.height)}
        if image.video_id is not None:
            meta["video"] = str(image.video_id)
        if image.frame_index is not None:
            meta["frame"] = str(image.frame_index)
        return Sample(id_, self.categories_of(id_), meta)

    @property
    def category_ids(self) -> Sequence[int | str]:
        """The ids of the categories in the file."""
        return self._category_ids

    def samples(self) -> Sequence[Sample]:
        """Every image of the file, sorted by name."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self._root / sample.meta["path"])


def read_coco(file: Location) -> CocoFile:
    """The content of a COCO file; refuses other content in one line."""
    content = local_file(file).read_bytes()
    try:
        return msgspec.json.decode(content, type=CocoFile)
    except msgspec.ValidationError as error:
        raise UserError(f"{file} is not a COCO annotation file: {error}.") from error
    except msgspec.DecodeError as error:
        raise UserError(
            f"{file} is not valid JSON ({error}); write it again. JSON has no NaN, and a truncated file ends "
            "early."
        ) from error


def image_root(file: Location, first: str) -> Location:
    """The folder that file names are relative to: the first of the usual places that has the first image."""
    folder = file.parent
    part = file.stem.removeprefix("instances_")
    places = (folder, folder / "images", folder / file.stem, folder.parent / part, folder.parent / "images")
    for place in places:
        if (place / first).is_file():
            return place
    tried = ", ".join(str(place) for place in places)
    raise UserError(f"{file}: the image {first} is in none of {tried}; put the images into one of them.")


def _objects(
    annotations: Sequence[CocoAnnotation], names: Mapping[Id, str], place: Mapping[Id, int]
) -> tuple[dict[str, Objects], list[str]]:
    """The objects of every image, and notes on boxes that are left out."""
    objects: dict[str, list[ObjectAnnotation]] = {}
    faults = BoxFaults()
    for thing in annotations:
        if faults.has(thing.bbox, f"id {thing.id}"):
            continue
        left, top, width, height = (float(value or 0) for value in thing.bbox)
        area = thing.area if thing.area is not None and math.isfinite(thing.area) else width * height
        objects.setdefault(names[thing.image_id], []).append(
            ObjectAnnotation(
                place[thing.category_id],
                (left, top, width, height),
                area,
                bool(thing.iscrowd),
                str(thing.id),
                None if bytes(thing.segmentation) in NO_MASK else thing.segmentation,
            )
        )
    return {id_: tuple(things) for id_, things in objects.items()}, faults.notes


def _refuse_twice(ids: Sequence[Id], what: str, file: Location) -> None:
    """Refuse a file in which two entries have the same id."""
    repeated = [id_ for id_, count in Counter(ids).items() if count > 1]
    if repeated:
        raise UserError(
            f"{file} has {counted(len(repeated), f'{what} id')} twice (the first: {repeated[0]!r}); give "
            f"every {what} its own id."
        )
