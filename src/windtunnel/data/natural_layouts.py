"""How natural sets lie on disk: class folders of several kinds, opened with the labels they really have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.frame_layouts import frame_images
from windtunnel.data.natural_classes import counted_imagenet_classes, labels_of_imagenet_class
from windtunnel.data.natural_sets import Images, NaturalDataset, without_clean
from windtunnel.data.precomputed import CLEAN
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
# Numbered clean folders are ImageNet's indices only where they hold such a share of a set's classes.
LEAST_INDICES = 0.5
# How many of many names a message says.
NAMED = 3
NO_CLEAN = "No clean images were given (--clean DATA): there is no clean error and no accuracy drop."


def open_natural(
    source: str | Path | Dataset,
    name: str,
    clean: str | Path | Dataset | None = None,
    remarks: Sequence[str] = (),
) -> NaturalDataset:
    """Open a natural set, and beside it the clean images of the same classes.

    Args:
        source: the set's folder, archive or table, or a data set that is open already.
        name: which set it is, as in `published/natural.toml`.
        clean: ordinary images of the same classes, such as ImageNet's validation set.
        remarks: what else a user must know.
    """
    if isinstance(source, NaturalDataset):
        if clean is not None or source.natural.name != name:
            raise UserError(f"{source.location} is open as {source.natural.name} already; give its path.")
        return source
    natural = natural_set(name)
    if clean is None and natural.role == "out":
        raise UserError(
            f"{natural.title} needs the in-distribution images it is told from: give "
            f"{option('clean', 'DATA')}."
        )
    if clean is not None and _same_place(source, clean):
        raise UserError(
            f"{source} is given as {natural.title} and as the clean images; give ordinary images with "
            f"{option('clean')}, such as ImageNet's validation set."
        )
    beside = None if clean is None else _plain(clean)
    images = _images(natural, source, beside)
    if not images.samples:
        raise UserError(f"{images.dataset.location} holds no image of {natural.title}.")
    if beside is None:
        # pm-k has its clean answer in the anchor frame.
        lacking = [] if images.frames else [NO_CLEAN]
        return NaturalDataset(natural, images, None, [*remarks, *lacking])
    return NaturalDataset(natural, images, _clean_images(natural, images, beside), remarks)


def open_own_images(source: str | Path | Dataset, name: str) -> NaturalDataset:
    """Open a natural set's own images alone, of out-of-distribution sets too."""
    natural = natural_set(name)
    return NaturalDataset(natural, _images(natural, source, None), None)


def _images(natural: NaturalSet, source: str | Path | Dataset, clean: Dataset | None) -> Images:
    if natural.layout in ("video", "ytbb", "frames"):
        return frame_images(natural, source)
    if natural.layout == "objectnet":
        return _objectnet(natural, source)
    dataset = _plain(source)
    if natural.layout == "indices":
        return _numbered(natural, dataset)
    if natural.layout == "wordnet":
        return _by_wordnet_id(natural, dataset)
    return _own(natural, dataset, clean)


def _same_place(source: str | Path | Dataset, clean: str | Path | Dataset) -> bool:
    """Whether both are one data set, or one path."""
    if isinstance(source, str | Path) and isinstance(clean, str | Path):
        return Path(source).resolve() == Path(clean).resolve()
    return source is clean


def _plain(source: str | Path | Dataset) -> Dataset:
    """A data set of ordinary images; of a finished set its clean ones."""
    found = open_dataset(source)
    if found.precomputed is None:
        return found
    if found.precomputed.clean is None:
        raise UserError(f"{found.location} holds corrupted images only; give ordinary ones.")
    return found.precomputed.clean


def _by_wordnet_id(natural: NaturalSet, dataset: Dataset) -> Images:
    """Folders named by WordNet ids, all of them of the set's classes; of images that are out, no labels."""
    names = imagenet_1k().classes
    allowed = {names[index] for index in counted_imagenet_classes(natural)}
    classes = dataset.label_space.classes
    used = Counter(classes[label] for sample in dataset.samples() for label in sample.labels)
    foreign = sorted(set(used) - allowed)
    if foreign or not used:
        what = (
            f"{len(foreign)} of its {len(used)} folders ('{foreign[0]}' ...) are none of them"
            if used
            else "its images lie in no folder"
        )
        raise UserError(
            f"{dataset.location} is not {natural.title}, whose folders are {len(allowed):,} WordNet ids: "
            f"{what}. Remove them, or name another {option('suite')} (natural takes any class folders)."
        )
    place = {name: index for index, name in enumerate(names)}
    labels = {label: () if natural.role == "out" else (place[classes[label]],)
              for label, name in enumerate(classes) if name in used}  # fmt: skip
    samples = [replace(one, labels=labels[one.labels[0]]) for one in dataset.samples() if one.labels]
    remarks = _count_remarks(natural, len(used), len(allowed), len(dataset.samples()) - len(samples))
    return Images(natural.part, natural.role, dataset, samples, imagenet_1k(), remarks=remarks)


def _count_remarks(natural: NaturalSet, used: int, allowed: int, left_out: int) -> tuple[str, ...]:
    """What of a published set is not there, and what is there beside it."""
    found = []
    if used < allowed:
        found.append(f"{used:,} of {natural.title}'s {allowed:,} class folders are there.")
    if left_out:
        are = "is" if left_out == 1 else "are"
        found.append(f"{counted(left_out, 'image')} outside of any class folder {are} left out.")
    return tuple(found)


def _numbered(natural: NaturalSet, dataset: Dataset) -> Images:
    """Folders 0 to 999, read as numbers: 10 comes after 9. The version stands in the folder's name."""
    names, space = imagenet_1k().classes, dataset.label_space
    used = {label for sample in dataset.samples() for label in sample.labels}
    if space.name != "indices" or max(used, default=len(names)) >= len(names):
        shown = space.classes[max(used)] if used else "none"
        raise UserError(
            f"{dataset.location} is not {natural.title}, whose folders are the numbers 0 to 999: there is "
            f"'{shown}'. Name another {option('suite')} (natural takes any class folders)."
        )
    samples = [one for one in dataset.samples() if one.labels]
    version = v2_version(dataset.location)
    remarks = _count_remarks(natural, len(used), len(names), len(dataset.samples()) - len(samples))
    if not version:
        remarks = (
            f"{natural.title} is three sets, and the folder's name does not say which this is "
            f"({', '.join(V2_VERSIONS)}): version unknown.",
            *remarks,
        )
    part = f"{natural.part}-{version}" if version else natural.part
    return Images(part, natural.role, dataset, samples, imagenet_1k(), remarks=remarks)


def v2_version(location: str) -> str:
    """Which of ImageNet-V2's three sets a path names, or ""."""
    parts = [re.sub("[_ ]", "-", part.lower()) for part in Path(location).resolve().parts[-2:]]
    return next(
        (name for part in reversed(parts) for name, text in V2_VERSIONS.items() if re.search(text, part)), ""
    )


def _objectnet(natural: NaturalSet, source: str | Path | Dataset) -> Images:
    """The folders that overlap with ImageNet, each with all ids that are right for it."""
    inside = isinstance(source, str | Path) and (Path(source) / "images").is_dir()
    dataset = _plain(Path(str(source)) / "images" if inside else source)
    table = several_ids(natural.table)
    keys = [folder_key(name) for name in dataset.label_space.classes]
    samples, used, others = [], set[str](), Counter[str]()
    for one in dataset.samples():
        key = keys[one.labels[0]] if one.labels else ""
        if key in table:
            samples.append(replace(one, labels=table[key]))
            used.add(key)
        else:
            others[key] += 1
    if not samples:
        raise UserError(
            f"{dataset.location} holds none of {natural.title}'s {len(table)} folders that overlap with "
            f"ImageNet, such as '{next(iter(table))}'; give the folder around them, or "
            f"another {option('suite')}."
        )
    remarks = _count_remarks(natural, len(used), len(table), 0)
    if others:
        remarks = (
            *remarks,
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
        name=Path(str(source)).resolve().name if inside else "",
        border_px=OBJECTNET_BORDER_PX,
        remarks=remarks,
    )


def _first_of(folders: Counter[str]) -> str:
    """The first few of some folders by name; images in none lie at the top."""
    names = [name or "the top" for name in sorted(folders)]
    return ", ".join(names[:NAMED]) + (" ..." if len(names) > NAMED else "")


def _own(natural: NaturalSet, dataset: Dataset, clean: Dataset | None) -> Images:
    """A user's own images: class folders like the clean ones', or images that are of none of them."""
    if natural.role == "out":
        space = clean.label_space if clean is not None else dataset.label_space
        samples = [replace(one, labels=()) for one in dataset.samples()]
        remarks = _not_out_remarks(dataset, clean)
        return Images(natural.part, natural.role, dataset, samples, space, remarks=remarks)
    space = dataset.label_space
    if clean is not None and _contains(clean.label_space, space):
        # The model may have more classes than the shift has images of.
        place = {name: index for index, name in enumerate(clean.label_space.classes)}
        names, space = space.classes, clean.label_space
        samples = [
            replace(one, labels=tuple(place[names[label]] for label in one.labels))
            for one in dataset.samples()
        ]
        return Images(natural.part, natural.role, dataset, samples, space)
    return Images(natural.part, natural.role, dataset, dataset.samples(), space)


def _not_out_remarks(dataset: Dataset, clean: Dataset | None) -> tuple[str, ...]:
    """Which folders of images that should be out are named as classes of the clean ones."""
    own = _used_classes(dataset)
    both = sorted(own & _used_classes(clean)) if clean is not None else []
    if not both:
        return ()
    return (
        f"{len(both):,} of {len(own):,} folders of {dataset.location} ('{both[0]}' ...) are called as "
        "classes of the clean images are: what is of such a class is not out of distribution.",
    )


def _used_classes(dataset: Dataset) -> set[str]:
    classes = dataset.label_space.classes
    return {classes[label] for one in dataset.samples() for label in one.labels}


def _contains(larger: LabelSpace, smaller: LabelSpace) -> bool:
    return larger.name == smaller.name and set(smaller.classes) <= set(larger.classes)


def _clean_images(natural: NaturalSet, images: Images, clean: Dataset) -> Images:
    """The clean images of the classes that the set's images are of."""
    if not any(one.labels for one in clean.samples()):
        raise UserError(
            f"The clean images of {clean.location} have no labels, by which their error is counted: put "
            "them into a folder per class."
        )
    labels = _labels_of_clean(natural, images.space, clean)
    used = {label for one in images.samples for label in one.labels}
    found: list[Sample] = []
    for one in clean.samples():
        mapped = tuple(dict.fromkeys(new for old in one.labels for new in labels[old]))
        if mapped and (natural.role == "out" or used & set(mapped)):
            found.append(replace(one, labels=mapped))
    _check_indices(natural, images, clean, found)
    if not found:
        raise UserError(
            f"{clean.location} has no image of a class of {images.dataset.location} "
            f"({clean.label_space.order}); give clean images "
            f"{_wanted_folders(natural, images.space, used)}."
        )
    return Images(CLEAN, CLEAN, clean, found, images.space, remarks=_clean_remarks(images, clean, found))


def _check_indices(natural: NaturalSet, images: Images, clean: Dataset, found: Sequence[Sample]) -> None:
    """Refuse clean images in numbered folders that can hardly be ImageNet's indices.

    Any few numbers are indices of some classes: those of other classes would be scored as wrong answers.
    """
    if natural.answers == "own" or clean.label_space.name != "indices":
        return
    wanted = {label for one in images.samples for label in one.labels}
    if natural.role == "out":
        wanted = set(counted_imagenet_classes(natural))
    there = wanted & {label for one in found for label in one.labels}
    if len(there) < LEAST_INDICES * len(wanted):
        raise UserError(
            f"{clean.location} labels its images by number (the last is {clean.label_space.classes[-1]}); "
            f"as ImageNet's indices they are of {len(there):,} of {len(wanted):,} classes of "
            f"{natural.title}, so they seem to be others: give clean images "
            f"{_wanted_folders(natural, images.space, wanted)}."
        )


def _wanted_folders(natural: NaturalSet, space: LabelSpace, used: set[int]) -> str:
    """Which folders of clean images would serve a set, the first of them by name."""
    if natural.answers == "own":
        return "in folders of the same names"
    ids = []
    for place, name in enumerate(imagenet_1k().classes):
        labels = set(labels_of_imagenet_class(natural, place))
        if labels and (natural.role == "out" or labels & used):
            ids.append(name)
    found = f"in folders of ImageNet's WordNet ids, such as {', '.join(ids[:NAMED])}"
    if natural.answers == "collapse":
        own = ", ".join(space.classes[one] for one in sorted(used)[:NAMED])
        found += f", or of the set's classes, such as {own}"
    return found


def _clean_remarks(images: Images, clean: Dataset, found: Sequence[Sample]) -> tuple[str, ...]:
    """How many clean images are of other classes, and which classes have none."""
    remarks = []
    if len(found) < len(clean.samples()):
        remarks.append(
            f"Of the clean images {len(found):,} of {len(clean.samples()):,} are of the same classes; the "
            "others are left out."
        )
    return (*remarks, *without_clean(images.samples, found))


def _labels_of_clean(natural: NaturalSet, space: LabelSpace, clean: Dataset) -> dict[int, tuple[int, ...]]:
    """By class of the clean set, its labels in the natural set's label space; () where it has none."""
    theirs = clean.label_space
    if natural.answers == "own":
        place = {name: index for index, name in enumerate(space.classes)}
        if theirs.name == space.name:
            return {
                label: (place[name],) if name in place else () for label, name in enumerate(theirs.classes)
            }
        raise UserError(
            f"The classes of {clean.location} ({theirs.order}) are not those of the shifted images "
            f"({space.order}); name folders alike in both."
        )
    own = set(theirs.classes) <= set(natural.classes)
    if theirs.name == IMAGENET_1K or (theirs.name == "indices" and len(theirs) <= len(imagenet_1k())):
        return {label: labels_of_imagenet_class(natural, label) for label in range(len(theirs))}
    if natural.answers == "collapse" and own:
        return {label: (natural.classes.index(name),) for label, name in enumerate(theirs.classes)}
    raise UserError(
        f"The clean images of {clean.location} are in folders of another kind ({theirs.order}); "
        f"{natural.title} is compared with ImageNet's, by WordNet id."
    )
