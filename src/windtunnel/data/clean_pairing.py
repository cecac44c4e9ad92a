"""Pairing of the images of a precomputed set with the clean images they were made from."""

from __future__ import annotations

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, is_image_name, nfc
from windtunnel.data.label_spaces import class_keys
from windtunnel.data.shelf import ClipShelf, Shelf


def clean_partners(shelf: Shelf, clean: Dataset) -> dict[str, Sample]:
    """By id, the clean image of every stored image: the one with the same id, or the same class and name."""
    own_keys = space_keys(shelf.label_space)
    by_id = {sample.id: sample for sample in clean.samples()}
    by_name = _samples_by_name(clean)
    partners = {}
    for sample in shelf.samples:
        name = nfc(sample.meta["name"])
        folder, slash, base = name.rpartition("/")
        if folder and sample.labels:
            # `007`, `7` and its WordNet id are the same class.
            folder = own_keys[sample.labels[0]]
            name = f"{folder}/{base}"
        # The name of a clip has no suffix, although it may contain a dot.
        key = name if isinstance(shelf, ClipShelf) else f"{folder}{slash}{stem(name)}"
        partner = by_id.get(sample.id) or by_name.get(key)
        if partner is not None:
            partners[sample.id] = partner
    return partners


def _samples_by_name(clean: Dataset) -> dict[str, Sample]:
    """The clean images by `class/stem` and by stem; refuses two images of the same class and stem."""
    keys = space_keys(clean.label_space)
    by_name: dict[str, Sample] = {}
    for sample in clean.samples():
        class_, base = keys[sample.labels[0]] if sample.labels else "", stem(sample.id)
        for key in {f"{class_}/{base}", base} if class_ else {base}:
            if key in by_name and "/" in key:
                raise UserError(
                    f"{clean.location} contains {by_name[key].id} and {sample.id}, which both match {key}; "
                    "remove one."
                )
            by_name[key] = sample
    return by_name


def space_keys(space: LabelSpace) -> list[str]:
    """A key for each class of a label space that is equal for class indices and WordNet ids."""
    return class_keys(space.name, space.classes)


def stem(name: str) -> str:
    """The last part of an id without the suffix of an image."""
    base = name.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if is_image_name(base) else base
