"""Natural sets: images with a distribution shift, together with clean images of the same classes.

`NaturalDataset` joins two parts: the set's own images under their own ids, and the clean images of the
same classes under `clean/`. `meta["part"]` of a sample is the part's name, under which it is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from windtunnel.core.annotations import Objects
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.records import FrameChoices
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, stratified_subset
from windtunnel.data.frame_sets import ANCHOR
from windtunnel.data.precomputed import CLEAN
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import DECODES, read_header
from windtunnel.published.natural_sets import NaturalSet

# Reasons why an image is not scored; run folders store them.
OTHER_CLASSES = "clean images of other classes"
OTHER_FOLDERS = "images of folders that are not scored"
# The number and the share of images that may be shifted and clean by accident.
SHARED_COUNT, SHARED_SHARE = 3, 0.01


@dataclass(frozen=True)
class Images:
    """The images of one part.

    Attributes:
        part: its name.
        role: `shifted`, `out` or `clean`.
        dataset: the dataset that reads them.
        samples: the images, with labels in the natural set's label space; ids and meta are the dataset's own.
        space: that label space.
        frames: for video sets, the frames with their anchors.
        name: name of the set, if it differs from the dataset's.
        border_px: the number of pixels that reading cuts from every side.
        notes: notes for the user.
        choices: for annotated frames, how pm-k is measured; else None.
    """

    part: str
    role: str
    dataset: Dataset
    samples: Sequence[Sample]
    space: LabelSpace
    frames: tuple[FrameRow, ...] = ()
    name: str = ""
    border_px: int = 0
    notes: tuple[str, ...] = field(default=())
    choices: FrameChoices | None = None

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes; its pixels if a border is cut."""
        content = self.dataset.read(sample)
        if not self.border_px:
            return content
        if isinstance(content, bytes):
            header = read_header(content)
            with DECODES.holding(header.decode_bytes):
                return self._without_border(decode(content, header))
        return self._without_border(content)

    def _without_border(self, pixels: Image) -> Image:
        if min(pixels.shape[:2]) <= 2 * self.border_px:
            raise ImageError("too_small", f"nothing is left within a border of {self.border_px} pixels")
        cut = slice(self.border_px, -self.border_px)
        return pixels[cut, cut].copy()


class NaturalDataset(Dataset):
    """A natural set, with the clean images of the same classes if they were given.

    Attributes:
        natural: the facts of the set.
        images: its own images.
        clean: the clean images, or None.
    """

    name: str
    location: str
    label_space: LabelSpace
    natural: NaturalSet
    portable: bool
    parallel_reads: bool

    def __init__(
        self, natural: NaturalSet, images: Images, clean: Images | None, notes: Sequence[str] = ()
    ) -> None:
        self.natural = natural
        self._notes = tuple(notes)
        self.images = images
        self.clean = clean
        self.name = images.name or images.dataset.name
        self.location = images.dataset.location
        self.label_space = images.space
        self._parts = (images, *([clean] if clean else []))
        self.portable = all(images.dataset.portable for images in self._parts)
        self.parallel_reads = all(images.dataset.parallel_reads for images in self._parts)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Name and role of every part."""
        return tuple((images.part, images.role) for images in self._parts)

    @property
    def frames(self) -> tuple[FrameRow, ...]:
        """The frames of video sets, each with its anchor."""
        return self.images.frames

    @property
    def frame_choices(self) -> FrameChoices | None:
        """How pm-k of annotated frames is measured; None for other sets."""
        return self.images.choices

    @cached_property
    def annotations(self) -> Mapping[str, Objects] | None:
        """The objects of every image of both parts by its id; None for sets without annotated objects."""
        own = self.images.dataset.annotations
        clean = self.clean.dataset.annotations if self.clean else None
        if own is None or not clean:
            return own
        return {**own, **{f"{CLEAN}/{id_}": objects for id_, objects in clean.items()}}

    @property
    def notes(self) -> list[str]:
        """Notes for the user about the set and about how it was read."""
        return [
            *self._notes,
            *self.natural.notes,
            *(note for images in self._parts for note in images.notes),
        ]

    @cached_property
    def _samples(self) -> list[Sample]:
        own = [
            replace(sample, meta={**sample.meta, "part": self.images.part}) for sample in self.images.samples
        ]
        clean = [
            replace(sample, id=f"{CLEAN}/{sample.id}", meta={**sample.meta, "part": CLEAN})
            for sample in (self.clean.samples if self.clean else ())
        ]
        return sorted(own + clean, key=lambda sample: sample.id)

    def samples(self) -> Sequence[Sample]:
        """Every image of both parts, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes | Image:
        """An image of either part."""
        if self.clean is not None and sample.meta["part"] == CLEAN:
            return self.clean.read(replace(sample, id=sample.id.removeprefix(f"{CLEAN}/")))
        return self.images.read(sample)

    def subset(self, samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
        """About `count` images, in proportion to the size of each part and to class frequency.

        Frame sets stay complete. The clean images are of the classes in the rest of the subset.
        """
        if not count or count >= len(samples):
            return list(samples)
        chosen: list[Sample] = []
        for name, _ in self.parts:
            members = [sample for sample in samples if sample.meta["part"] == name]
            share = max(1, round(count * len(members) / len(samples)))
            drawn = {label for sample in chosen for label in sample.labels}
            if name == CLEAN and drawn:
                members = [sample for sample in members if drawn & set(sample.labels)] or members
            chosen += (
                self._whole_sets(members, share, seed)
                if self.frames and name == self.images.part
                else stratified_subset(members, share, seed)
            )
        return sorted(chosen, key=lambda sample: sample.id)

    def subset_notes(self, samples: Sequence[Sample]) -> list[str]:
        """A note on classes of a subset whose clean images are not in the subset."""
        clean_labels = {
            label for sample in (self.clean.samples if self.clean else ()) for label in sample.labels
        }
        own, clean = (
            [sample for sample in samples if (sample.meta["part"] == CLEAN) is of_clean]
            for of_clean in (False, True)
        )
        return without_clean(
            [sample for sample in own if clean_labels & set(sample.labels)], clean, " in the subset"
        )

    @property
    def given_clean(self) -> Dataset | None:
        """The clean images."""
        return self.clean.dataset if self.clean else None

    def check_content(self, readable: Sequence[Surveyed]) -> list[str]:
        """Refuse images that are the clean ones, by content; returns a note if only a few are."""
        clean = {image.content for image in readable if image.sample.meta["part"] == CLEAN}
        own = [image for image in readable if image.sample.meta["part"] != CLEAN]
        _refuse_same_images(self.location, {image.content for image in own}, clean)
        both = [image.sample.id for image in own if image.content in clean]
        notes = [] if self.annotations is None else self.images.dataset.check_content(own)
        if not both:
            return notes
        return [
            *notes,
            f"{len(both):,} of {len(own):,} images of {self.location} ('{both[0]}' ...) are also among the "
            "clean images (identical files); remove them from one side.",
        ]

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of an image that is not scored to the reason; "" for unknown images."""
        clean = {f"{CLEAN}/{sample.id}" for sample in (self.clean.dataset.samples() if self.clean else ())}
        own = {sample.id for sample in self.images.dataset.samples()}
        other = self.images.dataset.reason_left_out()

        def reason(id_: str) -> str:
            if id_ in clean:
                return OTHER_CLASSES
            return other(id_) or (OTHER_FOLDERS if id_ in own else "")

        return reason

    def _whole_sets(self, samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
        """Complete frame sets with about `count` frames, stratified by the classes of their anchors."""
        by_id = {sample.id: sample for sample in samples}
        anchors = [by_id[frame.sample_id] for frame in self.frames if frame.role == ANCHOR]
        sets = max(1, round(count * len(anchors) / len(samples)))
        chosen = {sample.id for sample in stratified_subset(anchors, sets, seed)}
        groups = {frame.group for frame in self.frames if frame.role == ANCHOR and frame.sample_id in chosen}
        ids = {frame.sample_id for frame in self.frames if frame.group in groups}
        return [sample for sample in samples if sample.id in ids]


def without_clean(own: Sequence[Sample], clean: Sequence[Sample], where: str = "") -> list[str]:
    """A note on images of classes without clean images."""
    clean_labels = {label for sample in clean for label in sample.labels}
    unmatched = [sample for sample in own if sample.labels and not clean_labels & set(sample.labels)]
    missing = len({label for sample in unmatched for label in sample.labels})
    if not missing:
        return []
    have = "class has" if missing == 1 else "classes have"
    return [
        f"{missing:,} {have} no clean image{where}: the accuracy drop leaves out "
        f"{counted(len(unmatched), 'image')} of {len(own):,} and is not the difference of the two errors."
    ]


def _refuse_same_images(location: str, own: set[str], clean: set[str]) -> None:
    """Refuse images that have the content of clean ones: more than a few, or all of one part."""
    both, fewer = len(own & clean), min(len(own), len(clean))
    if both and (both == fewer or both > max(SHARED_COUNT, SHARED_SHARE * fewer)):
        raise UserError(
            f"{both:,} of {len(own):,} images of {location} are identical to some of the {len(clean):,} "
            "clean images; give other clean images."
        )
