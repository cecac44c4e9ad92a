"""Pascal VOC datasets: an XML file of objects per image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

from windtunnel.core.annotations import ObjectAnnotation, Objects
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, entries
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted, listed
from windtunnel.data import is_image_name, nfc, read_file, refuse_duplicates
from windtunnel.data.annotated import AnnotatedDataset, BoxFaults

ANNOTATIONS, IMAGES, SPLITS = "Annotations", "JPEGImages", "ImageSets/Main"
# Class, box, whether it is difficult, and the object's place in its image.
Parsed = tuple[str, tuple[float, float, float, float], bool, int]


class VocDataset(AnnotatedDataset):
    """The images of a Pascal VOC folder; the id of an image is its file name.

    VOC counts pixels from 1 and includes the last one, so the left side is xmin - 1 and the width
    xmax - xmin + 1. Objects marked difficult count neither way, like COCO's crowds.
    """

    def __init__(self, root: Location, split: str = "") -> None:
        self._root, self.name, self.location = root, root.resolve().name, str(root)
        images = {nfc(_stem(entry.name)): entry.name for entry in entries(root / IMAGES) if _is_image(entry)}
        files = {nfc(_stem(entry.name)) for entry in entries(root / ANNOTATIONS) if _is_xml(entry.name)}
        wanted = _split(root, split) if split else files
        unknown = sorted(wanted - files)
        if unknown:
            raise UserError(
                f"{root}: {counted(len(unknown), 'image')} of {SPLITS}/{split}.txt without an XML "
                f"file (the first: {unknown[0]}); add the files, or correct the list."
            )
        missing = sorted(wanted - images.keys())
        if missing:
            raise UserError(
                f"{root}: {counted(len(missing), 'XML file')} without an image in {IMAGES} (the first: "
                f"{missing[0]}.xml); add the images, or delete the files."
            )
        if not wanted:
            raise UserError(f"{root} contains no {ANNOTATIONS}/*.xml; give a Pascal VOC folder.")
        faults = BoxFaults()
        parsed = {stem: _parse(root / ANNOTATIONS / f"{stem}.xml", faults) for stem in sorted(wanted)}
        names = sorted({name for things in parsed.values() for name, *_ in things})
        self.label_space = LabelSpace("categories", tuple(names), "categories in alphabetical order")
        index = {name: place for place, name in enumerate(names)}
        unannotated = sorted(images.keys() - files)
        notes = faults.notes
        if unannotated and not split:
            notes.append(
                f"{counted(len(unannotated), 'image')} left out: no XML file (the first: "
                f"{images[unannotated[0]]})."
            )
        objects = {nfc(images[stem]): _objects(stem, things, index) for stem, things in parsed.items()}
        self.set_objects(objects, notes)
        self._samples = [
            Sample(nfc(images[stem]), self.categories_of(nfc(images[stem])), {"path": images[stem]})
            for stem in sorted(parsed)
        ]
        self._samples.sort(key=lambda sample: sample.id)
        refuse_duplicates(self._samples, str(root))

    def samples(self) -> Sequence[Sample]:
        """Every image with annotations, sorted by name."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self._root / IMAGES / sample.meta["path"])


class _NoDoctype(ElementTree.TreeBuilder):
    """Builds the tree of a document; refuses document types, whose entities can expand without bound."""

    def doctype(self, name: str, _pubid: str | None, _system: str | None) -> None:
        """Refuse a DOCTYPE, before any entity is read."""
        raise UserError(f"a DOCTYPE ({name}) is not allowed in annotations; delete it")


def _parse(file: Location, faults: BoxFaults) -> list[Parsed]:
    """The sound objects of a file; refuses other content in one line."""
    parser = ElementTree.XMLParser(target=_NoDoctype())
    try:
        parser.feed(read_file(file))
        tree = parser.close()
    except ElementTree.ParseError as error:
        raise UserError(f"{file} is not valid XML ({error}); write it again.") from error
    except UserError as error:
        raise UserError(f"{file}: {error}.") from error
    if tree.tag != "annotation":
        raise UserError(f"{file} is not a Pascal VOC file: its element is <{tree.tag}>, not <annotation>.")
    objects: list[Parsed] = []
    for number, thing in enumerate(tree.iter("object"), 1):
        where = f"object {number} of {file.name}"
        name = (thing.findtext("name") or "").strip()
        if not name:
            raise UserError(f"{file}: object {number} has no <name>; write its class.")
        left, top, right, bottom = (
            _number(thing.findtext(f"bndbox/{side}"), file, number)
            for side in ("xmin", "ymin", "xmax", "ymax")
        )
        box = left - 1, top - 1, right - left + 1, bottom - top + 1
        if not faults.has(box, where):
            objects.append((name, box, (thing.findtext("difficult") or "").strip() == "1", number))
    return objects


def _number(text: str | None, file: Location, number: int) -> float:
    """A coordinate; NaN for a missing one."""
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        raise UserError(
            f"{file}: object {number} has the coordinate {text!r}; write a number of pixels."
        ) from None


def _objects(stem: str, things: Sequence[Parsed], index: dict[str, int]) -> Objects:
    return tuple(
        ObjectAnnotation(index[name], box, box[2] * box[3], difficult, f"{stem}/{number}")
        for name, box, difficult, number in things
    )


def _split(root: Location, split: str) -> set[str]:
    """The images of a split; refuses unknown splits."""
    folder = root / SPLITS
    known = (
        [entry.name[:-4] for entry in entries(folder) if entry.name.endswith(".txt")]
        if folder.is_dir()
        else []
    )
    if split not in known:
        raise UserError(
            f"{root} has no split '{split}'; {SPLITS} has {listed(known, 10)}. Give {root} for all images."
        )
    text = read_file(folder / f"{split}.txt").decode("utf-8", "replace")
    # Lists of single classes have a second column, which tells whether the class occurs.
    return {nfc(line.split()[0]) for line in text.splitlines() if line.strip()}


def _is_xml(name: str) -> bool:
    return name.lower().endswith(".xml") and not name.startswith(".")


def _is_image(entry: object) -> bool:
    return is_image_name(getattr(entry, "name", ""))


def _stem(name: str) -> str:
    return name.rpartition(".")[0]
