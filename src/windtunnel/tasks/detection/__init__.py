"""Detection: a model returns boxes with classes and scores, and images have annotated objects."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windtunnel.core.errors import Status
from windtunnel.core.records import Recipe
from windtunnel.core.samples import Sample
from windtunnel.core.task import LabelOptions, Postprocessor, Task
from windtunnel.data import Dataset
from windtunnel.models import Model
from windtunnel.tasks.detection.category_mapping import CategoryMapping, map_categories
from windtunnel.tasks.detection.postprocessing import COLUMNS, DetectionPostprocessor


class Detection(Task):
    """The boxes of every image, in pixels of the image."""

    name = "detection"
    help = "Boxes with classes and scores: each annotated object should be found once."
    # An output that is not finite counts as an image without detections.
    predicted: tuple[Status, ...] = ("ok", "not_finite")
    whole_images = True
    metrics = ("ap", "ap50", "ap75", "localisation_ap", "mpc", "rpc")

    @property
    def columns(self) -> Sequence[pa.Field]:
        """Boxes, scores and classes."""
        return COLUMNS

    @property
    def outputs(self) -> None:
        """Nothing further: the columns have all that a detector returns."""
        return None

    def map_labels(
        self, model: Model, dataset: Dataset, samples: Sequence[Sample], options: LabelOptions
    ) -> CategoryMapping:
        """The output of the model for every category of the data."""
        return map_categories(model, dataset, samples, options)

    def postprocessor(self, recipe: Recipe) -> Postprocessor:
        """The postprocessor for the detector of a recipe."""
        return DetectionPostprocessor(recipe.model.geometry, recipe.projection.labels, recipe.model.classes)


detection = Detection()
