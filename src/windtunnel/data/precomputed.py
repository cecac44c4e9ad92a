"""Finished sets: images that somebody has already corrupted, in the published layouts.

    <corruption>/<severity>/<class>/<image>   ImageNet-C, Tiny-ImageNet-C, ImageNet-C-bar, ImageNet-3DCC
    <corruption>.npy beside labels.npy          CIFAR-10-C, CIFAR-100-C: five severities one after another
    <perturbation>/<class>/<name>.mp4           ImageNet-P, Tiny-ImageNet-P; frames instead, if we made them
    <perturbation>.npy                          CIFAR-10-P, CIFAR-100-P: clips

Their images are finished canvases: they are decoded, and never resized, cropped or compressed again.
A part of a set is read too; what is missing is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.records import PrecomputedIdentity
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.wording import counted
from windtunnel.corruptions import edition_of
from windtunnel.data import Dataset, is_image_name, nfc, open_dataset
from windtunnel.data.label_spaces import class_keys
from windtunnel.data.manifest import Manifest
from windtunnel.data.shelf import ClipShelf, Place, Shelf, place_text
from windtunnel.imaging.header import read_header
from windtunnel.sequences import published_table

# The codec of JPEG files nobody told us more of; other formats have their own name after it.
AS_STORED = "stored"
CLEAN = "clean"
# Why an image is not scored.
NOT_CORRUPTED = "clean images without a corrupted copy"
RARE = "images that under half of the corruptions have"
# How many clips are asked how long and how large a sequence is: one alone may be the damaged one.
ASKED = 5
NOTHING_READABLE = "holds no image that can be read"
# Where a condition says what size its images are stored in, if not in the edition's.
STORED_PX = "stored_px"
# With fewer partners than this, a clean set is another set: scores would rest on a strange few images.
ENOUGH = 0.9
# How many clips are held against their clean images: a few, since another set differs in all of them.
HELD_AGAINST_CLEAN = 5
# Mean difference in grey levels from which two images are different ones; rounding makes one level.
OTHER_IMAGE = 8


@dataclass(frozen=True)
class PrecomputedDataset(Dataset):
    """A finished set, perhaps with the clean images it was made from.

    Attributes:
        name: of the folder.
        location: the folder.
        shelf: where the corrupted images are.
        manifest: what the set says of itself, where windtunnel made it.
        clean: the clean images, if any.
        clean_is_given: whether the user gave those, rather than the set.
    """

    name: str
    location: str
    shelf: Shelf
    manifest: Manifest | None
    clean: Dataset | None
    clean_is_given: bool = False

    portable = True

    @property
    def parallel_reads(self) -> bool:
        """Whether images lie in files of their own; an archive of clean ones has one handle for all."""
        return self.clean is None or self.clean.parallel_reads

    @property
    def precomputed(self) -> PrecomputedDataset:
        """The set itself."""
        return self

    @property
    def given_clean(self) -> Dataset | None:
        """The clean images, where the user gave them."""
        return self.clean if self.clean_is_given else None

    @property
    def label_space(self) -> LabelSpace:
        """The classes of the corrupted images; of a set without labels, those of the clean ones."""
        if self.clean is not None and self._is_unlabelled:
            return self.clean.label_space
        return self.shelf.label_space

    @property
    def remarks(self) -> list[str]:
        """What a user must know: what is missing, left out, unfinished or of another shape."""
        made = self.manifest.remarks() if self.manifest else ()
        return [*made, *self.shelf.remarks, *self._other_shapes()]

    def _other_shapes(self) -> list[str]:
        """Which sequences are stored in another size than most; Tiny-ImageNet-P's motion blur is."""
        if len({header[1:] for header in self._headers.values()}) < 2:
            return []
        usual = "{}x{}".format(*self.size)
        return [
            f"{place_text(place)} has another shape than the canvas (its first clip {width}x{height} pixels, "
            f"the canvas {usual}): its frames are resized to the model's input as they are."
            for place, (_, width, height) in self._headers.items()
            if (width, height) != self.size
        ]

    @property
    def identity(self) -> PrecomputedIdentity:
        """What tells this set from every other: its recipe, or a digest of what lies there."""
        if self.manifest:
            return PrecomputedIdentity(recipe=self.manifest.digest, seed=self.manifest.recipe.seed)
        return PrecomputedIdentity(digest=self.shelf.digest())

    @property
    def edition(self) -> int:
        """The edition the images' size stands for."""
        return edition_of(*self.size)

    @cached_property
    def stored(self) -> list[Condition]:
        """Every condition the set holds: its maker's own where there is a manifest."""
        if self.manifest:
            held, made = set(self.shelf.places), self.manifest.made
            found = [one for one in self.manifest.conditions if (one.unit, one.level) in held]
            ready = [one for one in found if made[one.name]]
            if found and not ready:
                raise UserError(f"{self.location} is {self.manifest.unfinished}.")
            return ready
        return [self._stored(place) for place in self.shelf.places]

    def _stored(self, place: Place) -> Condition:
        """The condition of a place that no manifest tells of."""
        # Where no clip can be read, asking for their frames says so.
        format_, *size = self._headers.get(place, self._header)
        geometry = {} if size == [self.edition, self.edition] else {STORED_PX: size}
        codec = f"{AS_STORED}-{format_.lower()}"
        if isinstance(self.shelf, ClipShelf):
            frames = self.shelf.frames(place)
            codec = self.shelf.codec or codec
            return Condition("sequence", *place, self.edition, codec, geometry=geometry, frames=frames)
        codec = AS_STORED if format_ == "JPEG" else codec
        return Condition("corruption", *place, self.edition, codec, geometry=geometry)

    @property
    def made_clean(self) -> Condition | None:
        """What a manifest says of the clean canvases beside the corrupted ones."""
        if self.manifest is None or self.clean_is_given:
            return None
        return next((one for one in self.manifest.conditions if one.kind == "clean"), None)

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id; of a set without labels, with those of the clean images."""
        if self.clean is None or not self._is_unlabelled:
            return self.shelf.samples
        return [
            replace(sample, labels=self._partners[sample.id].labels if sample.id in self._partners else ())
            for sample in self.shelf.samples
        ]

    @cached_property
    def _is_unlabelled(self) -> bool:
        return not any(sample.labels for sample in self.shelf.samples)

    def read(self, sample: Sample) -> bytes | Image:
        """The clean image, or the first stored one that is there where the set has no clean images."""
        if self.clean is not None:
            partner = self._partners.get(sample.id)
            if partner is None:
                raise ImageError("unreadable", f"no clean image of this name in {self.clean.location}")
            return self.clean.read(partner)
        problem: ImageError | None = None
        for unit, level in self.shelf.places:
            try:
                return self.read_under(sample, unit, level)
            except ImageError as error:
                problem = problem or error
        raise problem or ImageError("unreadable", "nothing is stored")

    def read_under(self, sample: Sample, unit: str, level: int) -> bytes | Image:
        """The image as it is stored under a corruption and a severity; of a sequence the first frame."""
        self._check_made(sample, (unit, level))
        return self.shelf.read(sample.meta["name"], (unit, level))

    def read_clip(self, sample: Sample, unit: str, level: int) -> Iterator[bytes | Image]:
        """The frames of a sequence as they are stored, each read when it is asked for."""
        if not isinstance(self.shelf, ClipShelf):
            raise UserError(f"{self.location} holds no sequences.")
        self._check_made(sample, (unit, level))
        return self.shelf.clip(sample.meta["name"], (unit, level))

    def _check_made(self, sample: Sample, place: Place) -> None:
        """Refuse what a make has not come to yet: a row of an array is black until then."""
        if self.manifest:
            name = next(one.name for one in self.stored if (one.unit, one.level) == place)
            if not self.manifest.is_made(name, int(sample.meta["place"])):
                raise ImageError("unreadable", "not made yet: the set is unfinished")

    def with_clean(self, clean: Dataset) -> PrecomputedDataset:
        """The same set beside the clean images it was made from, matched by class and name, or by row."""
        if clean.precomputed is not None:
            if clean.precomputed.clean is None:
                raise UserError(f"{clean.location} holds corrupted images only; give the clean ones.")
            clean = clean.precomputed.clean
        found = replace(self, clean=clean, clean_is_given=True)
        if self.shelf.by_row and not self.manifest and len(clean.samples()) != len(self.samples()):
            raise UserError(
                f"{clean.location} has {counted(len(clean.samples()), 'image')}, the arrays of "
                f"{self.location} {len(self.samples()):,}, and they are paired by their order; give the "
                "clean images they were made from, all of them."
            )
        if len(found._partners) < ENOUGH * len(self.samples()):
            raise UserError(
                f"{clean.location} has {len(found._partners):,} of the {len(self.samples()):,} images of "
                f"{self.location}, by class and name (such as {self.samples()[0].meta['name']}); give the "
                "clean set it was made from."
            )
        own, other = _keys(self.label_space), _keys(clean.label_space)
        for sample in self.samples():
            partner = found._partners.get(sample.id)
            if partner is None:
                continue
            ours = [own[label] for label in sample.labels]
            theirs = [other[label] for label in partner.labels]
            if ours and ours != theirs:
                raise UserError(
                    f"{partner.id} of {clean.location} has the class {theirs}, in {self.location} "
                    f"{ours}; give the clean set it was made from, in the same order."
                )
        found._check_clean_frames()
        return found

    def _check_clean_frames(self) -> None:
        """Refuse clean images that are not those in the clips, where these hold them without loss."""
        held = self._clean_frame if self.shelf.by_row else None
        paired = [sample for sample in self.shelf.samples if sample.id in self._partners]
        if held is None or self.clean is None or not paired:
            return
        place, number = held
        some = paired[:: max(1, len(paired) // HELD_AGAINST_CLEAN)][:HELD_AGAINST_CLEAN]
        others = 0
        for sample in some:
            try:
                frame = next(islice(self.read_clip(sample, *place), number, None))
                image = self.clean.read(self._partners[sample.id])
            except ImageError:
                continue
            if isinstance(frame, bytes) or isinstance(image, bytes) or frame.shape != image.shape:
                return
            others += float(np.abs(frame.astype(np.int16) - image).mean()) > OTHER_IMAGE
        if others > len(some) / 2:
            raise UserError(
                f"{self.clean.location} holds other images than {self.location}: frame {number} of "
                f"{place_text(place)} is the clean image, and in {others} of {len(some)} clips it is not "
                "the one of the same place; give the clean set they were made from, in the same order."
            )

    @property
    def _clean_frame(self) -> tuple[Place, int] | None:
        """A sequence one of whose frames is the untouched image, and which frame; None where none is."""
        for one in self.stored:
            table = published_table(one.unit, self.edition) if one.kind == "sequence" else None
            if table is not None and table.clean is not None and table.frames == one.frames:
                return (one.unit, one.level), table.clean
        return None

    @cached_property
    def _partners(self) -> dict[str, Sample]:
        """The clean image of every sample: the one of the same id, or of the same class and name."""
        if self.clean is None:
            return {}
        classes, own = _keys(self.clean.label_space), _keys(self.shelf.label_space)
        by_id = {sample.id: sample for sample in self.clean.samples()}
        by_name: dict[str, Sample] = {}
        for sample in self.clean.samples():
            class_ = classes[sample.labels[0]] if sample.labels else ""
            for key in {f"{class_}/{_stem(sample.id)}", _stem(sample.id)} if class_ else {_stem(sample.id)}:
                if key in by_name and "/" in key:
                    raise UserError(
                        f"{self.clean.location} holds {by_name[key].id} and {sample.id}: which of them is "
                        f"{key} cannot be told; remove one."
                    )
                by_name[key] = sample
        found = {}
        for sample in self.shelf.samples:
            name = nfc(sample.meta["name"])
            folder, slash, base = name.rpartition("/")
            if folder and sample.labels:
                # `007` and `7` are one class, and so is its WordNet id.
                folder = own[sample.labels[0]]
                name = f"{folder}/{base}"
            # The name of a clip has no suffix, only perhaps the looks of one.
            key = name if isinstance(self.shelf, ClipShelf) else f"{folder}{slash}{_stem(name)}"
            partner = by_id.get(sample.id) or by_name.get(key)
            if partner is not None:
                found[sample.id] = partner
        return found

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the stored images: of most sequences, and of equally many the square one."""
        sizes = Counter((width, height) for _, width, height in self._headers.values())
        return max(sizes, key=lambda one: (sizes[one], one[0] == one[1]), default=self._header[1:])

    @cached_property
    def _headers(self) -> dict[Place, tuple[str, int, int]]:
        """Format, width and height by place, where they may differ: of sequences that others have made."""
        if self.manifest or not isinstance(self.shelf, ClipShelf):
            return {}
        found = {place: self._usual_header([place], ASKED) for place in self.shelf.places}
        return {place: header for place, header in found.items() if header}

    @cached_property
    def _header(self) -> tuple[str, int, int]:
        found = self._usual_header(self.shelf.places, 1)
        if found is None:
            unfinished = self.manifest.unfinished if self.manifest else ""
            raise UserError(f"{self.location} {f'is {unfinished}' if unfinished else NOTHING_READABLE}.")
        return found

    def _usual_header(self, places: Sequence[Place], asked: int) -> tuple[str, int, int] | None:
        """Format, width and height as most of the first images have them; None where none can be read."""
        found: Counter[tuple[str, int, int]] = Counter()
        for sample in self.shelf.samples:
            for place in places:
                if found.total() == asked:
                    break
                try:
                    content = self.shelf.read(sample.meta["name"], place)
                    if isinstance(content, bytes):
                        header = read_header(content)
                        found[header.format, header.width, header.height] += 1
                    else:
                        found["array", content.shape[1], content.shape[0]] += 1
                except ImageError:
                    continue
        return found.most_common(1)[0][0] if found else None

    def sources(self, surveyed: Sequence[Surveyed]) -> dict[str, str]:
        """What the images of a made set were made of; a user's own clean images are their own sources."""
        if self.manifest is None or self.clean_is_given:
            return {}
        return self.manifest.sources({one.sample.id: one.content for one in surveyed})

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of an image that is not scored to the reason; "" for unknown images."""
        clean = {sample.id for sample in self.clean.samples()} if self.clean else set()
        return lambda id_: RARE if id_ in self.shelf.rare else NOT_CORRUPTED if id_ in clean else ""

    def __getstate__(self) -> dict[str, object]:
        fields = PrecomputedDataset.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in fields}


def open_with_clean(
    data: str | Path | Dataset,
    clean: str | Path | Dataset | None,
    hint: Callable[[Dataset], str] = lambda _: "",
) -> Dataset:
    """Open a data set, and beside a finished one the clean images it was made from.

    `hint` says what else a data set may be that takes no clean images.
    """
    dataset = open_dataset(data)
    if clean is None:
        return dataset
    if dataset.precomputed is None:
        raise UserError(
            f"--clean goes with a finished set such as ImageNet-C, or with a natural one (--suite "
            f"imagenet-a, natural ...); {dataset.location} is none{hint(dataset)}."
        )
    return dataset.precomputed.with_clean(open_dataset(clean))


def stored_size(condition: Condition) -> tuple[int, int] | None:
    """Width and height of a condition's stored images; None where the condition does not say."""
    if condition.geometry:
        size = condition.geometry.get(STORED_PX)
        return (size[0], size[1]) if isinstance(size, list) else None
    return condition.edition, condition.edition


def _keys(space: LabelSpace) -> list[str]:
    return class_keys(space.name, space.classes)


def _stem(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if is_image_name(base) else base
