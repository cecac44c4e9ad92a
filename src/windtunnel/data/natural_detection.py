"""Detection of the natural set in a folder by its name, its classes and its files."""

from __future__ import annotations

import re
from itertools import islice

from windtunnel.core.locations import Location, entries, location_of
from windtunnel.core.option_names import option
from windtunnel.data import Dataset
from windtunnel.data.frame_json import find_json
from windtunnel.data.frame_layouts import holds_frame_sets, lists_frame_sets
from windtunnel.data.natural_classes import counted_imagenet_classes
from windtunnel.data.own_sets import DECLARATION, own_natural_set
from windtunnel.data.ytbb_annotations import ANCHOR_LABELS
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import (
    folder_key,
    masked_classes,
    natural_sets,
    several_ids,
)

# File names of ImageNet's own images: folders with such files are clean, whatever their name and classes.
VALIDATION_FILE = re.compile(r"ILSVRC2012_")
TRAINING_FILE = re.compile(r"(n\d{8})_\d+\.JPEG")
FILES_CHECKED = 5
# After a set's name these words mean that a folder contains the clean images for it.
OF_CLEAN = "clean|val|train|in"


def detect_natural_set(source: object) -> str:
    """The name of the natural set at a path, or "" if none is recognised."""
    if not isinstance(source, str | Location) or not location_of(source).exists():
        return ""
    path = location_of(source)
    if own := own_natural_set(path):
        return own.name
    name = re.sub("[_ ]", "-", (path.resolve().name if path.is_dir() else path.stem).lower())
    if path.is_dir() and holds_frame_sets(path):
        return _named(name, ("video", "ytbb")) or _by_keys(path)
    name_of_set = _named(name, ("wordnet", "indices", "objectnet", "attributes"))
    if not path.is_dir():
        return name_of_set or ("pm-k" if lists_frame_sets(path) else "")
    folders = _folders(path)
    name_of_set = name_of_set or _by_classes(folders)
    by_class = name_of_set and natural_sets()[name_of_set].layout in ("wordnet", "indices")
    return "" if by_class and _is_imagenets_own(path, folders) else name_of_set


def _named(name: str, layouts: tuple[str, ...]) -> str:
    """The set that a folder is named after; further words may follow, except those for clean images."""
    for natural in natural_sets().values():
        own = "|".join(map(re.escape, natural.names))
        if own and natural.layout in layouts and re.match(rf"({own})(?!-({OF_CLEAN})(-|$))(-|$)", name):
            return natural.name
    return ""


def _by_keys(path: Location) -> str:
    """The video set of a folder, by YTBB's annotation files or ImageNet-Vid's videos; else `pm-k`."""
    if find_json(path, ANCHOR_LABELS):
        return "ytbb-robust"
    videos = path / "val"
    known = videos.is_dir() and any(video.name.startswith("ILSVRC20") for video in videos.iterdir())
    return "vid-robust" if known else "pm-k"


def _folders(path: Location) -> set[str]:
    return {entry.name for entry in entries(path) if entry.is_dir() and not entry.name.startswith(".")}


def _by_classes(folders: set[str]) -> str:
    """The set whose classes are exactly these folders, or ""."""
    names = imagenet_1k().classes
    if folders == {str(index) for index in range(len(names))}:
        return "imagenet-v2"
    for natural in natural_sets().values():
        if natural.output_rule == "mask" and folders == {
            names[index] for index in masked_classes(natural.table)
        }:
            return natural.name
    return ""


def _is_imagenets_own(path: Location, folders: set[str]) -> bool:
    """Whether the first files are ImageNet's; training images are in the folder of their own WordNet id.

    Images of ImageNet-22k have such names too, but in ImageNet-O they are in folders of other ids.
    """
    first_files = (
        (folder, file.name)
        for folder in sorted(folders)[:FILES_CHECKED]
        for file in (path / folder).iterdir()
    )
    return any(_is_own(folder, name) for folder, name in islice(first_files, FILES_CHECKED))


def _is_own(folder: str, name: str) -> bool:
    trained = TRAINING_FILE.match(name)
    return bool(VALIDATION_FILE.match(name) or (trained and (trained[1] == folder or folder.isdigit())))


def natural_set_hint(dataset: Dataset) -> str:
    """A hint, as the end of a sentence, at natural sets that have the data's classes; or ""."""
    space = dataset.label_space
    used = {space.classes[label] for sample in dataset.samples() for label in sample.labels}
    fitting = []
    for natural in natural_sets().values():
        if natural.layout == "objectnet":
            own = sum(folder_key(name) in several_ids(natural.table) for name in used)
            fits = own > len(used) / 2
        elif natural.layout == "indices":
            fits = space.name == "indices" and len(space) <= len(imagenet_1k())
        else:
            ids = {imagenet_1k().classes[index] for index in counted_imagenet_classes(natural)}
            fits = natural.layout == "wordnet" and natural.role == "shifted" and used <= ids
        fitting += [natural.name] if fits and used else []
    return (
        f" by its name; its classes may be those of {' or '.join(fitting)}: pass {option('suite')}"
        if fitting
        else ""
    )


def detection_note(name: str, source: object) -> str:
    """A note on how the natural set was detected, for a user who gave no suite."""
    if own := own_natural_set(source):
        return f"{source} declares itself as {own.title} ({DECLARATION})."
    title = natural_sets()[name].title
    return (
        f"{source} is read as {title}, by its name, its folders or its columns; pass {option('suite')} to "
        "change this."
    )
