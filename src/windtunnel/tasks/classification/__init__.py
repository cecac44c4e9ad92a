"""Classification: a model scores every class of an image, and images have any number of correct classes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windtunnel.core.errors import Status
from windtunnel.core.records import Recipe
from windtunnel.core.samples import Sample
from windtunnel.core.task import LabelOptions, Postprocessor, Task
from windtunnel.data import Dataset
from windtunnel.models import Model
from windtunnel.tasks.classification.label_mapping import ClassMapping, map_classes
from windtunnel.tasks.classification.postprocessing import COLUMNS, LOGITS, POSTPROCESSORS


class Classification(Task):
    """Top-5 classes, the label's rank and score, and sums over all classes."""

    name = "classification"
    help = "One score for each class: the correct class should have the highest."
    # A prediction that is not finite is a wrong one, not a missing one.
    predicted: tuple[Status, ...] = ("ok", "not_finite")

    @property
    def columns(self) -> Sequence[pa.Field]:
        """Top-5, label rank and score, and the sums."""
        return COLUMNS

    @property
    def outputs(self) -> pa.Field:
        """The score of every class."""
        return LOGITS

    def map_labels(
        self, model: Model, dataset: Dataset, samples: Sequence[Sample], options: LabelOptions
    ) -> ClassMapping:
        """The output of the model for every class of the data."""
        return map_classes(model, dataset, samples, options)

    def postprocessor(self, recipe: Recipe) -> Postprocessor:
        """The postprocessor for scores of all classes, or for top-k classes only."""
        return POSTPROCESSORS[recipe.model.outputs](
            recipe.model.outputs, recipe.model.classes, recipe.projection
        )


classification = Classification()
