"""Which natural set lies in a folder, found by looking: its name, its classes, its files."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from windtunnel.data.frame_layouts import holds_frame_sets
from windtunnel.labels import imagenet_1k
from windtunnel.published.natural import masked_classes, natural_sets

# ImageNet's own pictures: folders of these are clean, whatever their classes.
IMAGENET_FILE = re.compile(r"ILSVRC2012_|n\d{8}_\d+\.JPEG")
LOOKED_AT = 5


def found_natural(source: object) -> str:
    """The name of the natural set at a path, or "" where nothing says so."""
    if not isinstance(source, str | Path) or not Path(source).exists():
        return ""
    path = Path(source)
    name = re.sub("[_ ]", "-", (path.resolve().name if path.is_dir() else path.stem).lower())
    if path.is_dir() and holds_frame_sets(path):
        return _named(name, ("video", "ytbb")) or _by_keys(path)
    found = _named(name, ("wordnet", "indices", "objectnet"))
    if found or not path.is_dir():
        return found
    return _by_classes(path)


def _named(name: str, layouts: tuple[str, ...]) -> str:
    """The set that a folder is named after, perhaps with more words behind."""
    for one in natural_sets().values():
        if one.layout in layouts and any(name == own or name.startswith(f"{own}-") for own in one.names):
            return one.name
    return ""


def _by_keys(path: Path) -> str:
    """YTBB's annotation files and ImageNet-Vid's videos are known; other frames are a user's own."""
    if any((path / folder / "anchor_labels.json").is_file() for folder in ("metadata", "")):
        return "ytbb-robust"
    videos = path / "val"
    known = videos.is_dir() and any(one.name.startswith("ILSVRC20") for one in videos.iterdir())
    return "vid-robust" if known else "pm-k"


def _by_classes(path: Path) -> str:
    """The set whose classes are exactly the folders there, if the pictures are not ImageNet's own."""
    with os.scandir(path) as entries:
        folders = {entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")}
    if not folders:
        return ""
    names = imagenet_1k().classes
    numbers = {str(index) for index in range(len(names))}
    if folders == numbers:
        return "imagenet-v2"
    for one in natural_sets().values():
        if one.answers == "mask" and folders == {names[index] for index in masked_classes(one.table)}:
            return "" if _is_imagenets_own(path, folders) else one.name
    return ""


def _is_imagenets_own(path: Path, folders: set[str]) -> bool:
    some = (file.name for folder in sorted(folders)[:LOOKED_AT] for file in (path / folder).iterdir())
    return any(IMAGENET_FILE.match(name) for name in islice(some, LOOKED_AT))


def how_found(name: str, source: object) -> str:
    """What to tell a user who named no suite."""
    title = natural_sets()[name].title
    return f"{source} is taken for {title}, by its name or its folders; --suite decides otherwise."
