"""Natural sets: images that are another test than the clean ones, with the clean ones beside them.

`NaturalDataset` joins two parts: the set's own images under their own ids, and the clean images of the
same classes under `clean/`. `meta["part"]` of a sample is the part's name, under which it is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, stratified_subset
from windtunnel.data.frame_sets import ANCHOR
from windtunnel.data.precomputed import CLEAN
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import DECODES, read_header
from windtunnel.published.natural_sets import NaturalSet

# Why an image is not scored.
OTHER_CLASSES = "clean images of other classes"
OTHER_FOLDERS = "images of folders that are not scored"
# So many images, or such a share of them, may be shifted and clean by accident.
SHARED_COUNT, SHARED_SHARE = 3, 0.01


@dataclass(frozen=True)
class Images:
    """The images of one part.

    Attributes:
        part: its name.
        role: `shifted`, `out` or `clean`.
        dataset: what reads them.
        samples: with labels in the natural set's label space; ids and meta are the data set's own.
        space: that label space.
        frames: of video sets, which frames belong to which anchor.
        name: of the set, where it is not the data set's.
        border_px: how many pixels are cut from every side on reading.
        remarks: what a user must know.
    """

    part: str
    role: str
    dataset: Dataset
    samples: Sequence[Sample]
    space: LabelSpace
    frames: tuple[FrameRow, ...] = ()
    name: str = ""
    border_px: int = 0
    remarks: tuple[str, ...] = field(default=())

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes; pixels where a border is cut."""
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
    """A natural set, and the clean images of the same classes where there are some.

    Attributes:
        natural: the facts of the set.
        images: its own images.
        clean: the clean ones, or None.
    """

    name: str
    location: str
    label_space: LabelSpace
    natural: NaturalSet
    portable: bool
    parallel_reads: bool

    def __init__(
        self, natural: NaturalSet, images: Images, clean: Images | None, remarks: Sequence[str] = ()
    ) -> None:
        self.natural = natural
        self._remarks = tuple(remarks)
        self.images = images
        self.clean = clean
        self.name = images.name or images.dataset.name
        self.location = images.dataset.location
        self.label_space = images.space
        self._parts = (images, *([clean] if clean else []))
        self.portable = all(one.dataset.portable for one in self._parts)
        self.parallel_reads = all(one.dataset.parallel_reads for one in self._parts)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Name and role of every part."""
        return tuple((one.part, one.role) for one in self._parts)

    @property
    def frames(self) -> tuple[FrameRow, ...]:
        """Of video sets, which frames belong to which anchor."""
        return self.images.frames

    @property
    def remarks(self) -> list[str]:
        """What a user must know of the set and of what was read."""
        return [
            *self._remarks,
            *self.natural.remarks,
            *(remark for one in self._parts for remark in one.remarks),
        ]

    @cached_property
    def _samples(self) -> list[Sample]:
        own = [replace(one, meta={**one.meta, "part": self.images.part}) for one in self.images.samples]
        beside = [
            replace(one, id=f"{CLEAN}/{one.id}", meta={**one.meta, "part": CLEAN})
            for one in (self.clean.samples if self.clean else ())
        ]
        return sorted(own + beside, key=lambda one: one.id)

    def samples(self) -> Sequence[Sample]:
        """Every image of both parts, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes | Image:
        """An image of either part."""
        if self.clean is not None and sample.meta["part"] == CLEAN:
            return self.clean.read(replace(sample, id=sample.id.removeprefix(f"{CLEAN}/")))
        return self.images.read(sample)

    def subset(self, samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
        """About `count` images, each part in proportion to its size and its classes likewise.

        Frame sets stay whole. The clean images are of the classes that were drawn of the others.
        """
        if not count or count >= len(samples):
            return list(samples)
        found: list[Sample] = []
        for name, _ in self.parts:
            members = [one for one in samples if one.meta["part"] == name]
            share = max(1, round(count * len(members) / len(samples)))
            drawn = {label for one in found for label in one.labels}
            if name == CLEAN and drawn:
                members = [one for one in members if drawn & set(one.labels)] or members
            found += (
                self._whole_sets(members, share, seed)
                if self.frames and name == self.images.part
                else stratified_subset(members, share, seed)
            )
        return sorted(found, key=lambda one: one.id)

    def subset_remarks(self, samples: Sequence[Sample]) -> list[str]:
        """What to say of a subset with classes that have clean images, none of which was drawn."""
        there = {label for one in (self.clean.samples if self.clean else ()) for label in one.labels}
        own, beside = (
            [one for one in samples if (one.meta["part"] == CLEAN) is of_clean] for of_clean in (False, True)
        )
        return without_clean([one for one in own if there & set(one.labels)], beside, " in the subset")

    @property
    def given_clean(self) -> Dataset | None:
        """The clean images."""
        return self.clean.dataset if self.clean else None

    def check_content(self, readable: Sequence[Surveyed]) -> list[str]:
        """Refuse images that are the clean ones, by content; returns a remark where only a few are."""
        clean = {one.content for one in readable if one.sample.meta["part"] == CLEAN}
        own = [one for one in readable if one.sample.meta["part"] != CLEAN]
        _refuse_same_images(self.location, {one.content for one in own}, clean)
        both = [one.sample.id for one in own if one.content in clean]
        if not both:
            return []
        return [
            f"{len(both):,} of {len(own):,} images of {self.location} ('{both[0]}' ...) are among the clean "
            "ones too, the same files: take them out of one side."
        ]

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of an image that is not scored to the reason; "" for unknown images."""
        clean = {f"{CLEAN}/{one.id}" for one in (self.clean.dataset.samples() if self.clean else ())}
        own = {one.id for one in self.images.dataset.samples()}
        other = self.images.dataset.reason_left_out()

        def reason(id_: str) -> str:
            if id_ in clean:
                return OTHER_CLASSES
            return other(id_) or (OTHER_FOLDERS if id_ in own else "")

        return reason

    def _whole_sets(self, samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
        """Frame sets drawn by the classes of their anchors, so many that they hold about `count` frames."""
        by_id = {one.id: one for one in samples}
        anchors = [by_id[one.sample_id] for one in self.frames if one.role == ANCHOR]
        sets = max(1, round(count * len(anchors) / len(samples)))
        chosen = {one.id for one in stratified_subset(anchors, sets, seed)}
        groups = {one.group for one in self.frames if one.role == ANCHOR and one.sample_id in chosen}
        kept = {one.sample_id for one in self.frames if one.group in groups}
        return [one for one in samples if one.id in kept]


def without_clean(own: Sequence[Sample], clean: Sequence[Sample], where: str = "") -> list[str]:
    """What to say where images are of classes that no clean image is of."""
    there = {label for one in clean for label in one.labels}
    alone = [one for one in own if one.labels and not there & set(one.labels)]
    lacking = len({label for one in alone for label in one.labels})
    if not lacking:
        return []
    have = "class has" if lacking == 1 else "classes have"
    return [
        f"{lacking:,} {have} no clean image{where}: the drop leaves {counted(len(alone), 'image')} of "
        f"{len(own):,} out, and is not the difference of the two errors."
    ]


def _refuse_same_images(location: str, own: set[str], clean: set[str]) -> None:
    """Refuse images, by content, that are the clean ones: more than a few, or all of one part."""
    both, fewer = len(own & clean), min(len(own), len(clean))
    if both and (both == fewer or both > max(SHARED_COUNT, SHARED_SHARE * fewer)):
        raise UserError(
            f"{both:,} of {len(own):,} images of {location} are among the {len(clean):,} clean ones, the "
            "same files; give clean images that are others."
        )
