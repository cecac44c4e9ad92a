"""Which natural set lies in a folder, found by looking: its name, its classes, its files."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from windtunnel.core.option_names import option
from windtunnel.data import Dataset
from windtunnel.data.frame_json import find_json
from windtunnel.data.frame_layouts import holds_frame_sets, lists_frame_sets
from windtunnel.data.natural_classes import counted_imagenet_classes
from windtunnel.data.ytbb_annotations import ANCHOR_LABELS
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import (
    folder_key,
    masked_classes,
    natural_sets,
    several_ids,
)

# ImageNet's own images: folders of these are clean, whatever their name and their classes.
VALIDATION_FILE = re.compile(r"ILSVRC2012_")
TRAINING_FILE = re.compile(r"(n\d{8})_\d+\.JPEG")
LOOKED_AT = 5
# After a set's name these say that a folder holds the clean images for it.
OF_CLEAN = "clean|val|train|in"


def found_natural(source: object) -> str:
    """The name of the natural set at a path, or "" where nothing says so."""
    if not isinstance(source, str | Path) or not Path(source).exists():
        return ""
    path = Path(source)
    name = re.sub("[_ ]", "-", (path.resolve().name if path.is_dir() else path.stem).lower())
    if path.is_dir() and holds_frame_sets(path):
        return _named(name, ("video", "ytbb")) or _by_keys(path)
    found = _named(name, ("wordnet", "indices", "objectnet"))
    if not path.is_dir():
        return found or ("pm-k" if lists_frame_sets(path) else "")
    folders = _folders(path)
    found = found or _by_classes(folders)
    by_class = found and natural_sets()[found].layout in ("wordnet", "indices")
    return "" if by_class and _is_imagenets_own(path, folders) else found


def _named(name: str, layouts: tuple[str, ...]) -> str:
    """The set that a folder is named after, perhaps with more words behind, which do not say it is clean."""
    for one in natural_sets().values():
        own = "|".join(map(re.escape, one.names))
        if own and one.layout in layouts and re.match(rf"({own})(?!-({OF_CLEAN})(-|$))(-|$)", name):
            return one.name
    return ""


def _by_keys(path: Path) -> str:
    """YTBB's annotation files and ImageNet-Vid's videos are known; other frames are a user's own."""
    if find_json(path, ANCHOR_LABELS):
        return "ytbb-robust"
    videos = path / "val"
    known = videos.is_dir() and any(one.name.startswith("ILSVRC20") for one in videos.iterdir())
    return "vid-robust" if known else "pm-k"


def _folders(path: Path) -> set[str]:
    with os.scandir(path) as entries:
        return {entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")}


def _by_classes(folders: set[str]) -> str:
    """The set whose classes are exactly these folders."""
    names = imagenet_1k().classes
    if folders == {str(index) for index in range(len(names))}:
        return "imagenet-v2"
    for one in natural_sets().values():
        if one.answers == "mask" and folders == {names[index] for index in masked_classes(one.table)}:
            return one.name
    return ""


def _is_imagenets_own(path: Path, folders: set[str]) -> bool:
    """Whether the first files are ImageNet's; training images lie in the folder of their own WordNet id.

    Images of ImageNet-22k have such names too, but in ImageNet-O they lie in folders of other ids.
    """
    some = (
        (folder, file.name) for folder in sorted(folders)[:LOOKED_AT] for file in (path / folder).iterdir()
    )
    return any(_is_own(folder, name) for folder, name in islice(some, LOOKED_AT))


def _is_own(folder: str, name: str) -> bool:
    trained = TRAINING_FILE.match(name)
    return bool(VALIDATION_FILE.match(name) or (trained and (trained[1] == folder or folder.isdigit())))


def perhaps_natural(dataset: Dataset) -> str:
    """Which natural set class folders under another name may be of, as the end of a sentence; or ""."""
    space = dataset.label_space
    used = {space.classes[label] for one in dataset.samples() for label in one.labels}
    fitting = []
    for one in natural_sets().values():
        if one.layout == "objectnet":
            own = sum(folder_key(name) in several_ids(one.table) for name in used)
            fits = own > len(used) / 2
        elif one.layout == "indices":
            fits = space.name == "indices" and len(space) <= len(imagenet_1k())
        else:
            ids = {imagenet_1k().classes[index] for index in counted_imagenet_classes(one)}
            fits = one.layout == "wordnet" and one.role == "shifted" and used <= ids
        fitting += [one.name] if fits and used else []
    return (
        f" by its name; its folders may be those of {' or '.join(fitting)}: say {option('suite')}"
        if fitting
        else ""
    )


def how_found(name: str, source: object) -> str:
    """What to tell a user who named no suite."""
    title = natural_sets()[name].title
    return (
        f"{source} is taken for {title}, by its name, its folders or its columns; --suite decides otherwise."
    )
