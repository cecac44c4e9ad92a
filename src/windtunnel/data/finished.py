"""Finished sets: pictures that somebody has already corrupted, in the published layouts.

    <corruption>/<severity>/<class>/<picture>   ImageNet-C, Tiny-ImageNet-C, ImageNet-C-bar, ImageNet-3DCC
    <corruption>.npy beside labels.npy          CIFAR-10-C, CIFAR-100-C: five severities one after another

Their pictures are finished canvases: they are decoded, and never resized, cropped or compressed again.
A part of a set is read too; what is missing is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from windtunnel.conditions import Condition
from windtunnel.corruptions import edition_of
from windtunnel.data import Dataset, Sample, nfc
from windtunnel.data.manifest import Manifest, read_manifest
from windtunnel.errors import PictureError, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.header import read_header
from windtunnel.labels import LabelSpace

# The codec of pictures nobody told us how they were stored.
AS_STORED = "stored"
CLEAN = "clean"

Place = tuple[str, int]


class Shelf(Protocol):
    """Where a finished set keeps its pictures: by name, corruption and severity."""

    @property
    def places(self) -> Sequence[Place]: ...
    @property
    def samples(self) -> Sequence[Sample]: ...
    @property
    def label_space(self) -> LabelSpace: ...
    @property
    def remarks(self) -> Sequence[str]: ...
    def read(self, name: str, place: Place) -> bytes | Image: ...
    def clean(self) -> Dataset | None: ...


@dataclass(frozen=True)
class FinishedDataset:
    """A finished set, perhaps with the clean pictures it was made from.

    Attributes:
        name: of the folder.
        location: the folder.
        shelf: where the corrupted pictures are.
        manifest: what the set says of itself, where windtunnel made it.
        clean: the clean pictures, if any.
        clean_is_canvas: whether those are finished canvases too, or pictures to make canvases of.
    """

    name: str
    location: str
    shelf: Shelf
    manifest: Manifest | None
    clean: Dataset | None
    clean_is_canvas: bool

    portable = True
    parallel_reads = True

    @property
    def label_space(self) -> LabelSpace:
        """The classes of the corrupted pictures."""
        return self.shelf.label_space

    @property
    def remarks(self) -> list[str]:
        """What a user must know: what is missing or left out."""
        return list(self.shelf.remarks)

    @cached_property
    def edition(self) -> int:
        """The edition the pictures' size stands for."""
        width, height = self._size
        return edition_of(width, height)

    @cached_property
    def stored(self) -> list[Condition]:
        """Every condition the set holds: its maker's own where there is a manifest."""
        if self.manifest:
            held = set(self.shelf.places)
            return [one for one in self.manifest.conditions if (one.unit, one.level) in held]
        return [
            Condition("corruption", unit, level, self.edition, AS_STORED) for unit, level in self.shelf.places
        ]

    @property
    def made_clean(self) -> Condition | None:
        """What a manifest says of the clean canvases beside the corrupted ones."""
        if self.manifest is None or not self.clean_is_canvas:
            return None
        return next((one for one in self.manifest.conditions if one.kind == "clean"), None)

    def samples(self) -> Sequence[Sample]:
        """Every picture, sorted by id."""
        return self.shelf.samples

    def read(self, sample: Sample) -> bytes | Image:
        """The clean picture, or the first stored one where there is no clean set."""
        if self.clean is None:
            return self.read_under(sample, *self.shelf.places[0])
        partner = self._partners.get(_key(sample.meta["name"]))
        if partner is None:
            raise PictureError("unreadable", f"no clean picture of this name in {self.clean.location}")
        return self.clean.read(partner)

    def read_under(self, sample: Sample, unit: str, level: int) -> bytes | Image:
        """The picture as it is stored under a corruption and a severity."""
        return self.shelf.read(sample.meta["name"], (unit, level))

    def with_clean(self, clean: Dataset) -> FinishedDataset:
        """The same set beside the clean pictures it was made from, matched by class and name, or by row."""
        found = replace(self, clean=clean, clean_is_canvas=False)
        partners = found._partners
        keys = {_key(sample.meta["name"]): sample for sample in self.samples()}
        shared = sorted(keys.keys() & partners.keys())
        if not shared:
            raise UserError(
                f"No picture of {clean.location} has the class and name of one in {self.location} "
                f"(such as {next(iter(keys))}); give the clean set it was made from."
            )
        for key in shared:
            ours = [self.label_space.classes[label] for label in keys[key].labels]
            theirs = [clean.label_space.classes[label] for label in partners[key].labels]
            if ours != theirs:
                raise UserError(
                    f"{partners[key].id} of {clean.location} has the class {theirs}, in {self.location} "
                    f"{ours}; give the clean set it was made from, in the same order."
                )
        return found

    @cached_property
    def _partners(self) -> dict[str, Sample]:
        return {_key(sample.id): sample for sample in self.clean.samples()} if self.clean else {}

    @cached_property
    def _size(self) -> tuple[int, int]:
        for sample in self.samples():
            for place in self.shelf.places:
                try:
                    content = self.shelf.read(sample.meta["name"], place)
                    if not isinstance(content, bytes):
                        return content.shape[1], content.shape[0]
                    header = read_header(content)
                    return header.width, header.height
                except PictureError:
                    continue
        raise UserError(f"{self.location} holds no picture that can be read.")

    def __getstate__(self) -> dict[str, object]:
        fields = FinishedDataset.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in fields}


def open_finished(root: Path) -> FinishedDataset | None:
    """The finished set in a folder, or None where the folder is no such thing."""
    from windtunnel.data.finished_arrays import array_shelf
    from windtunnel.data.finished_folders import folder_shelf

    manifest = read_manifest(root)
    shelf: Shelf | None = array_shelf(root, manifest) or folder_shelf(root, manifest)
    if shelf is None:
        return None
    clean = shelf.clean()
    return FinishedDataset(root.resolve().name, str(root), shelf, manifest, clean, clean_is_canvas=True)


def named_samples(manifest: Manifest, labels: Mapping[str, int]) -> list[Sample]:
    """The samples a manifest lists, under the ids of the pictures they were made from."""
    rows = manifest.samples().to_pylist()
    return sorted(
        (Sample(row["id"], (labels[row["class"]],), {"name": row["name"]}) for row in rows),
        key=lambda sample: sample.id,
    )


def unfinished_remark(manifest: Manifest) -> list[str]:
    """A word of warning where a set's making was stopped."""
    done, whole = len(manifest.chunks()), manifest.chunk_count
    if done >= whole:
        return []
    return [f"The set is unfinished: {done} of {whole} chunks are made; run the same make command to go on."]


def _key(name: str) -> str:
    """What two spellings of one picture have in common: class folder and name without suffix."""
    parts = nfc(name).split("/")
    stem = parts[-1].rsplit(".", 1)[0]
    return "/".join([*parts[-2:-1], stem])
