"""Names of the images in a made set: class and stem in folders, row numbers in arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.data import is_image_name
from windtunnel.data.precomputed_shards import WEBDATASET
from windtunnel.imaging.codecs import suffix_of
from windtunnel.options.make import COPIES_LAYOUT, STEPS_LAYOUT

# Spellings of the suffix of JPEG files.
JPEG_SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif")


def image_names(
    layout: str, images: Sequence[Surveyed], folders: Sequence[str], codec: str
) -> dict[str, str]:
    """By id, the name of each image in a layout; `folders` are the folder names by class index."""
    if layout == COPIES_LAYOUT:
        return _copy_names(images, suffix_of(codec))
    if layout == "arrays":
        return _row_names(images)
    if layout == STEPS_LAYOUT:
        return _own_names(images)
    names = _file_names(images, folders)
    return _keys(names) if layout == WEBDATASET else names


def _file_names(images: Sequence[Surveyed], folders: Sequence[str]) -> dict[str, str]:
    """`class/stem` of every image; if two would be equal, the whole id is the stem."""
    folder_of = {image.sample.id: folders[image.sample.labels[0]] for image in images}
    short = {id_: f"{folder}/{_stem(id_)}" for id_, folder in folder_of.items()}
    taken = Counter(short.values())
    names = {
        id_: name if taken[name] == 1 else f"{folder_of[id_]}/{id_.replace('/', '_')}"
        for id_, name in short.items()
    }
    if len({name.casefold() for name in names.values()}) < len(names):
        raise UserError("Two images would get the same name on disk; give them ids that differ.")
    for id_, name in names.items():
        folder, _, stem = name.partition("/")
        if not (_may_name_a_file(folder) and _may_name_a_file(stem)):
            raise UserError(
                f"{id_} would be written as {name!r}; a class and a name on disk must not be empty, contain "
                f"a slash or begin with a dot. Rename it, or use {option('layout', 'arrays')}."
            )
    return names


def _keys(names: dict[str, str]) -> dict[str, str]:
    """Names as keys of WebDataset shards: a key ends at the first dot after the last slash."""
    parts = {id_: name.rpartition("/") for id_, name in names.items()}
    keys = {id_: f"{folder}/{stem.replace('.', '_')}" for id_, (folder, _, stem) in parts.items()}
    if len(set(keys.values())) < len(keys):
        raise UserError("Two images would get the same key; give them names that differ in more than dots.")
    return keys


def _may_name_a_file(text: str) -> bool:
    return bool(text) and not text.startswith(".") and not set(text) & set("/\\\0")


def _stem(id_: str) -> str:
    base = id_.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if is_image_name(base) else base


def _own_names(images: Sequence[Surveyed]) -> dict[str, str]:
    """Every image under its name in the source."""
    for image in images:
        if any(not _may_name_a_file(part) for part in image.sample.id.split("/")):
            raise UserError(f"{image.sample.id!r} cannot be a file's name; rename the image.")
    return {image.sample.id: image.sample.id for image in images}


def _copy_names(images: Sequence[Surveyed], suffix: str) -> dict[str, str]:
    """Every image under its name in the source, with the codec's suffix if its own is another format's."""
    fitting = JPEG_SUFFIXES if suffix.lower() in JPEG_SUFFIXES else (suffix.lower(),)
    names = {}
    for id_, name in _own_names(images).items():
        stem, dot, own = name.rpartition(".")
        names[id_] = (
            name if f"{dot}{own}".lower() in fitting else (stem if is_image_name(name) else name) + suffix
        )
    taken = Counter(name.casefold() for name in names.values())
    return {id_: name if taken[name.casefold()] == 1 else f"{id_}{suffix}" for id_, name in names.items()}


def _row_names(images: Sequence[Surveyed]) -> dict[str, str]:
    return {image.sample.id: f"{row:08d}" for row, image in enumerate(images)}
