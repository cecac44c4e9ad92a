"""The clean images of a natural set: those of its classes, with labels in its label space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset
from windtunnel.data.natural_classes import counted_imagenet_classes, labels_of_imagenet_class
from windtunnel.data.natural_sets import Images, without_clean
from windtunnel.data.precomputed import CLEAN
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import NaturalSet

# Numbered clean folders are read as ImageNet's indices only if they cover this share of a set's classes.
LEAST_INDICES = 0.5
# The number of names that a message shows.
NAMED = 3


def clean_images_of(natural: NaturalSet, images: Images, clean: Dataset) -> Images:
    """The clean images of the classes that occur in the set."""
    if not any(sample.labels for sample in clean.samples()):
        raise UserError(
            f"The clean images of {clean.location} have no labels, so their error cannot be computed; put "
            "them into one folder per class."
        )
    labels = _labels_of_clean(natural, images.space, clean)
    used = {label for sample in images.samples for label in sample.labels}
    samples: list[Sample] = []
    for sample in clean.samples():
        mapped = tuple(dict.fromkeys(new for old in sample.labels for new in labels[old]))
        if mapped and (natural.role == "out" or used & set(mapped)):
            samples.append(replace(sample, labels=mapped))
    _check_indices(natural, images, clean, samples)
    if not samples:
        raise UserError(
            f"{clean.location} has no image of a class of {images.dataset.location} "
            f"({clean.label_space.order}); give clean images "
            f"{_wanted_folders(natural, images.space, used)}."
        )
    return Images(CLEAN, CLEAN, clean, samples, images.space, notes=_clean_notes(images, clean, samples))


def _check_indices(natural: NaturalSet, images: Images, clean: Dataset, samples: Sequence[Sample]) -> None:
    """Refuse clean images in numbered folders that are probably not ImageNet's indices.

    Any number below 1,000 is a valid index: images of other classes would be scored as misclassified.
    """
    if natural.output_rule == "own" or clean.label_space.name != "indices":
        return
    wanted = {label for sample in images.samples for label in sample.labels}
    if natural.role == "out":
        wanted = set(counted_imagenet_classes(natural))
    covered = wanted & {label for sample in samples for label in sample.labels}
    if len(covered) < LEAST_INDICES * len(wanted):
        raise UserError(
            f"{clean.location} labels its images by number (the last is {clean.label_space.classes[-1]}). "
            f"Read as ImageNet's indices, they cover {len(covered):,} of {len(wanted):,} classes of "
            f"{natural.title}, so they are probably other classes; give clean images "
            f"{_wanted_folders(natural, images.space, wanted)}."
        )


def _wanted_folders(natural: NaturalSet, space: LabelSpace, used: set[int]) -> str:
    """A phrase for messages: the folders of clean images that a set needs, with the first names."""
    if natural.output_rule == "own":
        return "in folders of the same names"
    ids = []
    for place, name in enumerate(imagenet_1k().classes):
        labels = set(labels_of_imagenet_class(natural, place))
        if labels and (natural.role == "out" or labels & used):
            ids.append(name)
    folders = f"in folders of ImageNet's WordNet ids, such as {', '.join(ids[:NAMED])}"
    if natural.output_rule == "collapse":
        own = ", ".join(space.classes[label] for label in sorted(used)[:NAMED])
        folders += f", or of the set's classes, such as {own}"
    return folders


def _clean_notes(images: Images, clean: Dataset, samples: Sequence[Sample]) -> tuple[str, ...]:
    """Notes on clean images of other classes, and on classes without clean images."""
    notes = []
    if len(samples) < len(clean.samples()):
        notes.append(
            f"{len(samples):,} of {len(clean.samples()):,} clean images are of the same classes; the "
            "others are left out."
        )
    return (*notes, *without_clean(images.samples, samples))


def _labels_of_clean(natural: NaturalSet, space: LabelSpace, clean: Dataset) -> dict[int, tuple[int, ...]]:
    """By class of the clean set, its labels in the natural set's label space; () for none."""
    clean_space = clean.label_space
    if natural.output_rule == "own":
        place = {name: index for index, name in enumerate(space.classes)}
        if clean_space.name == space.name:
            return {
                label: (place[name],) if name in place else ()
                for label, name in enumerate(clean_space.classes)
            }
        raise UserError(
            f"The classes of {clean.location} ({clean_space.order}) are not those of the shifted images "
            f"({space.order}); use the same folder names in both."
        )
    own = set(clean_space.classes) <= set(natural.classes)
    if clean_space.name == IMAGENET_1K or (
        clean_space.name == "indices" and len(clean_space) <= len(imagenet_1k())
    ):
        return {label: labels_of_imagenet_class(natural, label) for label in range(len(clean_space))}
    if natural.output_rule == "collapse" and own:
        return {label: (natural.classes.index(name),) for label, name in enumerate(clean_space.classes)}
    raise UserError(
        f"The clean images of {clean.location} are in folders of another kind ({clean_space.order}); "
        f"{natural.title} needs ImageNet's clean images, in folders named by WordNet id."
    )
