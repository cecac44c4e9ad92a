"""Fréchet distance between two image sets in a network's features, compared with distances within a set.

Every split draws four groups of n images: two of A that share none, two of B that share none. Three
distances are computed at this same n: A to B, A to A, B to B. Every Fréchet distance is biased upwards on few
images, A to B by about the mean of the other two. The excess over that mean is the shift.

Frames of one video are not independent, so a split draws one frame of each video. Without a shift all four
groups then have the same distribution. Groups of whole videos would not: n frames of few videos have a larger
bias than n independent images, the biases of the two sets differ, and their mean is not that of A to B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.distance_splits import Features, bare_id, drawn_count, split_distances
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.locations import location_of
from windtunnel.core.option_names import option, spelled
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, path_and_part, stratified_subset
from windtunnel.data.frame_sets import VIDEO
from windtunnel.data.single_condition import StoredImages, open_images
from windtunnel.engine.process_start import opencv_on_one_thread
from windtunnel.imaging.geometry import Geometry, colour_step, crop_step, decode_step, resize_step
from windtunnel.imaging.header import check_size, pillow_quiet
from windtunnel.imaging.resizers import resize
from windtunnel.models.features import FeatureNetwork
from windtunnel.options.distance import DistanceOptions

# The family that a network's TOML declares for FID, and the number of features of FID.
FID_FAMILY = "fid-inception-v3"
FID_FEATURES = 2048
# A covariance needs two points.
LEAST = 2
RANGE = (0.025, 0.975)
# A to B below the distance within a set by more than this share is not due to chance.
TOO_NEAR = 0.05


@dataclass(frozen=True)
class OverSplits:
    """A statistic over all splits: median, and range from the 2.5 % to the 97.5 % quantile."""

    median: float
    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class ImageSet:
    """One of the two sets.

    Attributes:
        location: its path.
        images: number of images with features.
        drawn: number of images that a split samples from: one frame of every video, and all other images.
        failed: number of failed images by reason.
        remarks: notes on how the data is read.
    """

    location: str
    images: int
    drawn: int
    failed: dict[str, int]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Distance:
    """The distance from A to B.

    Attributes:
        title: name of the distance: FID, or the Fréchet distance in a network and output.
        network: name of the network.
        output: its output or inner tensor that gives the features.
        features: number of features per image.
        grid: height and width over which features are averaged, or None.
        preprocess: description of the preprocessing.
        a: the first set.
        b: the second set.
        n: images in every group of a split.
        seed: seed of the splits.
        between: A to B.
        within_a: distance between two groups of A.
        within_b: distance between two groups of B.
        excess: A to B minus the mean of the other two, split by split.
        warnings: reasons to doubt the result.
    """

    title: str
    network: str
    output: str
    features: int
    grid: tuple[int, int] | None
    preprocess: str
    a: ImageSet
    b: ImageSet
    n: int
    seed: int
    between: OverSplits
    within_a: OverSplits
    within_b: OverSplits
    excess: OverSplits
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The distance as a JSON object."""
        return {"schema": 1, "splits": len(self.between.values), **asdict(self)}


@dataclass(frozen=True)
class _SetFeatures:
    """The features of one set's readable images."""

    dataset: Dataset
    remarks: tuple[str, ...]
    ids: list[str]
    values: Features
    failed: Counter[str]


def measure_distance(
    a: str | Path | Dataset,
    b: str | Path | Dataset,
    features: str | Path,
    options: DistanceOptions,
    *,
    progress: Progress = silent,
    progress_splits: Progress = silent,
) -> Distance:
    """The Fréchet distance between two datasets, the distances within A and within B, and the excess.

    Args:
        a: the first dataset; one condition of a corrupted set, such as `imagenet-c#fog:3`.
        b: the second dataset.
        features: an ONNX file.
        options: output, preprocessing, groups and splits.
        progress: counts images whose features are computed.
        progress_splits: counts splits.

    Raises:
        UserError: no such data, network or output, or too few images.
    """
    _check(options)
    opened = [open_images(source) for source in (a, b)]
    datasets = [dataset for dataset, _ in opened]
    network = FeatureNetwork(location_of(features), options.output, options.preprocess)
    if network.preprocess.geometry.output_px is None:
        raise UserError(f"{network.name} declares no input size; give rule and crop_px under [geometry].")
    samples = [
        stratified_subset(
            sorted(dataset.samples(), key=lambda sample: sample.id), options.subset, options.seed
        )
        for dataset in datasets
    ]
    videos = {bare_id(sample.id): sample.meta[VIDEO] for sample in chain(*samples) if sample.meta.get(VIDEO)}
    # Too few images are refused before any feature is computed, and again once some have failed.
    _group_size(options.size, [[sample.id for sample in chosen] for chosen in samples], videos, datasets)
    total = sum(map(len, samples))
    with pillow_quiet(), opencv_on_one_thread():
        sets = [
            _SetFeatures(dataset, remarks, *_features(network, dataset, chosen, total, progress))
            for (dataset, remarks), chosen in zip(opened, samples, strict=True)
        ]
    n = _group_size(options.size, [part.ids for part in sets], videos, datasets)
    return _distance(network, sets, videos, n, options, progress_splits)


def _check(options: DistanceOptions) -> None:
    """Refuse numbers that are too small."""
    for field in DistanceOptions.fields():
        value = getattr(options, field.name)
        if field.minimum is not None and value < field.minimum:
            raise UserError(f"{option(field.name)} is {value}; give at least {field.minimum}.")


def _distance(
    network: FeatureNetwork,
    sets: Sequence[_SetFeatures],
    videos: Mapping[str, str],
    n: int,
    options: DistanceOptions,
    progress: Progress,
) -> Distance:
    """The distances of all splits into groups of `n` images."""
    ids, values = [part.ids for part in sets], [part.values for part in sets]
    distances = []
    for split in range(options.splits):
        distances.append(split_distances(ids, values, videos, n, options.seed, split))
        progress(1, options.splits)
    between, within_a, within_b = np.array(distances).T
    null = (within_a + within_b) / 2
    excess = _over(between - null)
    a, b = (
        ImageSet(
            part.dataset.location,
            len(part.ids),
            drawn_count(part.ids, videos),
            dict(part.failed),
            tuple(map(spelled, part.remarks)),
        )
        for part in sets
    )
    return Distance(
        title=_title(network),
        network=network.name,
        output=network.output,
        features=network.count,
        grid=network.grid,
        preprocess=f"{network.preprocess.geometry.describe()} ({network.preprocess.origin})",
        a=a,
        b=b,
        n=n,
        seed=options.seed,
        between=_over(between),
        within_a=_over(within_a),
        within_b=_over(within_b),
        excess=excess,
        warnings=tuple(_warnings(network, n, (a, b), excess, float(np.median(null)))),
    )


def _group_size(
    size: int, ids: Sequence[Sequence[str]], videos: Mapping[str, str], sets: Sequence[Dataset]
) -> int:
    """Number of images in a group: two groups of a set must not share an image or a video."""
    counts = [drawn_count(of_set, videos) for of_set in ids]
    fewest = min(counts)
    most, least = fewest // 2, counts.index(fewest)
    smaller, what = sets[least].location, "image" if fewest == len(ids[least]) else "video"
    if most < LEAST:
        raise UserError(
            f"{smaller} has {fewest} readable {what}s; give at least {2 * LEAST}, for two groups of {LEAST}."
        )
    if size and not LEAST <= size <= most:
        raise UserError(
            f"{option('size')} is {size}; give {LEAST} to {most:,}: {smaller} has {fewest:,} {what}s, and "
            f"its two groups must not share a {what}."
        )
    return size or most


def _features(
    network: FeatureNetwork,
    dataset: Dataset,
    samples: Sequence[Sample],
    total: int,
    progress: Progress,
) -> tuple[list[str], Features, Counter[str]]:
    """Ids and features of all readable images, and the reasons why others are not."""
    ids: list[str] = []
    rows: list[Features] = []
    failed: Counter[str] = Counter()
    for start in range(0, len(samples), network.batch):
        batch = samples[start : start + network.batch]
        images: list[Image] = []
        lost = 0
        for sample in batch:
            try:
                images.append(_image(dataset, sample, network.preprocess.geometry))
                ids.append(sample.id)
            except ImageError as error:
                failed[error.status] += 1
                lost += 1
        if images:
            computed = network.features(np.stack(images))
            if not np.isfinite(computed).all():
                raise UserError(
                    f"{network.name}:{network.output} outputs values that are not finite for an image of "
                    f"{dataset.location}; check its preprocessing, or give another output."
                )
            rows.append(computed)
        progress(len(batch), total, lost)
    return ids, np.concatenate([np.empty((0, network.count), np.float32), *rows]), failed


def _image(dataset: Dataset, sample: Sample, geometry: Geometry) -> Image:
    """An image preprocessed for the network; an image of a corrupted set is only resized."""
    content = dataset.read(sample)
    if not isinstance(content, bytes):
        check_size(content.shape[1], content.shape[0])
    image = colour_step(decode_step(content, geometry), geometry)
    if isinstance(dataset, StoredImages):
        side = geometry.output_px or 0
        return resize(image, side, side, geometry.resizer)
    return crop_step(resize_step(image, geometry), geometry)


def _over(values: NDArray[np.float64]) -> OverSplits:
    low, high = np.quantile(values, RANGE)
    return OverSplits(float(np.median(values)), float(low), float(high), tuple(map(float, values)))


def _title(network: FeatureNetwork) -> str:
    """FID if the network is declared as FID's and has its number of features, else the Fréchet distance."""
    if network.family == FID_FAMILY and network.count == FID_FEATURES:
        return "FID"
    return f"Fréchet distance in {network.name}:{network.output}"


def _warnings(
    network: FeatureNetwork, n: int, sets: Sequence[ImageSet], excess: OverSplits, null: float
) -> list[str]:
    lines = []
    first, second = (path_and_part(image_set.location) for image_set in sets)
    if first[0].exists() and (first[0].resolve(), first[1]) == (second[0].resolve(), second[1]):
        lines.append("A and B are the same images: there is no shift to measure.")
    if excess.high < -TOO_NEAR * null:
        lines.append(
            "The distance from A to B is smaller than between halves of one set: both sets probably contain "
            "the same images. Give images the same names in both, so that no image is compared with itself."
        )
    if n <= network.count:
        lines.append(
            f"{n:,} images per group for {network.count:,} features: covariances are singular, and much of "
            f"each distance is bias. Use the excess, or more than {network.count:,} images per group."
        )
    for image_set in sets:
        if image_set.failed:
            counts = image_set.failed.items()
            why = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in counts)
            lines.append(f"{image_set.location}: some images are left out: {why}.")
    if network.family == FID_FAMILY and network.count != FID_FEATURES:
        lines.append(
            f"Not FID: {network.output} has {network.count:,} features, and FID uses {FID_FEATURES:,}."
        )
    if network.preprocess.assumed:
        lines.append(
            f"{network.name} declares no preprocessing, and the default is used. Declare it in "
            f"{network.name}.onnx.toml."
        )
    return lines
