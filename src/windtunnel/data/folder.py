"""Class folders: `<class>/<anything>/<image>`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, entries
from windtunnel.core.samples import Sample
from windtunnel.data import IMAGE_SUFFIXES, Dataset, is_image_name, nfc, read_file, refuse_duplicates
from windtunnel.data.label_spaces import label_space_of

# The data of an image whose path is its id; one object for all of them.
SAME_PATH: Mapping[str, str] = {}


class FolderDataset(Dataset):
    """Images in one folder per class; images directly in the root have no label."""

    name: str
    location: str
    label_space: LabelSpace
    portable = True
    parallel_reads = True

    def __init__(self, root: Location) -> None:
        self._root = root
        self.name = root.resolve().name
        self.location = str(root)
        paths = _images_below(root)
        if not paths:
            kinds = ", ".join(sorted(IMAGE_SUFFIXES))
            raise UserError(f"{root} contains no images; put them into one folder per class ({kinds}).")
        self._samples, self.label_space = labelled_by_folder({nfc(path): path for path in paths}, str(root))
        if len(self._samples) != len(paths):
            raise UserError(f"{root} contains two files whose names differ only in Unicode form; rename one.")

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self._root / sample.meta.get("path", sample.id))

    def reader(self) -> Dataset:
        """The dataset without its list of images."""
        reader = copy.copy(self)
        reader._samples = []
        return reader


def labelled_by_folder(paths: dict[str, str], where: str) -> tuple[list[Sample], LabelSpace]:
    """Samples of `id -> path`, labelled by the first folder of the id; files outside a folder have no label.

    A single folder that contains all others, such as `val/`, is not a class.
    """
    inside = _without_common_folder(paths)
    space, index = label_space_of(path.split("/", 1)[0] for path in inside.values() if "/" in path)
    samples = []
    for id_, path in sorted(paths.items()):
        folder, slash, _ = inside[id_].partition("/")
        meta = {"path": path} if path != id_ else SAME_PATH
        samples.append(Sample(id_, (index[folder],) if slash else (), meta))
    refuse_duplicates(samples, where)
    return samples, space


def _without_common_folder(ids: Iterable[str]) -> dict[str, str]:
    """Map each id to itself without the single folder that contains all class folders, if there is one."""
    wrapped = len({id_.split("/", 1)[0] for id_ in ids}) == 1 and all(id_.count("/") >= 2 for id_ in ids)
    return {id_: id_.split("/", 1)[1] if wrapped else id_ for id_ in ids}


def _images_below(root: Location) -> list[str]:
    """POSIX paths relative to the root; links to folders are followed once, never in a cycle."""
    images: list[str] = []

    def walk(folder: Location, inside: str, ancestors: frozenset[str]) -> None:
        real = str(folder.resolve())
        if real in ancestors:
            return
        try:
            found = entries(folder)
        except OSError as error:
            raise UserError(f"{folder} cannot be read: {error.strerror or error}.") from error
        for entry in found:
            if entry.name.startswith("."):
                continue
            before = len(images)
            if entry.is_dir():
                walk(folder / entry.name, f"{inside}{entry.name}/", ancestors | {real})
                # A folder with the name of an image file: reading it reports the error.
                named = len(images) == before and is_image_name(entry.name)
            else:
                named = is_image_name(entry.name)
            if named:
                images.append(inside + entry.name)

    walk(root, "", frozenset())
    return images
