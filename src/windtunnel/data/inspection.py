"""Counts of what a dataset contains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from windtunnel.core.images import UPRIGHT
from windtunnel.core.labels import IMAGENET_1K, INDICES
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.data.label_maps import odd_labels
from windtunnel.data.label_spaces import imagenet_example
from windtunnel.data.natural_classes import counted_imagenet_classes
from windtunnel.data.survey import survey
from windtunnel.published.imagenet import imagenet_1k

CLASSES_SHOWN = 8


@dataclass(frozen=True)
class Inspection:
    """Counts and anomalies of a dataset."""

    location: str
    images: int
    unlabelled: int
    classes: int
    classes_used: int
    smallest_class: int
    largest_class: int
    order: str
    first_classes: list[str]
    sizes: str
    formats: dict[str, int]
    rotated: list[str]
    unreadable: dict[str, str]
    stored: list[str]
    remarks: list[str]

    def to_json(self) -> dict[str, object]:
        """The inspection as JSON."""
        return asdict(self)


def inspect(dataset: Dataset, progress: Progress = silent, notes: Sequence[str] = ()) -> Inspection:
    """Decode and count every image; `notes` are notes on how the dataset was opened."""
    surveyed = survey(dataset, dataset.samples(), progress, decoded=True)
    readable = [image for image in surveyed if image.status == "ok"]
    per_class = Counter(label for image in surveyed for label in image.sample.labels)
    names = dataset.label_space.classes
    return Inspection(
        dataset.location,
        len(surveyed),
        sum(not image.sample.labels for image in surveyed),
        _counted_classes(dataset),
        len(per_class),
        min(per_class.values(), default=0),
        max(per_class.values(), default=0),
        dataset.label_space.order,
        [f"{label}={names[label]}" for label in sorted(per_class)[:CLASSES_SHOWN]],
        _sizes(readable),
        dict(Counter(image.format for image in readable).most_common()),
        [image.sample.id for image in readable if image.orientation != UPRIGHT],
        {image.sample.id: f"{image.status}: {image.reason}" for image in surveyed if image.status != "ok"},
        [condition.name for condition in dataset.precomputed.stored] if dataset.precomputed else [],
        [
            *notes,
            *(dataset.notes if dataset.precomputed else ()),
            *_label_notes(dataset, sorted(per_class)),
        ],
    )


def _label_notes(dataset: Dataset, used: Sequence[int]) -> list[str]:
    """Notes on mixed class names, and on class indices that may be ImageNet-1k's."""
    space = dataset.label_space
    if dataset.counting_rules:
        return []
    if odd := odd_labels(space, used, dataset.samples(), len(space)):
        return [odd]
    if space.name != INDICES or len(space) > len(imagenet_1k()):
        return []
    imagenet = option("labels", IMAGENET_1K)
    if list(used) == list(range(len(imagenet_1k()))):
        return [
            f"The class indices are exactly 0 to {used[-1]}. run, plan, doctor and score read them as "
            f"ImageNet-1k's ({imagenet_example(0)}) if the model has {len(used):,} outputs and declares no "
            f"other classes; if they are not, pass {option('labels', INDICES)} to these commands. make keeps "
            f"numbers unless {imagenet} is given."
        ]
    # Indices with gaps are probably some of the classes of a larger dataset.
    if len(used) < len(space):
        return [
            f"Of the class indices 0 to {len(space) - 1}, {len(used):,} occur. If they are ImageNet-1k's, "
            f"pass {imagenet} to run, plan, doctor, score or make."
        ]
    return []


def _counted_classes(dataset: Dataset) -> int:
    """The number of possible classes; for a natural set with a mask, the classes that count."""
    if dataset.natural and dataset.natural.output_rule == "mask":
        return len(counted_imagenet_classes(dataset.natural))
    return len(dataset.label_space)


def _sizes(readable: list[Surveyed]) -> str:
    sizes = sorted({(image.width * image.height, image.width, image.height) for image in readable})
    if not sizes:
        return "none readable"
    if len(sizes) == 1:
        return f"all {sizes[0][1]}x{sizes[0][2]}"
    return f"{len(sizes):,} sizes from {sizes[0][1]}x{sizes[0][2]} to {sizes[-1][1]}x{sizes[-1][2]}"
