"""Precomputed sets: images that are corrupted already, in the published layouts.

    <corruption>/<severity>/<class>/<image>   ImageNet-C, Tiny-ImageNet-C, ImageNet-C-bar, ImageNet-3DCC
    <corruption>.npy next to labels.npy         CIFAR-10-C, CIFAR-100-C: five severities one after another
    <perturbation>/<class>/<name>.mp4           ImageNet-P, Tiny-ImageNet-P; frames in sets made by windtunnel
    <perturbation>.npy                          CIFAR-10-P, CIFAR-100-P: clips

Their images are final canvases: they are decoded, and never resized, cropped or compressed again.
An incomplete set can be read too; notes state what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.records import PrecomputedIdentity
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.wording import counted
from windtunnel.corruptions import edition_of
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.clean_pairing import clean_partners, space_keys
from windtunnel.data.manifest import Manifest
from windtunnel.data.shelf import ClipShelf, Place, Shelf, place_text
from windtunnel.imaging.header import read_header
from windtunnel.sequences import published_table

# The codec of JPEG files of unknown quality; other formats add their name.
AS_STORED = "stored"
CLEAN = "clean"
# Reasons why an image is not scored; run folders store them.
NOT_CORRUPTED = "clean images without a corrupted copy"
RARE = "images that under half of the corruptions have"
# The number of clips that are read for the length and size of a sequence: a single one may be damaged.
CLIPS_SAMPLED = 5
NOTHING_READABLE = "contains no readable image"
# The geometry key for the size of stored images that differ from the edition's size.
STORED_PX = "stored_px"
# The least share of images with a clean partner; with fewer, the clean set is probably another set.
MIN_PAIRED_SHARE = 0.9
# The number of clips that are compared with their clean images; in another set all of them differ.
CLIPS_COMPARED = 5
# Mean difference in grey levels above which two images are different; rounding alone gives one level.
MAX_GREY_DIFFERENCE = 8


@dataclass(frozen=True)
class PrecomputedDataset(Dataset):
    """A precomputed set, optionally with the clean images it was made from.

    Attributes:
        name: of the folder.
        location: the folder.
        shelf: where the corrupted images are.
        manifest: the manifest of a set that windtunnel made, or None.
        clean: the clean images, if any.
        clean_is_given: whether the user gave the clean images; else they are part of the set.
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
        """Whether each image is a separate file; an archive of clean images has one handle for all."""
        return self.clean is None or self.clean.parallel_reads

    @property
    def precomputed(self) -> PrecomputedDataset:
        """The set itself."""
        return self

    @property
    def given_clean(self) -> Dataset | None:
        """The clean images, if the user gave them."""
        return self.clean if self.clean_is_given else None

    @property
    def label_space(self) -> LabelSpace:
        """The classes of the corrupted images; for a set without labels, those of the clean images."""
        if self.clean is not None and self._is_unlabelled:
            return self.clean.label_space
        return self.shelf.label_space

    @property
    def notes(self) -> list[str]:
        """Notes for the user: missing, omitted and unfinished images, and images of another size."""
        made = self.manifest.notes() if self.manifest else ()
        return [*made, *self.shelf.notes, *self._other_shapes()]

    def _other_shapes(self) -> list[str]:
        """Notes on sequences stored in another size than most, such as Tiny-ImageNet-P's motion blur."""
        if len({header[1:] for header in self._headers.values()}) < 2:
            return []
        usual = "{}x{}".format(*self.size)
        return [
            f"{place_text(place)} has another shape than the canvas (its first clip {width}x{height} pixels, "
            f"the canvas {usual}): its frames are resized directly to the model's input."
            for place, (_, width, height) in self._headers.items()
            if (width, height) != self.size
        ]

    @property
    def identity(self) -> PrecomputedIdentity:
        """What distinguishes this set from others: its recipe, or a digest of its files."""
        if self.manifest:
            return PrecomputedIdentity(recipe=self.manifest.digest, seed=self.manifest.recipe.seed)
        return PrecomputedIdentity(digest=self.shelf.digest())

    @property
    def edition(self) -> int:
        """The edition for the size of the images."""
        return edition_of(*self.size)

    @cached_property
    def stored(self) -> list[Condition]:
        """Every condition in the set, as the manifest has it if there is one."""
        if self.manifest:
            held, made = set(self.shelf.places), self.manifest.made
            conditions = [
                condition
                for condition in self.manifest.conditions
                if (condition.unit, condition.level) in held
            ]
            ready = [condition for condition in conditions if made[condition.name]]
            if conditions and not ready:
                raise UserError(f"{self.location} is {self.manifest.unfinished}.")
            return ready
        return [self._stored(place) for place in self.shelf.places]

    def _stored(self, place: Place) -> Condition:
        """The condition of a place in a set without a manifest."""
        # A sequence without a readable clip is refused when its frames are counted.
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
        """The condition of the set's own clean images in the manifest, or None."""
        if self.manifest is None or self.clean_is_given:
            return None
        return next((condition for condition in self.manifest.conditions if condition.is_clean), None)

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id; for a set without labels, with the labels of the clean images."""
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
        """The clean image; in a set without clean images, the first stored one that is readable."""
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
        """The stored image for a corruption and a severity; for a sequence the first frame."""
        self._check_made(sample, (unit, level))
        return self.shelf.read(sample.meta["name"], (unit, level))

    def read_clip(self, sample: Sample, unit: str, level: int) -> Iterator[bytes | Image]:
        """The stored frames of a sequence, each read on demand."""
        if not isinstance(self.shelf, ClipShelf):
            raise UserError(f"{self.location} contains no sequences; give a set of sequences.")
        self._check_made(sample, (unit, level))
        return self.shelf.clip(sample.meta["name"], (unit, level))

    def _check_made(self, sample: Sample, place: Place) -> None:
        """Refuse an image that is not made yet: until then its row in an array is black."""
        if self.manifest:
            name = next(
                condition.name for condition in self.stored if (condition.unit, condition.level) == place
            )
            if not self.manifest.is_made(name, int(sample.meta["place"])):
                raise ImageError("unreadable", "not made yet: the set is unfinished")

    def with_clean(self, clean: Dataset) -> PrecomputedDataset:
        """The same set with the clean images it was made from, matched by class and name, or by row."""
        if clean.precomputed is not None:
            if clean.precomputed.clean is None:
                raise UserError(f"{clean.location} contains corrupted images only; give the clean images.")
            clean = clean.precomputed.clean
        paired = replace(self, clean=clean, clean_is_given=True)
        if self.shelf.by_row and not self.manifest and len(clean.samples()) != len(self.samples()):
            raise UserError(
                f"{clean.location} has {counted(len(clean.samples()), 'image')}, the arrays of "
                f"{self.location} have {len(self.samples()):,}, and rows are paired by their order; give all "
                "the clean images that the set was made from."
            )
        if len(paired._partners) < MIN_PAIRED_SHARE * len(self.samples()):
            raise UserError(
                f"{clean.location} has {len(paired._partners):,} of the {len(self.samples()):,} images of "
                f"{self.location}, by class and name (such as {self.samples()[0].meta['name']}); give the "
                "clean images that the set was made from."
            )
        own, other = space_keys(self.label_space), space_keys(clean.label_space)
        for sample in self.samples():
            partner = paired._partners.get(sample.id)
            if partner is None:
                continue
            labels = [own[label] for label in sample.labels]
            clean_labels = [other[label] for label in partner.labels]
            if labels and labels != clean_labels:
                raise UserError(
                    f"{partner.id} of {clean.location} has the class {clean_labels}, in {self.location} it "
                    f"has {labels}; give the clean images that the set was made from, in the same order."
                )
        paired._check_clean_frames()
        return paired

    def _check_clean_frames(self) -> None:
        """Refuse clean images that differ from the lossless clean frames in the clips."""
        held = self._clean_frame if self.shelf.by_row else None
        paired = [sample for sample in self.shelf.samples if sample.id in self._partners]
        if held is None or self.clean is None or not paired:
            return
        place, number = held
        checked = paired[:: max(1, len(paired) // CLIPS_COMPARED)][:CLIPS_COMPARED]
        others = 0
        for sample in checked:
            try:
                frame = next(islice(self.read_clip(sample, *place), number, None))
                image = self.clean.read(self._partners[sample.id])
            except ImageError:
                continue
            if isinstance(frame, bytes) or isinstance(image, bytes) or frame.shape != image.shape:
                return
            others += float(np.abs(frame.astype(np.int16) - image).mean()) > MAX_GREY_DIFFERENCE
        if others > len(checked) / 2:
            raise UserError(
                f"{self.clean.location} contains other images than {self.location}: frame {number} of "
                f"{place_text(place)} is the clean image, but in {others} of {len(checked)} clips it differs "
                "from the clean image of that row; give the clean images that the set was made from, in "
                "the same order."
            )

    @property
    def _clean_frame(self) -> tuple[Place, int] | None:
        """A sequence with an unchanged frame, and the index of that frame; None if there is none."""
        for condition in self.stored:
            table = published_table(condition.unit, self.edition) if condition.is_sequence else None
            if table is not None and table.clean is not None and table.frames == condition.frames:
                return (condition.unit, condition.level), table.clean
        return None

    @cached_property
    def _partners(self) -> dict[str, Sample]:
        """By id, the clean image of every sample; empty without clean images."""
        return {} if self.clean is None else clean_partners(self.shelf, self.clean)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of most stored images; for sequences in a tie, the square size."""
        sizes = Counter((width, height) for _, width, height in self._headers.values())
        return max(sizes, key=lambda size: (sizes[size], size[0] == size[1]), default=self._header[1:])

    @cached_property
    def _headers(self) -> dict[Place, tuple[str, int, int]]:
        """Format, width and height by place, for sequences made elsewhere, in which they may differ."""
        if self.manifest or not isinstance(self.shelf, ClipShelf):
            return {}
        headers = {place: self._usual_header([place], CLIPS_SAMPLED) for place in self.shelf.places}
        return {place: header for place, header in headers.items() if header}

    @cached_property
    def _header(self) -> tuple[str, int, int]:
        header = self._usual_header(self.shelf.places, 1)
        if header is None:
            unfinished = self.manifest.unfinished if self.manifest else ""
            raise UserError(f"{self.location} {f'is {unfinished}' if unfinished else NOTHING_READABLE}.")
        return header

    def _usual_header(self, places: Sequence[Place], count: int) -> tuple[str, int, int] | None:
        """Format, width and height of most of the first images; None if none is readable."""
        headers: Counter[tuple[str, int, int]] = Counter()
        for sample in self.shelf.samples:
            for place in places:
                if headers.total() == count:
                    break
                try:
                    content = self.shelf.read(sample.meta["name"], place)
                    if isinstance(content, bytes):
                        header = read_header(content)
                        headers[header.format, header.width, header.height] += 1
                    else:
                        headers["array", content.shape[1], content.shape[0]] += 1
                except ImageError:
                    continue
        return headers.most_common(1)[0][0] if headers else None

    def sources(self, surveyed: Sequence[Surveyed]) -> dict[str, str]:
        """The source of every image of a made set; clean images from the user are their own sources."""
        if self.manifest is None or self.clean_is_given:
            return {}
        return self.manifest.sources({image.sample.id: image.content for image in surveyed})

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of an image that is not scored to the reason; "" for unknown images."""
        clean = {sample.id for sample in self.clean.samples()} if self.clean else set()
        return lambda id_: RARE if id_ in self.shelf.rare else NOT_CORRUPTED if id_ in clean else ""

    def __getstate__(self) -> dict[str, object]:
        fields = PrecomputedDataset.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in fields}


def open_with_clean(
    data: str | Location | Dataset,
    clean: str | Location | Dataset | None,
    hint: Callable[[Dataset], str] = lambda _: "",
) -> Dataset:
    """Open a dataset, for a precomputed set together with the clean images it was made from.

    `hint` returns the end of the error for a dataset that takes no clean images.
    """
    dataset = open_dataset(data)
    if clean is None:
        return dataset
    if dataset.precomputed is None:
        raise UserError(
            f"{option('clean')} needs a precomputed set such as ImageNet-C, or a natural set "
            f"({option('suite', 'imagenet-a')}, natural ...); {dataset.location} is neither{hint(dataset)}."
        )
    return dataset.precomputed.with_clean(open_dataset(clean))


def stored_size(condition: Condition) -> tuple[int, int] | None:
    """Width and height of a condition's stored images; None if the condition does not record them."""
    if condition.geometry:
        size = condition.geometry.get(STORED_PX)
        return (size[0], size[1]) if isinstance(size, list) else None
    return condition.edition, condition.edition
