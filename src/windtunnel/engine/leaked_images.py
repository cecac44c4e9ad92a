"""The check that a model is not scored on the images that a part of it was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.locations import location_of
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.data import Dataset, nfc
from windtunnel.data.clean_pairing import stem
from windtunnel.data.survey import survey
from windtunnel.models import Model

FIT_AGAIN = "fit the temperature on a run over other images"


def refuse_fitted_images(
    model: Model,
    dataset: Dataset,
    surveyed: Sequence[Surveyed],
    sources: Mapping[str, str],
    progress: Progress = silent,
) -> list[str]:
    """Refuse images that a temperature of the model was fitted on; returns notes on doubtful images.

    Files and decoded pixels are compared. Corrupted images whose sources are unknown are compared by id.

    Args:
        model: the model.
        dataset: the images to score.
        surveyed: the facts about them.
        sources: by id, content hashes of the images that they were made from, if these are known.
        progress: counts images that are decoded.
    """
    fitted = model.fitted_images
    if not fitted:
        return []
    count = sum((sources.get(image.sample.id) or image.content) in fitted.contents for image in surveyed)
    if not count and fitted.pixels:
        samples = [image.sample for image in surveyed if image.status == "ok"]

        def decoding(done: int, total: int, failed: int = 0, /) -> None:
            # The same images were counted before, when they were surveyed.
            progress(done, len(surveyed) + total, failed)

        decoded = survey(dataset, samples, decoding, decoded=True)
        count = sum(image.pixels in fitted.pixels for image in decoded)
    if count:
        raise UserError(
            f"{model.name} was fitted on {counted(count, 'image')} of {dataset.location}, so its scores "
            f"would be optimistically biased; {FIT_AGAIN}."
        )
    names = _names(fitted.ids)
    same = [image for image in surveyed if not names.isdisjoint(_names([image.sample.id]))]
    if not same:
        return []
    stored = dataset.precomputed is not None or _is_of_a_stored_set(dataset.location)
    found = (
        f"{dataset.location} has {counted(len(same), 'image')} with the names of images that {model.name} "
        "was fitted on"
    )
    if stored and dataset.given_clean is None and any(image.sample.id not in sources for image in same):
        raise UserError(
            f"{found}. Their clean images are not known, so they may be corrupted copies; give the whole set "
            f"with {option('clean', 'CLEAN')} to compare the clean images, or {FIT_AGAIN}."
        )
    if not any(_is_a_name(image.sample.id) for image in same):
        return []
    return [
        f"{found}, with other content. If they are versions of the same images, the scores are "
        "optimistically biased."
    ]


def _names(ids: Iterable[str]) -> set[str]:
    """Names by which images are recognised: `class/name` without suffix, and `name` if it has a letter."""
    names = set()
    for id_ in map(nfc, ids):
        folder, slash, _ = id_.rpartition("/")
        base = stem(id_)
        names.add(folder + slash + base)
        if any(character.isalpha() for character in base):
            names.add(base)
    return names


def _is_a_name(id_: str) -> bool:
    """Whether an id can identify an image: numbers of rows, as in arrays, are the same in all sets."""
    return "/" in id_ or any(character.isalpha() for character in stem(id_))


def _is_of_a_stored_set(location: str) -> bool:
    """Whether a folder is CORRUPTION/SEVERITY, a part of a set such as ImageNet-C."""
    folder = location_of(location)
    return folder.name.isdigit() and folder.parent.name in CORRUPTIONS
