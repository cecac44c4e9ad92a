"""Precomputed clips in folders: perturbation sequences as videos or as frames.

    <perturbation>[_2|_3]/<class>/<name>.mp4           ImageNet-P, Tiny-ImageNet-P
    <perturbation>[_2|_3]/<class>/<name>/<frame>.png   the same without loss

Only noise has separate frames for difficulties 2 and 3.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.locations import Entry, Location, entries
from windtunnel.core.samples import Sample
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.data import is_image_name, nfc, read_file
from windtunnel.data.folder import FolderDataset
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.manifest import Manifest
from windtunnel.data.precomputed import AS_STORED, CLEAN, CLIPS_SAMPLED
from windtunnel.data.precomputed_folders import LEVEL_NAMES, Storage, common_images, subfolders
from windtunnel.data.shelf import Place
from windtunnel.imaging.clips import VIDEO_SUFFIX, decode_clip
from windtunnel.sequences import DIFFICULTIES, REGISTRY, SEQUENCE_PREFIX


def place_named(name: str) -> Place | None:
    """The unit and level of a folder or array by its name (`tilt`, `gaussian_noise_2`), or None."""
    base, _, number = name.rpartition("_")
    for unit, level in ((name, 1), (base, int(number) if number in ("2", "3") else 0)):
        if level and unit in REGISTRY.names():
            noise = REGISTRY.get(unit).type == "noise"
            return (SEQUENCE_PREFIX + unit, level if noise else 0) if noise or level == 1 else None
    return None


def name_of(place: Place) -> str:
    """The name of a sequence and difficulty in the published sets: `gaussian_noise`, `gaussian_noise_2`."""
    unit, level = place
    return unit.removeprefix(SEQUENCE_PREFIX) + (f"_{level}" if level > DIFFICULTIES[0] else "")


@dataclass(frozen=True)
class Videos(Storage):
    """A clip is an mp4 file."""

    called = "videos"
    suffix = VIDEO_SUFFIX
    codec = AS_STORED

    def holds(self, _folder: Location, entry: Entry) -> bool:
        """Whether an entry of a class folder is a clip."""
        return entry.name.lower().endswith(VIDEO_SUFFIX) and not entry.name.startswith(".")

    def frames(self, path: Location) -> Iterator[bytes | Image]:
        """The frames of a clip."""
        return decode_clip(read_file(path))


@dataclass(frozen=True)
class Frames(Storage):
    """A clip is a folder of numbered images; their codec is read from one of them."""

    called = "folders of frames"
    suffix = ""
    codec = ""

    def holds(self, folder: Location, entry: Entry) -> bool:
        """Whether an entry of a class folder is a clip."""
        return entry.is_dir() and bool(_numbered(folder / entry.name))

    def size(self, folder: Location, entry: Entry) -> int:
        """The size of all frames in bytes."""
        return sum(path.stat().st_size for path in _numbered(folder / entry.name))

    def frames(self, path: Location) -> Iterator[bytes | Image]:
        """The frames of a clip, each read on demand."""
        frames = _numbered(path)
        if not frames:
            raise ImageError("unreadable", f"{path.name} is no folder of frames")
        return map(read_file, frames)


def _numbered(folder: Location) -> list[Location]:
    """The images of a folder whose names are numbers, in numerical order."""
    if not folder.is_dir():
        return []
    frames = [path for path in folder.iterdir() if is_image_name(path.name) and path.stem.isdecimal()]
    return sorted(frames, key=lambda path: int(path.stem))


class ClipFolderShelf:
    """The class folders of every sequence; a clip's name is its class and its stem."""

    by_row = False
    rare: frozenset[str] = frozenset()

    def __init__(
        self,
        root: Location,
        folders: Mapping[Place, Location],
        storage: Videos | Frames,
        manifest: Manifest | None,
        notes: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._storage = storage
        self._folders = dict(folders)
        self.codec = storage.codec
        self.notes = list(notes)
        if manifest:
            self.places = list(self._folders)
            self.label_space = manifest.label_space
            self.samples: Sequence[Sample] = sorted(manifest.samples(), key=lambda sample: sample.id)
            return
        common, notes = common_images(self._folders, storage)
        self.notes += notes
        self.places = list(common.folders)
        self._digest = common.digest
        self.label_space, index = label_space_of(name.split("/", 1)[0] for name in common.names)
        self.samples = [
            Sample(nfc(name), (index[name.split("/", 1)[0]],), {"name": name.removesuffix(storage.suffix)})
            for name in common.names
        ]

    def clip(self, name: str, place: Place) -> Iterator[bytes | Image]:
        """The frames of an image's sequence."""
        return self._storage.frames(self._folders[place] / f"{name}{self._storage.suffix}")

    def read(self, name: str, place: Place) -> bytes | Image:
        """The first frame of an image's sequence."""
        for frame in self.clip(name, place):
            return frame
        raise ImageError("unreadable", "a clip without frames")

    def frames(self, place: Place) -> int:
        """The number of frames of a sequence, as in most of its first clips."""
        lengths: Counter[int] = Counter()
        for sample in self.samples:
            try:
                lengths[sum(1 for _ in self.clip(sample.meta["name"], place))] += 1
            except ImageError:
                continue
            if lengths.total() == CLIPS_SAMPLED:
                break
        if not lengths or not (usual := lengths.most_common(1)[0][0]):
            raise UserError(f"{self._folders[place]} contains no readable clip; remove the folder.")
        return usual

    def digest(self) -> str:
        """Digest of every clip's name and size."""
        return self._digest

    def clean(self) -> FolderDataset | None:
        """The clean canvases of the set, or None."""
        folder = self._root / CLEAN
        return FolderDataset(folder) if folder.is_dir() else None


LAYOUTS: dict[str, Videos | Frames] = {"videos": Videos(), "frames": Frames()}


def clip_folder_shelf(root: Location, manifest: Manifest | None) -> ClipFolderShelf | None:
    """The sequence folders of a root or of its subfolders (`noise/`, `blur/` ...), else None."""
    if manifest:
        storage = LAYOUTS.get(manifest.recipe.layout)
        made = [
            (condition.unit, condition.level) for condition in manifest.conditions if condition.is_sequence
        ]
        folders = {place: root / name_of(place) for place in made}
        return ClipFolderShelf(root, folders, storage, manifest) if storage else None
    alone = place_named(root.resolve().name)
    groups = subfolders(root)
    for folders, roots in (
        ({alone: root} if alone else {}, []),
        (_sequence_folders(root), [root]),
        ({place: path for group in groups for place, path in _sequence_folders(group).items()}, groups),
    ):
        for storage in LAYOUTS.values():
            held = {place: folder for place, folder in folders.items() if _holds_clips(folder, storage)}
            if held:
                return ClipFolderShelf(
                    root, held, storage, None, _ignored(roots, set(held.values()), storage)
                )
    return None


def _ignored(roots: Sequence[Location], held: set[Location], storage: Videos | Frames) -> list[str]:
    """A note on each folder or file in a set of clips that is not read."""
    notes = []
    for root in roots:
        inside = [folder for folder in subfolders(root) if folder.name != CLEAN]
        if not held & set(inside):
            notes += [f"{root.name} contains no sequence and is ignored."] if root.name != CLEAN else []
            continue
        for folder in (path for path in inside if path not in held):
            if place_named(folder.name):
                notes.append(f"{folder.name} is ignored: unlike the others, it contains no {storage.called}.")
            else:
                notes.append(unknown_sequence(folder.name))
    if isinstance(storage, Videos):
        both = [folder.name for folder in sorted(held, key=str) if _has_frames(folder)]
        notes += [f"{name} contains frames in addition to videos; the frames are ignored." for name in both]
    return notes


def _has_frames(folder: Location) -> bool:
    """Whether a class folder of a sequence contains a clip as a folder of frames."""
    frames = Frames()
    return any(frames.holds(class_, entry) for class_ in subfolders(folder) for entry in entries(class_))


def unknown_sequence(name: str) -> str:
    """A note that a folder or an array is ignored for its name, with the most similar known name."""
    close = difflib.get_close_matches(PurePosixPath(name).stem, REGISTRY.names(), n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"{name} is ignored: it is not the name of a sequence{meant}."


def _sequence_folders(root: Location) -> dict[Place, Location]:
    named = {folder: place_named(folder.name) for folder in subfolders(root)}
    return {place: folder for folder, place in named.items() if place}


def _holds_clips(folder: Location, storage: Videos | Frames) -> bool:
    """Whether a class folder of a sequence contains a clip."""
    classes = subfolders(folder)
    if isinstance(storage, Frames) and _may_be_severities(folder, classes):
        return any(_is_counted(clip) for class_ in classes for clip in subfolders(class_))
    return any(storage.holds(class_, entry) for class_ in classes for entry in entries(class_))


def _may_be_severities(folder: Location, classes: Sequence[Location]) -> bool:
    """Whether the folder may be ImageNet-C's: a corruption of the same name with folders 1 to 5."""
    place = place_named(folder.resolve().name)
    shared = place is None or place[0].removeprefix(SEQUENCE_PREFIX) in CORRUPTIONS.names()
    return shared and all(entry.name in LEVEL_NAMES for entry in classes)


def _is_counted(folder: Location) -> bool:
    """Whether a folder contains frames 000, 001, 002 ... without a gap."""
    stems = [path.stem for path in _numbered(folder)]
    return len(stems) > 1 and stems == [f"{number:03d}" for number in range(len(stems))]
