"""Training images: decoded, cropped, resized, corrupted; the same for the same seed, epoch and image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.calls import Call
from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.images import Image
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.seeding import Draws, digest64
from windtunnel.data import Dataset
from windtunnel.data.survey import survey
from windtunnel.imaging.crops import Area, training_view
from windtunnel.imaging.geometry import Geometry, colour_step, decode_step
from windtunnel.train.augmentation import Augmentation, corrupted_view
from windtunnel.train.image_steps import ImageStep, applied
from windtunnel.train.mixing import Mix

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


def training_side(geometry: Geometry) -> int:
    """The side of the module's square images; refuses a preprocessing that gives images of any size."""
    if geometry.output_px is None:
        raise UserError(
            "The preprocessing gives images of any size; training needs one, such as crop_px = 224."
        )
    return geometry.output_px


def labelled(dataset: Dataset) -> list[Sample]:
    """The training images: those with exactly one label."""
    samples = [sample for sample in dataset.samples() if len(sample.labels) == 1]
    if len(samples) < 2:
        raise UserError(
            f"{dataset.location} has {len(samples)} images with one label; training needs at least two."
        )
    return sorted(samples, key=lambda sample: sample.id)


def readable(dataset: Dataset, samples: Sequence[Sample], ways: Sequence[Geometry]) -> list[Surveyed]:
    """The survey of every image, decoded with every decoder that may be drawn; failures have a reason.

    All decoders train on the same images: an image that one of them cannot read is left out for all.
    """
    return [_tried(dataset, image, ways) for image in survey(dataset, samples)]


def _tried(dataset: Dataset, image: Surveyed, ways: Sequence[Geometry]) -> Surveyed:
    if image.status != "ok":
        return image
    try:
        content = dataset.read(image.sample)
        for way in ways:
            colour_step(decode_step(content, way), way)
    except ImageError as error:
        return replace(image, status=error.status, reason=error.reason)
    return image


def batches(
    dataset: Dataset,
    samples: Sequence[Sample],
    geometry: Geometry,
    *,
    seed: int,
    epoch: int,
    size: int,
    mix: Mix,
    area: Area,
    mirror: bool,
    augmentation: Augmentation = Augmentation(),  # noqa: B008 (frozen)
    image_steps: Sequence[Call[ImageStep]] = (),
    versions: int = 0,
) -> Iterator[Batch]:
    """The batches of an epoch, in an order of its own; a last batch that is too small is left out.

    Every copy of an image has a crop of its own. Corruptions are applied after the crop, at the module's
    size, and image steps after them. With further versions of each image, these follow the images of the
    batch: n images with the steps that are not random, then n first versions with all steps, and so on.
    """
    side_px = training_side(geometry)
    conditions = augmentation.conditions(side_px)
    order = np.random.default_rng(digest64("train/order", seed, epoch)).permutation(
        len(samples) * augmentation.copies
    )
    plain = [call for call in image_steps if not call.plugin.random]
    whole = len(order) // size if len(order) >= size else 1
    for number, chosen in enumerate(np.array_split(order[: whole * size], whole)):
        views: list[list[Image]] = [[] for _ in range(1 + versions)]
        labels = []
        for place in chosen:
            copy, row = divmod(int(place), len(samples))
            sample = samples[row]
            way = mix.geometry(geometry, seed, epoch, number, sample.id)
            draws = Draws(seed, sample.id, f"train/view/{copy}" if copy else "train/view", epoch)
            image = decoded(dataset, sample, way)
            view = training_view(image, side_px, way.resizer, draws, area, mirror=mirror)
            if augmentation.is_corrupted(copy):
                view = corrupted_view(view, conditions, seed, epoch, copy, sample.id)
            for version, made in enumerate(views):
                calls = plain if versions and not version else image_steps
                made.append(applied(view, calls, seed, epoch, sample.id, f"{copy}/{version}"))
            labels.append(sample.labels[0])
        yield np.stack(list(chain.from_iterable(views))), np.array(labels, np.int64)


def decoded(dataset: Dataset, sample: Sample, geometry: Geometry) -> Image:
    """An image decoded with the geometry's decoder and colour conversion, as in runs."""
    try:
        return colour_step(decode_step(dataset.read(sample), geometry), geometry)
    except ImageError as error:
        raise RunFailed(
            f"{sample.id} could be read when training began but cannot be read now: {error.reason}"
        ) from error
