"""Category mapping: the detector's output for each category of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.records import ProjectionRecipe
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.task import LabelMapping, LabelOptions
from windtunnel.core.wording import counted
from windtunnel.data import Dataset
from windtunnel.models import Model
from windtunnel.tasks.classification.label_mapping import map_labels


@dataclass(frozen=True)
class CategoryMapping(LabelMapping):
    """The categories of a dataset as outputs of a detector.

    Attributes:
        data_space, space: the categories of the data.
        outputs: for every category the model's output, -1 for none.
    """

    data_space: LabelSpace
    space: LabelSpace
    outputs: tuple[int, ...]
    notes: Sequence[str] = ()
    unused_notes: Sequence[str] = ()

    def check_metrics(self, suite: str, metrics: Sequence[str]) -> None:
        """Nothing: annotated data serves every score of detections."""

    def projection(self, surveyed: Sequence[Surveyed], *, masked: bool) -> ProjectionRecipe:
        """The output of each category."""
        del surveyed
        if masked:
            raise UserError(
                f"{option('mask', True)} restricts the classes of a classifier; leave it out for a detector."
            )
        return ProjectionRecipe("identity", (), self.outputs)


def map_categories(
    model: Model, dataset: Dataset, samples: Sequence[Sample], options: LabelOptions
) -> CategoryMapping:
    """Map the categories of annotated objects to outputs of a detector; refuses a mismatch."""
    if dataset.annotations is None:
        raise UserError(
            f"{model.name} is a detector, and {dataset.location} has no annotated objects; give a COCO, "
            "Pascal VOC or YOLO dataset (windtunnel list layouts)."
        )
    if options.map_file is not None:
        raise UserError(
            f"{option('label_map')} maps classes of classifiers; declare `labels` in the detector's TOML."
        )
    space = dataset.label_space
    used = sorted({thing.category for sample in samples for thing in dataset.annotations.get(sample.id, ())})
    outputs = map_labels(space, used, model, trust=options.trust, map_them="rename the categories")
    notes = []
    if not model.classes:
        notes.append(
            f"{model.name} declares no labels: its {counted(model.class_count, 'output')} are taken for the "
            "data's categories in their order."
        )
    return CategoryMapping(space, space, outputs, notes)
