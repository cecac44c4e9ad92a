"""How natural sets are stored on disk: class folders of several kinds, and how labels are read from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, INDICES, LabelSpace
from windtunnel.core.locations import Location, location_of
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.annotated_frames import (
    annotated_dataset,
    annotated_frames,
    parse_choices,
    refuse_frame_sets,
)
from windtunnel.data.frame_layouts import frame_images
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.natural_classes import counted_imagenet_classes
from windtunnel.data.natural_clean import NAMED, clean_images_of
from windtunnel.data.natural_sets import Images, NaturalDataset
from windtunnel.data.own_sets import DECLARATION, own_natural_set
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import (
    NaturalSet,
    folder_key,
    natural_set,
    several_ids,
)

V2_VERSIONS = {
    "matched-frequency": "matched-?frequency",
    "threshold-0.7": "threshold-?0\\.?7",
    "top-images": "top-?images",
}
OBJECTNET_BORDER_PX = 2
# The column of an image's attribute, for slices.
ATTRIBUTE = "attribute"
NO_CLEAN = (
    f"No clean images were given ({option('clean', 'DATA')}): there is no clean error and no accuracy drop."
)


def open_natural(
    source: str | Location | Dataset,
    name: str,
    clean: str | Location | Dataset | None = None,
    notes: Sequence[str] = (),
    frame_sets: str = "",
) -> NaturalDataset:
    """Open a natural set, together with the clean images of the same classes.

    Args:
        source: the set's folder, archive or table, or an open dataset.
        name: which set it is, as in `published/natural.toml`.
        clean: ordinary images of the same classes, such as ImageNet's validation set.
        notes: further notes for the user.
        frame_sets: how frame sets of annotated frames are made; "" for the defaults.
    """
    if isinstance(source, NaturalDataset):
        refuse_frame_sets(frame_sets)
        if clean is not None or source.natural.name != name:
            raise UserError(f"{source.location} is already open as {source.natural.name}; give its path.")
        return source
    natural = _declared(source, name)
    if clean is None and natural.role == "out":
        raise UserError(
            f"{natural.title} needs in-distribution images for comparison; give {option('clean', 'DATA')}."
        )
    if clean is not None and _same_place(source, clean):
        raise UserError(
            f"{source} is given as {natural.title} and as the clean images; give ordinary images with "
            f"{option('clean')}, such as ImageNet's validation set."
        )
    clean_dataset = None if clean is None else _plain(clean)
    images = _images(natural, source, clean_dataset, frame_sets)
    if not images.samples:
        raise UserError(f"{images.dataset.location} contains no image of {natural.title}.")
    if clean_dataset is None:
        # For pm-k the prediction on the anchor frame is the clean one.
        lacking = [] if images.frames else [NO_CLEAN]
        return NaturalDataset(natural, images, None, [*notes, *lacking])
    return NaturalDataset(natural, images, clean_images_of(natural, images, clean_dataset), notes)


def open_own_images(source: str | Location | Dataset, name: str) -> NaturalDataset:
    """Open only a natural set's own images, also for out-of-distribution sets."""
    natural = _declared(source, name)
    return NaturalDataset(natural, _images(natural, source, None), None)


def _declared(source: str | Location | Dataset, name: str) -> NaturalSet:
    """The set of a name, with the facts of a user's own set if the source declares one that extends it."""
    own = own_natural_set(source)
    return own if own is not None and own.name == name else natural_set(name)


def _images(
    natural: NaturalSet, source: str | Location | Dataset, clean: Dataset | None, frame_sets: str = ""
) -> Images:
    if natural.layout == "frames" and (annotated := annotated_dataset(source)):
        return annotated_frames(natural, annotated, parse_choices(frame_sets))
    refuse_frame_sets(frame_sets)
    if natural.layout in ("video", "ytbb", "frames"):
        return frame_images(natural, source)
    if natural.layout == "objectnet":
        return _objectnet(natural, source)
    dataset = _plain(source)
    if natural.layout == "attributes":
        return _by_attribute(natural, dataset)
    if natural.layout == "indices":
        return _numbered(natural, dataset)
    if natural.layout == "wordnet":
        return _by_wordnet_id(natural, dataset)
    return _own(natural, dataset, clean)


def _same_place(source: str | Location | Dataset, clean: str | Location | Dataset) -> bool:
    """Whether both are the same dataset or the same path."""
    if isinstance(source, str | Location) and isinstance(clean, str | Location):
        return location_of(source).resolve() == location_of(clean).resolve()
    return source is clean


def _plain(source: str | Location | Dataset) -> Dataset:
    """A dataset of ordinary images; for a precomputed set, its clean images."""
    dataset = open_dataset(source)
    if dataset.precomputed is None:
        return dataset
    if dataset.precomputed.clean is None:
        raise UserError(f"{dataset.location} contains corrupted images only; give ordinary images.")
    return dataset.precomputed.clean


def _by_wordnet_id(natural: NaturalSet, dataset: Dataset) -> Images:
    """Images in folders named by the WordNet ids of the set's classes; without labels for OOD sets."""
    names = imagenet_1k().classes
    allowed = {names[index] for index in counted_imagenet_classes(natural)}
    classes = dataset.label_space.classes
    used = Counter(classes[label] for sample in dataset.samples() for label in sample.labels)
    foreign = sorted(set(used) - allowed)
    if foreign or not used:
        what = (
            f"{len(foreign)} of its {len(used)} folders ('{foreign[0]}' ...) are not among them"
            if used
            else "its images are in no folder"
        )
        raise UserError(
            f"{dataset.location} is not {natural.title}, whose folders are {len(allowed):,} WordNet ids: "
            f"{what}. Remove them, or name another {option('suite')} (natural takes any class folders)."
        )
    place = {name: index for index, name in enumerate(names)}
    labels = {label: () if natural.role == "out" else (place[classes[label]],)
              for label, name in enumerate(classes) if name in used}  # fmt: skip
    samples = [
        replace(sample, labels=labels[sample.labels[0]]) for sample in dataset.samples() if sample.labels
    ]
    notes = _count_notes(natural, len(used), len(allowed), len(dataset.samples()) - len(samples))
    return Images(natural.part, natural.role, dataset, samples, imagenet_1k(), notes=notes)


def _count_notes(natural: NaturalSet, used: int, allowed: int, left_out: int) -> tuple[str, ...]:
    """Notes on class folders that are missing, and on images outside them."""
    notes = []
    if used < allowed:
        notes.append(f"{used:,} of {natural.title}'s {allowed:,} class folders are present.")
    if left_out:
        are = "is" if left_out == 1 else "are"
        notes.append(f"{counted(left_out, 'image')} outside the class folders {are} left out.")
    return tuple(notes)


def _numbered(natural: NaturalSet, dataset: Dataset) -> Images:
    """Images in folders 0 to 999, read as numbers: 10 comes after 9. The folder's name has the version."""
    names, space = imagenet_1k().classes, dataset.label_space
    used = {label for sample in dataset.samples() for label in sample.labels}
    if space.name != "indices" or max(used, default=len(names)) >= len(names):
        shown = space.classes[max(used)] if used else "none"
        raise UserError(
            f"{dataset.location} is not {natural.title}, whose folders are the numbers 0 to 999: it contains "
            f"'{shown}'. Name another {option('suite')} (natural takes any class folders)."
        )
    samples = [sample for sample in dataset.samples() if sample.labels]
    version = v2_version(dataset.location)
    notes = _count_notes(natural, len(used), len(names), len(dataset.samples()) - len(samples))
    if not version:
        notes = (
            f"{natural.title} has three versions, and the folder's name does not state which one this is "
            f"({', '.join(V2_VERSIONS)}): version unknown.",
            *notes,
        )
    part = f"{natural.part}-{version}" if version else natural.part
    return Images(part, natural.role, dataset, samples, imagenet_1k(), notes=notes)


def v2_version(location: str) -> str:
    """The version of ImageNet-V2 that a path names, or ""."""
    parts = [re.sub("[_ ]", "-", part.lower()) for part in Path(location).resolve().parts[-2:]]
    return next(
        (name for part in reversed(parts) for name, text in V2_VERSIONS.items() if re.search(text, part)), ""
    )


def _objectnet(natural: NaturalSet, source: str | Location | Dataset) -> Images:
    """Images in the folders that overlap with ImageNet, labelled with all matching ImageNet classes."""
    inside = isinstance(source, str | Location) and (location_of(source) / "images").is_dir()
    dataset = _plain(location_of(str(source)) / "images" if inside else source)
    table = several_ids(natural.table)
    keys = [folder_key(name) for name in dataset.label_space.classes]
    samples, used, others = [], set[str](), Counter[str]()
    for sample in dataset.samples():
        key = keys[sample.labels[0]] if sample.labels else ""
        if key in table:
            samples.append(replace(sample, labels=table[key]))
            used.add(key)
        else:
            others[key] += 1
    if not samples:
        raise UserError(
            f"{dataset.location} contains none of {natural.title}'s {len(table)} folders that overlap with "
            f"ImageNet, such as '{next(iter(table))}'; give their parent folder, or another "
            f"{option('suite')}."
        )
    notes = _count_notes(natural, len(used), len(table), 0)
    if others:
        notes = (
            *notes,
            f"{counted(others.total(), 'image')} in {counted(len(others), 'other folder')} "
            f"{'is' if others.total() == 1 else 'are'} left out: ImageNet has no such class "
            f"({_first_of(others)}).",
        )
    return Images(
        natural.part,
        natural.role,
        dataset,
        samples,
        imagenet_1k(),
        name=location_of(str(source)).resolve().name if inside else "",
        border_px=OBJECTNET_BORDER_PX,
        notes=notes,
    )


def _by_attribute(natural: NaturalSet, dataset: Dataset) -> Images:
    """Images in `<attribute>/<class>/<image>`, or in the class folders of one attribute."""
    table = several_ids(natural.table)
    samples, used = [], set[str]()
    for sample in dataset.samples():
        *attribute, folder, _ = ("", *sample.id.split("/"))
        if (key := folder_key(folder)) in table:
            meta = {**sample.meta, ATTRIBUTE: attribute[-1]} if attribute and attribute[-1] else sample.meta
            samples.append(replace(sample, labels=table[key], meta=meta))
            used.add(key)
    if not samples:
        raise UserError(
            f"{dataset.location} contains none of {natural.title}'s {len(table)} class folders, such as "
            f"'{next(iter(table))}'; give the folder that contains background, texture and material, or "
            f"another {option('suite')}."
        )
    notes = _count_notes(natural, len(used), len(table), len(dataset.samples()) - len(samples))
    return Images(natural.part, natural.role, dataset, samples, imagenet_1k(), notes=notes)


def _first_of(folders: Counter[str]) -> str:
    """The names of the first few folders; "the top" for images outside any folder."""
    names = [name or "the top" for name in sorted(folders)]
    return ", ".join(names[:NAMED]) + (" ..." if len(names) > NAMED else "")


def _own(natural: NaturalSet, dataset: Dataset, clean: Dataset | None) -> Images:
    """A user's own images: in class folders named like the clean ones, or out of distribution."""
    if natural.role == "out":
        space = clean.label_space if clean is not None else dataset.label_space
        samples = [replace(sample, labels=()) for sample in dataset.samples()]
        notes = _shared_class_notes(dataset, clean)
        return Images(natural.part, natural.role, dataset, samples, space, notes=notes)
    _check_declared_classes(natural, dataset)
    space = dataset.label_space
    if clean is not None and _contains(clean.label_space, space):
        # The model may have more classes than the shifted images.
        place = {name: index for index, name in enumerate(clean.label_space.classes)}
        names, space = space.classes, clean.label_space
        samples = [
            replace(sample, labels=tuple(place[names[label]] for label in sample.labels))
            for sample in dataset.samples()
        ]
        return Images(natural.part, natural.role, dataset, samples, space)
    if natural.classes and space.name not in (IMAGENET_1K, INDICES):
        return _in_declared_order(natural, dataset)
    return Images(natural.part, natural.role, dataset, dataset.samples(), space)


def _check_declared_classes(natural: NaturalSet, dataset: Dataset) -> None:
    """Refuse folders that a declared list of classes lacks, and declared WordNet ids that do not exist.

    Numbered folders are places in a list of names, from 0; in a list of numbers they are its classes.
    """
    if not natural.classes:
        return
    space = dataset.label_space
    if space.name == INDICES and label_space_of(natural.classes)[0].name != INDICES:
        highest = max((label for sample in dataset.samples() for label in sample.labels), default=0)
        if highest >= len(natural.classes):
            raise UserError(
                f"{dataset.location} has the folder '{space.classes[highest]}', but its {DECLARATION} "
                f"declares {len(natural.classes):,} classes, numbered from 0; add classes there, or "
                "remove the folder."
            )
        return
    foreign = sorted(_used_classes(dataset) - set(natural.classes))
    if foreign:
        raise UserError(
            f"{dataset.location} has the folder '{foreign[0]}', not among the {len(natural.classes):,} "
            f"classes that its {DECLARATION} declares; add it there, or remove the folder."
        )
    if space.name == IMAGENET_1K:
        unknown = [name for name in natural.classes if name not in imagenet_1k().classes]
        if unknown:
            raise UserError(
                f"{DECLARATION} of {dataset.location} declares the class '{unknown[0]}', which is no WordNet "
                "id of ImageNet-1k; correct or remove it."
            )


def _in_declared_order(natural: NaturalSet, dataset: Dataset) -> Images:
    """Images whose classes are numbered as the set declares them, also those without images."""
    names, place = dataset.label_space.classes, {name: index for index, name in enumerate(natural.classes)}
    samples = [
        replace(sample, labels=tuple(place[names[label]] for label in sample.labels))
        for sample in dataset.samples()
    ]
    space = LabelSpace(dataset.label_space.name, natural.classes, f"classes of {DECLARATION}")
    return Images(natural.part, natural.role, dataset, samples, space)


def _shared_class_notes(dataset: Dataset, clean: Dataset | None) -> tuple[str, ...]:
    """A note on folders of OOD images that have the name of a class of the clean images."""
    own = _used_classes(dataset)
    both = sorted(own & _used_classes(clean)) if clean is not None else []
    if not both:
        return ()
    return (
        f"{len(both):,} of {len(own):,} folders of {dataset.location} ('{both[0]}' ...) have the name of a "
        "class of the clean images: images of such a class are not out of distribution.",
    )


def _used_classes(dataset: Dataset) -> set[str]:
    classes = dataset.label_space.classes
    return {classes[label] for sample in dataset.samples() for label in sample.labels}


def _contains(larger: LabelSpace, smaller: LabelSpace) -> bool:
    return larger.name == smaller.name and set(smaller.classes) <= set(larger.classes)
