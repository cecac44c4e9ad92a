"""The classes that a dataset's labels refer to, given the model they are scored with."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset
from windtunnel.data.label_spaces import read_indices
from windtunnel.models import Model
from windtunnel.published.imagenet import imagenet_1k

# Advice if class indices of the data may be ImageNet's.
LABELS_ARE_IMAGENET = (
    f'pass {option("labels", "imagenet-1k")}, or declare `labels = "imagenet-1k"` in the model\'s TOML, if '
    "the data's class indices are ImageNet-1k's"
)
# The same if the user has declared them to be indices of no known classes.
NOT_PLAIN_INDICES = (
    f"pass {option('labels', 'imagenet-1k')} instead of {option('labels', 'indices')} if the data's class "
    "indices are ImageNet-1k's"
)


def data_space(
    dataset: Dataset,
    samples: Sequence[Sample],
    model: Model,
    labels: str | None,
    *,
    mapped: bool,
    trust: bool,
) -> tuple[LabelSpace, list[str]]:
    """The data's label space, with class indices resolved to ImageNet-1k if that is known, and notes.

    Args:
        dataset, samples: the data and all its images.
        model: the model; its declared classes count as evidence.
        labels: the label space that the user declares for class indices.
        mapped: whether a map file names the data's classes; it names them as the data does.
        trust: whether the user declares that class indices are the model's outputs.
    """
    space = dataset.label_space
    if rules := dataset.counting_rules:
        if labels:
            raise UserError(f"labels is '{labels}', but {rules.title} has its own; leave labels out.")
        return space, []
    reordered = bool(model.classes) and model.classes[: len(imagenet_1k())] != imagenet_1k().classes
    if not labels and (mapped or (trust and reordered)):
        return space, []
    used = sorted({label for sample in samples for label in sample.labels})
    return read_indices(space, used, labels or "", classes=model.classes, outputs=model.class_count)
