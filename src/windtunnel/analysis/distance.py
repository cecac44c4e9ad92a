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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample
from windtunnel.core.seeding import digest64
from windtunnel.data import Dataset, path_and_part, stratified_subset
from windtunnel.data.frame_sets import VIDEO
from windtunnel.data.single_condition import StoredImages, open_images
from windtunnel.engine.worker_processes import opencv_on_one_thread
from windtunnel.imaging.geometry import Geometry, colour_step, crop_step, decode_step, resize_step
from windtunnel.imaging.header import check_size, pillow_quiet
from windtunnel.imaging.resizers import resize
from windtunnel.models.features import FeatureNetwork
from windtunnel.stats.frechet import frechet_distance, moments

SPLITS = 20
# The family that a network's TOML declares for FID, and the number of features of FID.
FID_FAMILY = "fid-inception-v3"
FID_FEATURES = 2048
# A covariance needs two points.
LEAST = 2
RANGE = (0.025, 0.975)
# A to B below the distance within a set by more than this share is not due to chance.
TOO_NEAR = 0.05

Features = NDArray[np.float32]


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
        network, output: source of the features.
        features: number of features per image.
        grid: height and width over which features are averaged, or None.
        preprocess: description of the preprocessing.
        a, b: the sets.
        n: images in every group of a split.
        seed: seed of the splits.
        between: A to B.
        within_a, within_b: distance between two groups of one set.
        excess: A to B minus the mean of the other two, split by split.
        warnings: warnings for the reader.
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


def distance(
    a: str | Path | Dataset,
    b: str | Path | Dataset,
    features: str | Path,
    *,
    output: str | None = None,
    preprocess: str | Path | None = None,
    size: int = 0,
    splits: int = SPLITS,
    subset: int = 0,
    seed: int = 0,
    progress: Progress = silent,
    progress_splits: Progress = silent,
) -> Distance:
    """Measure how far one set of images is from another in the features of a network.

    ||m1 - m2||^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)), of equal numbers of images, over several random splits.

    Args:
        a, b: datasets; of a corrupted set one condition, such as `imagenet-c#fog:3`; of a natural set its
            own images, as `run` reads them. Labels are not needed. Every split draws one frame of each
            video (frame sets, or the column `video` of a table).
        features: an ONNX file.
        output: which output of it, or an inner tensor; its declared or first output by default. Features with
            a height and a width are averaged over them.
        preprocess: name of a preset or a TOML file; by default the TOML next to the network, or the default
            preprocessing.
        size: images in every group; by default, and at most, half of the smaller set; a video counts as one.
        splits: number of random splits.
        subset: use only this many images of each set, stratified by class; 0 for all.
        seed: seed of the splits and the subset.
        progress: counts images whose features are computed.
        progress_splits: counts splits.

    Returns:
        The distance, the distances within A and within B, and the excess over their mean.

    Raises:
        UserError: no such data, network or output, or too few images.
    """
    if splits < 1 or size < 0 or subset < 0:
        raise UserError(f"splits is {splits}, size is {size}, subset is {subset}; give at least 1, 0 and 0.")
    sets, remarks = zip(*map(open_images, (a, b)), strict=True)
    network = FeatureNetwork(Path(features), output, preprocess)
    if network.preprocess.geometry.output_px is None:
        raise UserError(f"{network.name} declares no input size; give rule and crop_px under [geometry].")
    chosen = [stratified_subset(sorted(one.samples(), key=lambda s: s.id), subset, seed) for one in sets]
    videos = {_bare(one.id): one.meta[VIDEO] for some in chosen for one in some if one.meta.get(VIDEO)}
    _groups_of(size, [[one.id for one in some] for some in chosen], videos, sets)
    total = sum(map(len, chosen))
    with pillow_quiet(), opencv_on_one_thread():
        found = [
            _features(network, dataset, samples, total, progress)
            for dataset, samples in zip(sets, chosen, strict=True)
        ]
    ids, values, failed = zip(*found, strict=True)
    n = _groups_of(size, ids, videos, sets)
    distances = []
    for split in range(splits):
        distances.append(split_distances(ids, values, videos, n, seed, split))
        progress_splits(1, splits)
    between, within_a, within_b = np.array(distances).T
    null = (within_a + within_b) / 2
    excess = _over(between - null)
    described = [
        ImageSet(dataset.location, len(kept), _drawn(kept, videos), dict(lost), told)
        for dataset, kept, lost, told in zip(sets, ids, failed, remarks, strict=True)
    ]
    return Distance(
        _title(network),
        network.name,
        network.output,
        network.count,
        network.grid,
        f"{network.preprocess.geometry.describe()} ({network.preprocess.origin})",
        described[0],
        described[1],
        n,
        seed,
        _over(between),
        _over(within_a),
        _over(within_b),
        excess,
        tuple(_warnings(network, n, described, excess, float(np.median(null)))),
    )


def _groups_of(
    size: int, ids: Sequence[Sequence[str]], videos: Mapping[str, str], sets: Sequence[Dataset]
) -> int:
    """Number of images in a group: two groups of a set must not share an image or a video."""
    counts = [_drawn(one, videos) for one in ids]
    fewest = min(counts)
    most, least = fewest // 2, counts.index(fewest)
    smaller, what = sets[least].location, "image" if fewest == len(ids[least]) else "video"
    if most < LEAST:
        raise UserError(
            f"{smaller} has {fewest} readable {what}s; give at least {2 * LEAST}, for two groups of {LEAST}."
        )
    if size and not LEAST <= size <= most:
        raise UserError(
            f"size is {size}; give {LEAST} to {most:,}: {smaller} has {fewest:,} {what}s, and its two groups "
            f"must not share a {what}."
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
            found = network.features(np.stack(images))
            if not np.isfinite(found).all():
                raise UserError(
                    f"{network.name}:{network.output} outputs values that are not finite for an image of "
                    f"{dataset.location}; check its preprocessing, or give another output."
                )
            rows.append(found)
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


def split_distances(
    ids: Sequence[Sequence[str]],
    values: Sequence[Features],
    videos: Mapping[str, str],
    n: int,
    seed: int,
    split: int,
) -> tuple[float, float, float]:
    """A to B, A to A and B to B of one split.

    Both sets are shuffled by the same hash, and B is taken from the other end: where A and B hold the same
    images (one of them corrupted), the compared groups share none, as two groups of one set do not.

    Args:
        ids: ids of the images of A, and of B.
        values: their features.
        videos: by id without file extension, the video of an image.
        n: images in a group, at most half of the images that a split samples from.
        seed, split: seed of the shuffle, and index of the split.
    """
    orders = [_shuffled(one, videos, seed, split) for one in ids]
    (first_a, second_a), (second_b, first_b) = (
        (moments(rows[order[:n]]), moments(rows[order[-n:]]))
        for rows, order in zip(values, orders, strict=True)
    )
    return (
        frechet_distance(first_a, first_b),
        frechet_distance(first_a, second_a),
        frechet_distance(first_b, second_b),
    )


def _shuffled(ids: Sequence[str], videos: Mapping[str, str], seed: int, split: int) -> NDArray[np.int64]:
    """Rows of one frame of every video and of all other images, in the order of hashes of their names."""

    def hashed(names: Sequence[str]) -> NDArray[np.uint64]:
        return np.array([digest64("distance", seed, split, name) for name in names], np.uint64)

    rows = np.argsort(hashed([_bare(one) for one in ids]))
    if not videos:
        return rows
    first: dict[str, int] = {}
    for row in map(int, rows):
        first.setdefault(_video(ids[row], videos) or ids[row], row)
    chosen = np.array(list(first.values()))
    return chosen[np.argsort(hashed([_video(ids[row], videos) or _bare(ids[row]) for row in chosen]))]


def _video(id_: str, videos: Mapping[str, str]) -> str:
    """The video of an image, or ""; a copy with the same name belongs to the same video."""
    return videos.get(_bare(id_), "")


def _drawn(ids: Sequence[str], videos: Mapping[str, str]) -> int:
    """Number of images that a split samples from."""
    return len({_video(one, videos) or one for one in ids})


def _bare(id_: str) -> str:
    """An id without file extension: a corrupted copy may be stored in another format."""
    return id_.rpartition(".")[0] or id_


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
    first, second = (path_and_part(one.location) for one in sets)
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
    for one in sets:
        if one.failed:
            why = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in one.failed.items())
            lines.append(f"{one.location}: some images are left out: {why}.")
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
