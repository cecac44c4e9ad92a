"""How far one set of images is from another, as a network sees them, beside how far a set is from itself.

Every split draws four groups of n images: two of A that share none, two of B that share none. Three
distances are taken at this same n: A to B, A to A, B to B. Few images make every Fréchet distance too
large, A to B by about the mean of what the other two are; what it has over that is the shift.

Frames of one video are no independent images: a split draws one of each. Without a shift all four groups
are then draws of one kind. Groups of whole videos are not: n frames of few videos are worth fewer images
than n others, the two sets' biases differ, and their mean is not A to B's.
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
from windtunnel.engine.local_executor import opencv_on_one_thread
from windtunnel.imaging.geometry import Geometry, colour_step, crop_step, decode_step, resize_step
from windtunnel.imaging.header import check_size, pillow_quiet
from windtunnel.imaging.resizers import resize
from windtunnel.models.features import FeatureNetwork
from windtunnel.stats.frechet import frechet_distance, moments

SPLITS = 20
# A family that a network's TOML may declare, and how many features the FID is taken over.
FID_FAMILY = "fid-inception-v3"
FID_FEATURES = 2048
# A covariance needs two points.
LEAST = 2
RANGE = (0.025, 0.975)
# Nearer than halves of one set by more than this share of their distance is no chance.
TOO_NEAR = 0.05

Features = NDArray[np.float32]


@dataclass(frozen=True)
class OverSplits:
    """A number over all splits: median, and the range from 2.5 to 97.5 % of the splits."""

    median: float
    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class ImageSet:
    """One of the two sets.

    Attributes:
        location: where it is.
        images: how many have features.
        drawn: how many of them a split draws from: one frame of every video, and all that are no frames.
        failed: why others have none, and how many.
        remarks: how it is read, where that is not plain.
    """

    location: str
    images: int
    drawn: int
    failed: dict[str, int]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Distance:
    """How far B is from A.

    Attributes:
        title: what the distance is called: FID, or the Fréchet distance in a network and output.
        network, output: whose features.
        features: how many per image.
        grid: height and width the features were averaged over, or None.
        preprocess: how images were brought to the network, in words.
        a, b: the sets.
        n: images in every group of a split.
        seed: of the splits.
        between: A to B.
        within_a, within_b: two groups of one set.
        excess: A to B less the mean of the other two, split by split.
        warnings: what a reader must know.
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
        """The distance as JSON keeps it."""
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
        a, b: data sets; of a finished set one condition, as `imagenet-c#fog:3`; of a natural set
            its own images, as `run` reads them. Labels are not needed. Of frames of one video (frame
            sets, a table's column `video`) every split draws one.
        features: an ONNX file.
        output: which output of it, or an inner tensor; its declared or first output by default. Features with
            a height and a width are averaged over them.
        preprocess: a preset's name or a TOML file; else the TOML beside the network; else the default.
        size: images in every group; by default, and at most, half of the smaller set, a video being one.
        splits: how many times groups are drawn.
        subset: only this many images of each set, each class in proportion; 0 for all.
        seed: of the splits and the subset.
        progress: counts images whose features are computed.
        progress_splits: counts splits.

    Returns:
        The distance, the same of two groups of A and of two groups of B, and the excess over those.

    Raises:
        UserError: no such data, network or output, or too few images.
    """
    if splits < 1 or size < 0 or subset < 0:
        raise UserError(f"splits is {splits}, size {size}, subset {subset}; give at least 1, 0 and 0.")
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
    """How many images a group has: two groups of each set must not share any, nor a video."""
    counts = [_drawn(one, videos) for one in ids]
    fewest = min(counts)
    most, least = fewest // 2, counts.index(fewest)
    smaller, what = sets[least].location, "image" if fewest == len(ids[least]) else "video"
    if most < LEAST:
        raise UserError(
            f"{smaller} has {fewest} readable {what}s; two groups of at least {LEAST} need {2 * LEAST}."
        )
    if size and not LEAST <= size <= most:
        raise UserError(
            f"size is {size}; {smaller} has {fewest:,} {what}s, so give {LEAST} to {most:,}: two groups of "
            f"it must share no {what}."
        )
    return size or most


def _features(
    network: FeatureNetwork,
    dataset: Dataset,
    samples: Sequence[Sample],
    total: int,
    progress: Progress,
) -> tuple[list[str], Features, Counter[str]]:
    """Ids and features of every image that can be read, and why the others cannot."""
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
                    f"{network.name}:{network.output} gives numbers that are not finite for an image of "
                    f"{dataset.location}; check its preprocess, or name another output."
                )
            rows.append(found)
        progress(len(batch), total, lost)
    return ids, np.concatenate([np.empty((0, network.count), np.float32), *rows]), failed


def _image(dataset: Dataset, sample: Sample, geometry: Geometry) -> Image:
    """An image as the network wants it; a finished canvas is only brought to its size."""
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
        ids: of the images of A, and of B.
        values: their features.
        videos: by an id without its ending, the video that an image is a frame of.
        n: images in a group, at most half of what a split draws from.
        seed, split: which shuffle.
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
    """Rows of one frame of every video, and of every image that is no frame, by hashes of their names."""

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
    """Which video an image is a frame of, or ""; a copy under the same name is of the same video."""
    return videos.get(_bare(id_), "")


def _drawn(ids: Sequence[str], videos: Mapping[str, str]) -> int:
    """How many images a split draws from."""
    return len({_video(one, videos) or one for one in ids})


def _bare(id_: str) -> str:
    """An id without its ending: a corrupted copy may be stored in another format."""
    return id_.rpartition(".")[0] or id_


def _over(values: NDArray[np.float64]) -> OverSplits:
    low, high = np.quantile(values, RANGE)
    return OverSplits(float(np.median(values)), float(low), float(high), tuple(map(float, values)))


def _title(network: FeatureNetwork) -> str:
    """FID only where the network says it is FID's, and gives as many features."""
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
            "B is nearer to A than halves of one set are to each other: both seem to hold the same images. "
            "Give images the same names in both, and no image will be compared with itself."
        )
    if n <= network.count:
        lines.append(
            f"{n:,} images a group for {network.count:,} features: covariances are singular, and much of "
            f"each distance is the bias of few images. Read the excess; more than {network.count:,} a "
            "group need no such care."
        )
    for one in sets:
        if one.failed:
            why = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in one.failed.items())
            lines.append(f"{one.location}: images left out: {why}.")
    if network.family == FID_FAMILY and network.count != FID_FEATURES:
        lines.append(
            f"Not called FID: {network.output} has {network.count:,} features, FID is over {FID_FEATURES:,}."
        )
    if network.preprocess.assumed:
        lines.append(
            f"Nothing is declared of {network.name}'s preprocess; the default was used. Declare it in "
            f"{network.name}.onnx.toml."
        )
    return lines
