"""Hugging Face datasets on disk: Parquet files with encoded images, and folders of `save_to_disk`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import pyarrow as pa

from windtunnel.core.errors import ImageError, UserError, first_line
from windtunnel.core.labels import LabelSpace, index_space
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted, listed
from windtunnel.data import Dataset, nfc, read_file
from windtunnel.data.arrow_tables import ParquetTable, TableFile
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.table import LABEL_COLUMNS
from windtunnel.data.webdataset import labels_of_value
from windtunnel.imaging.files import check_bytes
from windtunnel.published.imagenet import imagenet_1k, imagenet_names

# The key of the features in the metadata of a schema.
METADATA = b"huggingface"
IMAGE, CLASS_LABEL = "Image", "ClassLabel"
# The label of images without one, where classes are declared.
NO_LABEL = -1
# The share of ImageNet's names at their own index that makes a list of 1,000 names ImageNet-1k's.
SAME_NAMES = 0.99


@dataclass(frozen=True, slots=True)
class _Row:
    """A row without its image: file and number, own id and path (or ""), label, and other columns."""

    file: int
    number: int
    id: str
    path: str
    label: Any
    meta: dict[str, str]


class TableRows(Dataset):
    """The rows of one or several files with a column of encoded images.

    The id is the column `id` if there is one, else the path that is stored with the image, else the file's
    name and the row. Other columns of texts and numbers are kept with the sample.
    """

    name: str
    location: str
    label_space: LabelSpace
    portable = True

    def __init__(self, name: str, location: str, files: Sequence[TableFile], columns: Sequence[str]) -> None:
        self.name = name
        self.location = location
        self._files = tuple(files)
        schema = _common_schema(location, files)
        features = features_of(schema)
        self._image, label = _chosen_columns(location, schema, features, columns)
        for file in files:
            if isinstance(file, ParquetTable):
                file.check_groups(self._image)
        rows = [row for number, file in enumerate(files) for row in _rows(number, file, self._image, label)]
        if not rows:
            raise UserError(f"{location} has no rows; give another split or file.")
        names = _class_names(features.get(label))
        ids = self._ids(rows)
        self.label_space, labels = _labels(location, [row.label for row in rows], ids, names, label)
        self._notes = self._label_notes(label, labels)
        self._places = {id_: (row.file, row.number) for id_, row in zip(ids, rows, strict=True)}
        self._samples = sorted(
            (Sample(id_, own, row.meta) for id_, own, row in zip(ids, labels, rows, strict=True)),
            key=lambda sample: sample.id,
        )

    def _ids(self, rows: Sequence[_Row]) -> list[str]:
        """An id for each row: its own, its path, or its place."""
        count = Counter(nfc(row.path) for row in rows)
        ids = []
        for row in rows:
            usable = row.path and count[nfc(row.path)] == 1 and not _leaves_folder(row.path)
            place = f"{self._files[row.file].location.stem}/{row.number:08d}"
            ids.append(nfc(row.id or (row.path if usable else place)))
        if len(set(ids)) < len(ids):
            twice = next(id_ for id_, uses in Counter(ids).items() if uses > 1)
            raise UserError(f"{self.location} contains the id '{twice}' twice; give every image its own id.")
        return ids

    def _label_notes(self, label: str, labels: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
        without = sum(not own for own in labels)
        if not label:
            return (f"{self.location} has no column of labels: no image has a label.",)
        if not without:
            return ()
        return (f"{counted(without, 'image has', 'images have')} no label in the column {label}.",)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on images without a label."""
        return self._notes

    def samples(self) -> Sequence[Sample]:
        """Every row, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The encoded bytes of a row; of a row without bytes, those of the file that its path names."""
        number, row = self._places[sample.id]
        file = self._files[number]
        try:
            value = file.cell(self._image, row)
        except (pa.ArrowException, OSError, UserError) as error:
            raise ImageError(
                "unreadable", f"cannot read from {file.location.name}: {first_line(error)}"
            ) from error
        content, path = (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, value)
        if isinstance(content, bytes):
            check_bytes(len(content))
            return content
        if not isinstance(path, str) or not path:
            raise ImageError("unreadable", "the row has neither bytes nor a path")
        if _leaves_folder(path):
            raise ImageError(
                "unreadable", f"the row has no bytes, and its path is not below {file.location.parent}"
            )
        return read_file(file.location.parent / path)


def _rows(number: int, file: TableFile, image: str, label: str) -> Iterator[_Row]:
    """The rows of a file; the bytes of images are not read."""
    type_ = file.schema.field(image).type
    kept = _kept_columns(file.schema, {image, label})
    with_path = pa.types.is_struct(type_) and type_.get_field_index("path") >= 0
    columns = [image] if _is_text(type_) else [f"{image}.path"] if with_path else []
    columns += [label, *kept] if label else kept
    rows = file.columns(columns).to_pylist() if columns else [{}] * file.rows
    for place, row in enumerate(rows):
        stored = row.get(image)
        path = stored.get("path") if isinstance(stored, dict) else stored
        meta = {name: str(row[name]) for name in kept if row[name] is not None}
        yield _Row(number, place, meta.pop("id", ""), path or "", row.get(label), meta)


def features_of(schema: pa.Schema) -> dict[str, Any]:
    """The declared type of every column, from the metadata of the schema; empty without it."""
    try:
        content = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        features = content.get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    return features if isinstance(features, dict) else {}


def _common_schema(location: str, files: Sequence[TableFile]) -> pa.Schema:
    """The schema of all files; refuses files with other columns than the first."""
    schema = files[0].schema
    for file in files[1:]:
        if not file.schema.equals(schema):
            raise UserError(
                f"{location}: {file.location.name} has other columns than {files[0].location.name}; give the "
                "files of one dataset."
            )
    return schema


def _chosen_columns(
    location: str, schema: pa.Schema, features: Mapping[str, Any], wanted: Sequence[str]
) -> tuple[str, str]:
    """The columns of images and of labels; "" for no labels. Refuses a choice that is not clear."""
    for name in wanted:
        if name not in schema.names:
            raise UserError(f"{location} has no column '{name}'; it has {listed(schema.names, 12)}.")
    types = {name: schema.field(name).type for name in schema.names}
    images = [name for name in schema.names if _is_image(types[name], features.get(name))]
    # A column of texts is a column of paths only if the user says so, and names a label as well.
    chosen = [name for name in wanted if name in images] or (
        [wanted[0]] if len(wanted) == 2 and _is_text(types[wanted[0]]) else []
    )
    if not chosen and len(images) != 1:
        has = f"several columns of images ({listed(images)})" if images else "no column of encoded images"
        raise UserError(
            f"{location} has {has} among {listed(schema.names, 12)}; name the columns of images and labels, "
            f"such as {location.partition('#')[0]}#image,label."
        )
    image = chosen[0] if chosen else images[0]
    labels = [name for name in wanted if name != image]
    if len(labels) > 1:
        raise UserError(f"{location} names {listed(wanted)}; give a column of images and one of labels.")
    if not labels:
        declared = [name for name in schema.names if _class_names(features.get(name)) is not None]
        usual = [name for name in LABEL_COLUMNS if name in schema.names]
        labels = usual[:1] or declared
        if len(labels) > 1:
            raise UserError(
                f"{location} has several columns of labels ({listed(labels)}); name one, such as "
                f"{location.partition('#')[0]}#{image},{labels[0]}."
            )
    return image, labels[0] if labels else ""


def _is_image(type_: pa.DataType, feature: object) -> bool:
    if isinstance(feature, Mapping) and feature.get("_type") == IMAGE:
        return True
    if pa.types.is_struct(type_):
        return any(field.name == "bytes" and _is_binary(field.type) for field in type_)
    return _is_binary(type_)


def _is_binary(type_: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _kept_columns(schema: pa.Schema, used: set[str]) -> list[str]:
    """The other columns of texts, numbers and truth values."""

    def is_plain(type_: pa.DataType) -> bool:
        return _is_text(type_) or bool(
            pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
        )

    return [name for name in schema.names if name not in used and is_plain(schema.field(name).type)]


def _class_names(feature: object) -> list[str] | None:
    """The class names that a feature declares, also of a list of labels; None for other features."""
    if not isinstance(feature, Mapping):
        return None
    if feature.get("_type") == CLASS_LABEL:
        names = feature.get("names")
        return [str(name) for name in names] if isinstance(names, list) else None
    return _class_names(feature.get("feature"))


def _labels(
    location: str, values: Sequence[Any], ids: Sequence[str], names: list[str] | None, column: str
) -> tuple[LabelSpace, list[tuple[int, ...]]]:
    """The label space of a column of labels, and the class indices of every row."""
    texts = [
        labels_of_value(value, f"{location}: {column} of '{id_}'")
        for id_, value in zip(ids, values, strict=True)
    ]
    if names is None:
        space, index = label_space_of(
            (name for row in texts for name in row),
            {name: id_ for id_, row in zip(ids, texts, strict=True) for name in row},
        )
        return space, [tuple(index[name] for name in row) for row in texts]
    space, place = declared_space(names)
    labels: list[tuple[int, ...]] = []
    for id_, row in zip(ids, texts, strict=True):
        own = []
        for text in row:
            number = int(text) if text.lstrip("-").isdecimal() else NO_LABEL - 1
            if number == NO_LABEL:
                continue
            if not 0 <= number < len(names):
                raise UserError(
                    f"{location}: the label of '{id_}' is {text}; the dataset declares {len(names):,} "
                    f"classes, numbered from 0. Correct it, or give {NO_LABEL} for no label."
                )
            own.append(place[number])
        labels.append(tuple(own))
    return space, labels


def declared_space(names: Sequence[str]) -> tuple[LabelSpace, list[int]]:
    """The label space of declared class names, and the index of each name in it.

    WordNet ids keep their ImageNet-1k indices, and so do the 1,000 names of ImageNet-1k in its order. Names
    that are their own numbers are class indices.
    """
    known, numbers = imagenet_1k(), list(range(len(names)))
    if set(names) <= set(known.classes):
        return known, [known.classes.index(name) for name in names]
    if _are_imagenets(names):
        return known, numbers
    if list(names) == list(map(str, numbers)):
        return index_space(len(names)), numbers
    return LabelSpace("names", tuple(names), "class names in the order that the dataset declares"), numbers


def _are_imagenets(names: Sequence[str]) -> bool:
    """Whether names are those of ImageNet-1k in its order, by the first of several synonyms."""
    known = list(imagenet_names().values())
    if len(names) != len(known):
        return False
    same = sum(_first(name) == _first(other) for name, other in zip(names, known, strict=True))
    return same >= SAME_NAMES * len(known)


def _first(name: str) -> str:
    return name.partition(",")[0].strip().replace("_", " ").casefold()


def _leaves_folder(path: str) -> bool:
    """Whether a path is absolute, a URL or climbs out of its folder."""
    parts = PurePosixPath(path.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or "://" in path or bool(PureWindowsPath(path).drive)
