"""Label mapping: the model's output for each class of a dataset, and the outputs that compete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, INDICES, LabelSpace, Projection, mask_to
from windtunnel.core.metrics import needing
from windtunnel.core.option_names import option
from windtunnel.core.records import ProjectionRecipe
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.task import LabelMapping, LabelOptions
from windtunnel.core.wording import counted
from windtunnel.data import Dataset
from windtunnel.data.label_maps import odd_labels, read_map, refuse_unlabelled, without_images
from windtunnel.data.label_spaces import model_space
from windtunnel.models import Model
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.tasks.classification.data_labels import LABELS_ARE_IMAGENET, NOT_PLAIN_INDICES, data_space
from windtunnel.tasks.classification.natural_labels import map_natural_classes, refuse_mask, taken_on_trust

# Flip rates compare predictions with each other, not with labels.
NO_LABELS_NEEDED = "; flips need no labels: for them alone put the images into one folder without classes"
# Advice if the data's classes are broader than a model's outputs, or have other names.
MAP_THEM = f"map outputs to classes with {option('label_map', 'FILE.csv')} (columns output,class)"


@dataclass(frozen=True)
class ClassMapping(LabelMapping):
    """The classes of a dataset as outputs of a model.

    Attributes:
        dataset, samples: the data and all its images.
        data_space: the classes that labels refer to; the scored ones if no image has a label.
        space: the classes that are scored.
        outputs: for every class of `space` the model's output, -1 for none.
        collapsed: how outputs collapse into classes; None if they do not.
        notes: notes for the user.
        unused_notes: notes on classes of a map that have no images.
    """

    dataset: Dataset
    samples: Sequence[Sample]
    data_space: LabelSpace
    space: LabelSpace
    outputs: tuple[int, ...]
    collapsed: Projection | None
    notes: Sequence[str]
    unused_notes: Sequence[str]

    def check_metrics(self, suite: str, metrics: Sequence[str]) -> None:
        """Refuse images without any label if every score of the suite needs one."""
        if self.dataset.natural is not None and needing("ood scores", metrics):
            return  # out-of-distribution scores need no labels
        refuse_unlabelled(self.dataset.location, suite, metrics, self.samples)

    def projection(self, surveyed: Sequence[Surveyed], *, masked: bool) -> ProjectionRecipe:
        """The outputs that compete: all, those of a map, or if `masked` those of these images' classes.

        A user's own natural set may declare the classes instead.
        """
        if self.dataset.natural and masked:
            refuse_mask(self.dataset.natural)
        projection = self.collapsed or Projection()
        if masked:
            labels = self._declared_labels or [image.sample.labels for image in surveyed]
            mask = mask_to(
                [self.outputs[label] for label in row if self.outputs[label] >= 0] for row in labels
            )
            projection = replace(projection, kept=mask.kept)
        return ProjectionRecipe(projection.kind, projection.kept, self.outputs, projection.outputs)

    @property
    def _declared_labels(self) -> list[tuple[int, ...]]:
        """The labels of the classes that a user's own masked set declares; none for other data."""
        natural = self.dataset.natural
        if natural is None or natural.own is None or not natural.own.masked:
            return []
        place = {name: index for index, name in enumerate(self.space.classes)}
        return [(place[name],) for name in natural.classes if name in place]


def map_classes(
    model: Model, dataset: Dataset, samples: Sequence[Sample], options: LabelOptions
) -> ClassMapping:
    """Map the classes of all images to outputs of a model; refuses a mismatch."""
    data_classes, notes = data_space(
        dataset, samples, model, options.labels, mapped=options.map_file is not None, trust=options.trust
    )
    space, outputs, collapsed, label_notes = _scored_classes(model, dataset, data_classes, samples, options)
    # Images without labels are named by the model's classes.
    label_classes = data_classes if any(sample.labels for sample in samples) else space
    unused = without_images(data_classes, space) if options.map_file else []
    return ClassMapping(
        dataset, samples, label_classes, space, outputs, collapsed, [*notes, *label_notes], unused
    )


def _scored_classes(
    model: Model, dataset: Dataset, space: LabelSpace, samples: Sequence[Sample], options: LabelOptions
) -> tuple[LabelSpace, tuple[int, ...], Projection | None, list[str]]:
    """The scored classes, the output of each, the projection of outputs if they collapse, and notes."""
    used = sorted({label for sample in samples for label in sample.labels})
    if options.map_file is not None:
        mapped, collapsed = read_map(options.map_file, space, used, model.classes, model.class_count)
        return mapped, tuple(range(len(mapped))), collapsed, []
    if rules := dataset.counting_rules:
        label_map, counting = map_natural_classes(rules, space, model)
        return space, label_map, counting, list(filter(None, [taken_on_trust(rules, model)]))
    if not used and model.classes and not dataset.natural:
        # Flips compare predictions of the model's own classes.
        declared = model_space(model.classes)
        return declared, tuple(range(len(declared))), None, []
    way_out = NO_LABELS_NEEDED if options.has_sequences else ""
    odd = odd_labels(space, used, samples, model.class_count)
    try:
        label_map = map_labels(
            space, used, model, trust=options.trust, way_out=way_out, labels=options.labels
        )
    except UserError as error:
        if odd:
            raise UserError(f"{odd} Correct such a label; if all labels are right: {error}") from error
        raise
    # If the model names its classes, labels are matched by name.
    return space, label_map, None, [] if model.classes or not odd else [odd]


def map_labels(
    space: LabelSpace,
    used: Sequence[int],
    model: Model,
    *,
    trust: bool,
    way_out: str = "",
    labels: str | None = None,
    map_them: str = MAP_THEM,
) -> tuple[int, ...]:
    """For every class of the data, the model's output (-1 if the class has no image and no output).

    A class that cannot be matched is refused; `way_out` is further advice for the error. `labels` is the
    label space that the user declares for class indices, `map_them` advice on classes with other names.
    """
    count = model.class_count
    if not used:
        return (-1,) * len(space)
    if space.name != "indices" and model.classes:
        where = {name: index for index, name in enumerate(model.classes)}
        missing = [space.classes[label] for label in used if space.classes[label] not in where]
        if missing:
            raise UserError(
                f"{len(missing)} of the data's {len(used)} classes ({_first_of(missing)} not among the "
                f"{count} outputs of {model.name} ('{model.classes[0]}' ...); correct `labels` in its TOML, "
                f"{map_them}, or give other data{way_out}."
            )
        return tuple(where.get(name, -1) for name in space.classes)
    if len(space) == count or (trust and space.name == "indices" and len(space) <= count):
        return tuple(range(len(space)))
    what = (
        "ImageNet-1k, 1000 classes" if space.name == IMAGENET_1K else counted(len(space), "class", "classes")
    )
    cure = f"declare `labels` in the model's TOML, {map_them}, or give other data"
    if space.name == INDICES and len(space) < count:
        cure = f"pass {option('labels_are_outputs', True)} if the data's class indices are the model's"
        if count == len(imagenet_1k()):
            cure = f"{NOT_PLAIN_INDICES if labels == INDICES else LABELS_ARE_IMAGENET}, or {cure}"
    if space.name == INDICES and len(space) == count + 1 and used[0] == 1:
        cure = f"the labels count from 1: subtract 1 from each, or {map_them}"
    raise UserError(
        f"{model.name} has {counted(count, 'output')}, the data {what} ({space.order}); {cure}{way_out}."
    )


def _first_of(missing: Sequence[str]) -> str:
    return f"'{missing[0]}') is" if len(missing) == 1 else f"'{missing[0]}' ...) are"
