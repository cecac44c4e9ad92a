"""WebDataset shards: tar files in which the members of one sample share a key, read without unpacking.

    n01440764/one.jpg   the image
    n01440764/one.cls   its class, as text; or `.json` with a label

The key is the name up to the first dot after the last slash.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted, listed
from windtunnel.data import IMAGE_SUFFIXES, Dataset, nfc
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.table import LABEL_COLUMNS, label_names
from windtunnel.data.tar_index import Member, first_members, read_member, tar_index

# Extensions of labels, in the order in which they are tried.
TEXT, JSON = "cls", "json"
JSON_FIELDS = (*LABEL_COLUMNS, TEXT)
# Of several images of one key the first of these is read.
PREFERRED = ("jpg", "jpeg", "png", "webp")
# The largest label that is read, and the number of members that are read to recognise a shard.
MAX_LABEL_BYTES = 1 << 20
MEMBERS_TRIED = 64
_NUMBERS = re.compile(r"\d+")


@dataclass
class _Record:
    """The members of one key in one shard, by extension in lower case."""

    members: dict[str, Member] = field(default_factory=dict)


class WebDataset(Dataset):
    """Images in WebDataset shards.

    The id is the name of the image's member. If a name occurs in several shards, the shard's name precedes
    it in every id.
    """

    name: str
    location: str
    label_space: LabelSpace
    portable = True
    parallel_reads = True

    def __init__(self, path: Location, shards: Sequence[Location], part: str = "") -> None:
        self.name = re.sub(r"[-_.]*\{[^{}]*\}", "", path.resolve().stem) or "shards"
        self.location = f"{path}#{part}" if part else str(path)
        self._shards = tuple(shards)
        image, label = _extensions(self.location, part)
        places: dict[tuple[int, str], Member] = {}
        labels: dict[tuple[int, str], list[str]] = {}
        notes: list[str] = []
        without_image = 0
        for number, shard in enumerate(shards):
            index = tar_index(shard)
            if not index.ended:
                notes.append(f"{shard.name} has no end marker; it may be incomplete.")
            for key, record in _records(shard, index.members).items():
                chosen = _image_of(record, image)
                if chosen is None:
                    without_image += 1
                    continue
                places[number, chosen.name] = chosen
                labels[number, chosen.name] = _labels_of(shard, key, record, label)
        if not places:
            wanted = f".{image}" if image else ", ".join(f".{name}" for name in PREFERRED)
            raise UserError(f"{self.location} contains no images ({wanted} ...); give other shards.")
        repeated = max(Counter(name for _, name in places).values()) > 1
        ids = {
            place: nfc(f"{shards[place[0]].stem}/{place[1]}" if repeated else place[1]) for place in places
        }
        if len(set(ids.values())) < len(ids):
            raise UserError(f"{self.location} has shards of the same name; rename one of them.")
        self.label_space, index_of = label_space_of(
            (name for names in labels.values() for name in names),
            {name: ids[place] for place, names in labels.items() for name in names},
        )
        self._samples = sorted(
            (Sample(ids[place], tuple(index_of[name] for name in labels[place])) for place in places),
            key=lambda sample: sample.id,
        )
        self._places = {ids[place]: (place[0], member.start, member.size) for place, member in places.items()}
        self._notes = (*notes, *self._label_notes(without_image))

    def _label_notes(self, without_image: int) -> list[str]:
        notes = []
        unlabelled = [sample.id for sample in self._samples if not sample.labels]
        if unlabelled:
            have = counted(len(unlabelled), "image has", "images have")
            notes.append(f"{have} no label in .{TEXT} or .{JSON} ({listed(unlabelled, 1)}).")
        if without_image:
            notes.append(f"{counted(without_image, 'key has', 'keys have')} no image and are left out.")
        return notes

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on images without a label, keys without an image, and shards that may be incomplete."""
        return self._notes

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The member's bytes."""
        number, start, size = self._places[sample.id]
        return read_member(self._shards[number], start, size)


def is_shard(file: Location) -> bool:
    """Whether the first members of a tar file are a WebDataset's: images with a label of the same key."""
    try:
        records = _records(file, first_members(file, MEMBERS_TRIED))
        return any(
            _image_of(record, "") is not None and _labels_of(file, key, record, "")
            for key, record in records.items()
        )
    except UserError:
        return False


def one_series(folder: Location, shards: Sequence[Location]) -> None:
    """Refuse shards whose names differ in more than their numbers: they may be several splits."""
    series: dict[str, list[Location]] = {}
    for shard in shards:
        series.setdefault(_NUMBERS.sub("#", shard.stem), []).append(shard)
    if len(series) > 1:
        first = [files[0].name for files in series.values()]
        raise UserError(
            f"{folder} contains several series of shards ({listed(first, 4)}); give one of them as a "
            f"pattern, such as {folder / _pattern_of(next(iter(series.values())))}."
        )


def _pattern_of(shards: Sequence[Location]) -> str:
    """A pattern that names the shards of a series with one number."""
    first, last = shards[0].name, shards[-1].name
    numbers = list(zip(_NUMBERS.finditer(first), _NUMBERS.findall(last), strict=False))
    for match, other in reversed(numbers):
        if match[0] != other:
            return f"{first[: match.start()]}{{{match[0]}..{other}}}{first[match.end() :]}"
    return first


def _extensions(location: str, part: str) -> tuple[str, str]:
    """The extensions of images and labels that a user chose after `#`; "" for those that are not chosen."""
    image = label = ""
    for name in filter(None, part.split(",")):
        if name.partition(":")[0] in (TEXT, JSON) and not label:
            label = name
        elif not image and _is_image(name):
            image = name
        else:
            raise UserError(
                f"{location}: '{name}' is no extension of an image or a label; give those of the images and "
                f"of the labels, such as #png,{JSON}:label."
            )
    return image, label


def _is_image(extension: str) -> bool:
    return f".{extension.rpartition('.')[2]}" in IMAGE_SUFFIXES


def _records(shard: Location, members: Iterable[Member]) -> dict[str, _Record]:
    """The members of a shard by key; refuses a name that occurs twice."""
    records: dict[str, _Record] = {}
    for member in members:
        folder, slash, base = member.name.rpartition("/")
        stem, dot, extension = base.partition(".")
        if not stem or not dot or member.name.startswith("__MACOSX/"):
            continue
        known = records.setdefault(f"{folder}{slash}{stem}", _Record()).members
        if known.setdefault(extension.lower(), member) is not member:
            raise UserError(
                f"{shard} contains the member '{member.name}' twice; give every image its own key."
            )
    return records


def _image_of(record: _Record, wanted: str) -> Member | None:
    """The image of a key: that of the chosen extension, else the first in the order of `PREFERRED`."""
    if wanted:
        return record.members.get(wanted)
    images = [extension for extension in record.members if _is_image(extension)]
    rank = {name: place for place, name in enumerate(PREFERRED)}
    best = min(images, key=lambda name: (name.count("."), rank.get(name, len(rank)), name), default="")
    return record.members.get(best)


def _labels_of(shard: Location, key: str, record: _Record, wanted: str) -> list[str]:
    """The labels of a key as class names; none if it has no label of the chosen extension."""
    chosen, _, field_ = wanted.partition(":")
    for extension in [chosen] if chosen else [TEXT, JSON]:
        member = record.members.get(extension)
        if member is None:
            continue
        text = _text(shard, member)
        if extension == TEXT:
            return label_names(text)
        if found := _from_json(shard, key, text, field_):
            return found
    return []


def _text(shard: Location, member: Member) -> str:
    if member.size > MAX_LABEL_BYTES:
        raise UserError(f"{shard}: {member.name} has {member.size:,} bytes, too many for a label; remove it.")
    try:
        return read_member(shard, member.start, member.size).decode("utf-8-sig")
    except (UnicodeDecodeError, ImageError) as error:
        raise UserError(f"{shard}: {member.name} cannot be read as text: {error}.") from error


def _from_json(shard: Location, key: str, text: str, field_: str) -> list[str]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UserError(f"{shard}: {key}.{JSON} is not JSON: {error}.") from error
    if isinstance(content, int) and not isinstance(content, bool):
        return [str(content)]
    if not isinstance(content, Mapping):
        raise UserError(f"{shard}: {key}.{JSON} is not an object; give one with a field {LABEL_COLUMNS[1]}.")
    name = field_ or next((name for name in JSON_FIELDS if name in content), "")
    return labels_of_value(content.get(name), f"{shard}: {name or 'the label'} of {key}.{JSON}")


def labels_of_value(value: object, where: str) -> list[str]:
    """A label, or a list of labels, as class names; refuses other values than texts and whole numbers."""
    values = value if isinstance(value, list) else [value]
    for single in values:
        if isinstance(single, bool) or not isinstance(single, str | int | None):
            raise UserError(
                f"{where} is {str(single)[:40]} ({type(single).__name__}); give a class name, a class index, "
                "or a list of them."
            )
    return label_names([single for single in values if single is not None] if value is values else value)
