"""Precomputed folders, as ImageNet-C is published: `<corruption>/<severity>/<class>/<image>`.

A made set has corruptions with one strength in `<corruption>/<class>/<image>`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from windtunnel import published
from windtunnel.core.errors import UserError
from windtunnel.core.locations import Entry, Location, entries, file_size
from windtunnel.core.samples import Sample
from windtunnel.core.wording import listed
from windtunnel.corruptions import REGISTRY, SEVERITIES
from windtunnel.data import is_image_name, nfc, read_file
from windtunnel.data.folder import FolderDataset
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.manifest import Manifest
from windtunnel.data.precomputed import CLEAN
from windtunnel.data.shelf import Place, place_text
from windtunnel.published.c_bar import IMAGENET_C_BAR, c_bar_strengths

# Names of severity folders: those of ImageNet-C, and those of LAION-C.
LEVEL_NAMES = {
    **{str(level): level for level in SEVERITIES},
    **{f"intensity_level_{level}": level for level in SEVERITIES},
}
_NUMBER = re.compile(r"\d+(\.\d+)?")
# The number of ignored folders that a message names, and of examples of their content.
MOST_LISTED, EXAMPLES = 50, 5


class FolderShelf:
    """The class folders of every corruption and severity.

    Attributes:
        rare: ids of images that less than half of the corruptions have; they are left out.
    """

    by_row = False

    def __init__(
        self,
        root: Location,
        folders: Mapping[Place, Location],
        manifest: Manifest | None,
        notes: Sequence[str],
    ) -> None:
        self._root = root
        self.notes = list(notes)
        self._folders = dict(folders)
        if manifest:
            self.places = list(self._folders)
            self.label_space = manifest.label_space
            self.samples = sorted(manifest.samples(), key=lambda sample: sample.id)
            self.rare: frozenset[str] = frozenset()
            return
        common, notes = common_images(self._folders, Storage())
        self.notes += notes
        self.places = list(common.folders)
        if not common.names:
            raise UserError(f"{root} contains corruption folders without images in class folders.")
        self._digest = common.digest
        self.rare = frozenset(map(nfc, common.rare))
        self.label_space, index = label_space_of(name.split("/", 1)[0] for name in common.names)
        self.samples = [
            Sample(nfc(name), (index[name.split("/", 1)[0]],), {"name": name}) for name in common.names
        ]

    def read(self, name: str, place: Place) -> bytes:
        """The file of an image under a corruption and a severity."""
        return read_file(self._folders[place] / name)

    def digest(self) -> str:
        """Digest of every file's name and size."""
        return self._digest

    def clean(self) -> FolderDataset | None:
        """The clean canvases of the set, or None."""
        folder = self._root / CLEAN
        return FolderDataset(folder) if folder.is_dir() else None


def folder_shelf(root: Location, manifest: Manifest | None) -> FolderShelf | None:
    """The corruption folders of a root or of its subfolders (`noise/`, `blur/` ...), else None."""
    if manifest:
        made = [condition for condition in manifest.conditions if condition.is_corruption]
        folders_made = {
            place: root / corruption_folder(place)
            for place in ((condition.unit, condition.level) for condition in made)
        }
        return FolderShelf(root, folders_made, manifest, []) if manifest.recipe.layout == "folders" else None
    levels, not_read = _levels(root)
    if levels and root.resolve().name in known_corruptions():
        return FolderShelf(root, levels, None, not_read)
    for parents in ([root], subfolders(root)):
        folders: dict[Place, Location] = {}
        ignored: list[str] = []
        for parent in parents:
            levels, not_read = _corruption_folders(parent)
            folders |= levels
            unused_group = not levels and parent != root and parent.name != CLEAN
            ignored += (
                [f"{parent.name} is ignored: it has no corruption folder."] if unused_group else not_read
            )
        if folders and _looks_published(folders):
            return FolderShelf(root, folders, None, ignored)
    _refuse_unknown_severities(root)
    return None


def corruption_folder(place: Place) -> str:
    """The path of a corruption's class folders in a set: `fog/3`, or `s2n/blur` for one strength."""
    unit, level = place
    return f"{unit}/{level}" if level else unit


def _refuse_unknown_severities(root: Location) -> None:
    """Refuse a root whose folders are all named after corruptions but contain no severity folder.

    As class folders they would be scored as classes called `fog` and `snow`.
    """
    corruptions = [folder for folder in subfolders(root) if folder.name != CLEAN]
    if not corruptions or not {corruption.name for corruption in corruptions} <= known_corruptions():
        return
    inside = [folder for corruption in corruptions for folder in subfolders(corruption)]
    if not inside or not all(subfolders(folder) for folder in inside):
        return
    named = listed([f"{folder.parent.name}/{folder.name}" for folder in inside], MOST_LISTED)
    raise UserError(
        f"{root} has folders named after corruptions, but no severity folder among {named}; name "
        "severity folders 1 to 5, or by strength as ImageNet-C-bar's script does."
    )


def _looks_published(folders: Mapping[Place, Location]) -> bool:
    """Whether a corruption has a known name or all five severities; otherwise the folders are classes."""
    units = {unit for unit, _ in folders}
    return bool(units & known_corruptions()) or any(
        all((unit, level) in folders for level in SEVERITIES) for unit in units
    )


@lru_cache(maxsize=1)
def known_corruptions() -> frozenset[str]:
    """The names of all corruptions of published sets."""
    stored = csv.DictReader(io.StringIO(published.read_text("stored_corruptions.csv")))
    return frozenset([*REGISTRY.shipped(), *(row["corruption"] for row in stored)])


def _corruption_folders(root: Location) -> tuple[dict[Place, Location], list[str]]:
    """The class folders' parents by corruption and severity, and notes on ignored folders."""
    folders: dict[Place, Location] = {}
    ignored: list[str] = []
    for corruption in subfolders(root):
        if corruption.name != CLEAN:
            levels, not_read = _levels(corruption)
            folders |= levels
            ignored += not_read
    return folders, ignored


def _levels(corruption: Location) -> tuple[dict[Place, Location], list[str]]:
    """The severity folders of a corruption's folder, and a note on each ignored folder."""
    name = corruption.resolve().name
    inside = {folder.name: folder for folder in subfolders(corruption)}
    severities = _severities(name, inside)
    # Numbered folders that contain images directly are classes, not severities.
    if not any(subfolders(inside[folder]) for folder in severities):
        has = f" (it has {listed(sorted(inside), EXAMPLES)})" if inside else ""
        return {}, [f"{name} is ignored: it has no severity folder{has}."]
    levels: dict[Place, Location] = {}
    ignored: list[str] = []
    for folder, level in sorted(severities.items(), key=lambda item: (item[1], item[0])):
        taken = levels.setdefault((name, level), inside[folder])
        if taken != inside[folder]:
            ignored.append(f"{name}/{folder} is ignored: {name}/{taken.name} is the same severity.")
    unknown = [f"{name}/{folder}" for folder in sorted(set(inside) - set(severities))]
    if unknown:
        what = "is not a severity and is" if len(unknown) == 1 else "are not severities and are"
        ignored.append(f"{listed(unknown, MOST_LISTED)} {what} ignored.")
    return levels, ignored


def _severities(corruption: str, folders: Iterable[str]) -> dict[str, int]:
    """The severity for each folder name of a corruption; other names are left out.

    Folders are severities 1 to 5 (`intensity_level_1` in LAION-C), or strengths as ImageNet-C-bar's script
    writes them ("0.80"), compared as numbers. If both are possible ("4"), the reading that explains more
    folders is used.
    """
    names = list(folders)
    strengths = _folder_strengths().get(corruption, {})
    by_level = {name: LEVEL_NAMES[name] for name in names if name in LEVEL_NAMES}
    by_strength = {
        name: strengths[float(name)] for name in names if _NUMBER.fullmatch(name) and float(name) in strengths
    }
    return by_strength if len(by_strength) > len(by_level) else by_level


@lru_cache(maxsize=1)
def _folder_strengths() -> dict[str, dict[float, int]]:
    """The severities of ImageNet-C-bar's folder names: corruption -> strength -> severity."""
    return {
        corruption: dict(zip(strengths, SEVERITIES, strict=True))
        for corruption, strengths in c_bar_strengths()[IMAGENET_C_BAR].items()
    }


@dataclass(frozen=True)
class Storage:
    """How a class folder stores what was made from one image: as an image file."""

    def holds(self, _folder: Location, entry: Entry) -> bool:
        """Whether an entry of a class folder is such a file."""
        return is_image_name(entry.name)

    def size(self, folder: Location, entry: Entry) -> int:
        """Its bytes."""
        try:
            return file_size(folder, entry)
        except OSError:  # a broken link; reading it reports the error
            return 0


@dataclass(frozen=True)
class Images:
    """The images that the folders of a set have in common.

    Attributes:
        folders: the conditions that are used.
        names: images (`class/name`) that at least half of them contain.
        digest: digest of every file's name and size.
        rare: images that fewer of them contain.
    """

    folders: list[Place]
    names: list[str]
    digest: str
    rare: list[str]


def common_images(folders: Mapping[Place, Location], storage: Storage) -> tuple[Images, list[str]]:
    """The images of a set, and notes on what is left out or missing.

    A condition with less than half the usual number of images is probably an incomplete download. It is
    left out, because otherwise most images would be left out of all conditions.
    """
    counts = {place: sum(1 for _ in _images(folder, storage)) for place, folder in folders.items()}
    usual = statistics.median(counts.values())
    used = [place for place, count in counts.items() if 2 * count >= usual]
    notes = [
        f"{place_text(place)} is left out: it has {counts[place]:,} images; {usual:,.0f} are usual."
        for place in folders
        if place not in used
    ]
    digest = hashlib.blake2b(digest_size=16)
    holders: Counter[str] = Counter()
    for place in used:
        for name, class_, entry in _images(folders[place], storage):
            holders[name] += 1
            digest.update(f"{place}/{name} {storage.size(class_, entry)}\n".encode())
    names = sorted(name for name, count in holders.items() if 2 * count >= len(used))
    strange = [name for name in holders if 2 * holders[name] < len(used)]
    if strange:
        notes.append(
            f"{len(strange):,} images are left out: they occur under less than half of the corruptions "
            f"(such as {strange[0]})."
        )
    missing = sum(len(used) - holders[name] for name in names)
    if missing:
        notes.append(
            f"{missing:,} of {len(names) * len(used):,} files {'is' if missing == 1 else 'are'} missing; an "
            "image with a missing file is left out of all scores."
        )
    return Images(used, names, digest.hexdigest(), strange), notes


def _images(folder: Location, storage: Storage) -> Iterator[tuple[str, Location, Entry]]:
    """`class/name`, class folder and entry of every image of a condition, in the order of names."""
    for class_ in subfolders(folder):
        for entry in entries(class_):
            if storage.holds(class_, entry):
                yield f"{class_.name}/{entry.name}", class_, entry


def subfolders(folder: Location) -> list[Location]:
    """The visible folders in a folder, in the order of names."""
    try:
        visible = [entry for entry in entries(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror or error}.") from error
    return [folder / entry.name for entry in visible]
