"""Models of a curation step: their outputs for the candidates' classes, and the classes that compete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import FilterModelRecord
from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, INDICES, Projection
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.same_classes import ClassNames
from windtunnel.data.class_subset import listed_classes
from windtunnel.data.label_spaces import label_space_of
from windtunnel.engine.recipe import model_recipe
from windtunnel.models import Model, ModelSource, load_model
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.tasks.classification.data_labels import data_space
from windtunnel.tasks.classification.label_mapping import map_labels

# Advice if the candidates' classes are not those of a model.
COLLECT_AGAIN = (
    "collect the candidates with the model's class names as tags or labels, or map tags to them with "
    f"{option('classes', 'TAGS.csv')} of collect"
)


@dataclass(frozen=True)
class FilterModel:
    """A loaded model and its view of the candidates' classes.

    Attributes:
        model: the model.
        source: where workers load it from; None for a live object.
        output_of: the output for each class name; classes without output are absent.
        competing: the outputs that compete; () for all.
    """

    model: Model
    source: ModelSource | None
    output_of: dict[str, int]
    competing: tuple[int, ...] = ()

    @property
    def record(self) -> FilterModelRecord:
        """The model as projects store it."""
        about = self.model.about
        return FilterModelRecord(self.model.name, model_recipe(self.model), self.competing, about.family)

    @property
    def key(self) -> str:
        """Digest of everything that determines its predictions of an image, except the crops."""
        record = self.record
        return digest([msgspec.to_builtins(record.model), list(record.competing)])

    @property
    def stays_here(self) -> bool:
        """Whether the model predicts in this process only: a live object, or the owner of a device."""
        return self.source is None or not self.model.portable or self.model.owns_device

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True for every output that competes."""
        return Projection(self.competing).mask_for(self.model.class_count)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The class of every output: as in the candidates' labels, as declared, or its number."""
        count = self.model.class_count
        names = list(self.model.classes) or [str(output) for output in range(count)]
        if not self.model.classes and count == len(imagenet_1k()):
            names = list(imagenet_1k().classes)
        for name, output in self.output_of.items():
            names[output] = name
        return tuple(names)


def load_filter_models(
    specs: Sequence[Any], images: CandidateImages, chosen: Sequence[int], *, masked: bool
) -> tuple[FilterModel, ...]:
    """Load models and map the classes to their outputs; refuses a model that lacks one of the classes.

    Args:
        specs: the models, as `load_model` takes them.
        images: the candidates.
        chosen: the classes, as indices of the candidates' label space.
        masked: whether only these classes compete.
    """
    return tuple(_mapped(load_source(spec), images, chosen, masked=masked) for spec in specs)


def load_source(spec: Any) -> tuple[Model, ModelSource | None]:
    """A loaded model, and where workers load it from; None for a live object."""
    model = load_model(spec)
    if model.top_k is not None:
        raise UserError(f"{model.name} gives only its best classes; filtration needs the scores of all.")
    return model, ModelSource(str(spec)) if isinstance(spec, str | Location) else None


def _mapped(
    loaded: tuple[Model, ModelSource | None], images: CandidateImages, chosen: Sequence[int], *, masked: bool
) -> FilterModel:
    model, source = loaded
    output_of = _outputs_by_other_names(model, images, chosen)
    if output_of is not None:
        return FilterModel(model, source, output_of, tuple(sorted(output_of.values())) if masked else ())
    space, _ = data_space(images, images.samples(), model, None, mapped=False, trust=False)
    outputs = map_labels(space, sorted(chosen), model, trust=False, map_them=COLLECT_AGAIN)
    names = images.label_space.classes
    output_of = {names[label]: outputs[label] for label in chosen if outputs[label] >= 0}
    competing = tuple(sorted(output_of.values())) if masked else ()
    return FilterModel(model, source, output_of, competing)


def _outputs_by_other_names(
    model: Model, images: CandidateImages, chosen: Sequence[int]
) -> dict[str, int] | None:
    """The outputs of classes that the model declares under other names; None if the names are not clear.

    A class of the candidates may be a name of a WordNet id, or written in other letters.
    """
    names = [images.label_space.classes[label] for label in chosen]
    if not model.classes or images.label_space.name == INDICES or set(names) <= set(model.classes):
        return None
    known, place = ClassNames(model.classes), {name: output for output, name in enumerate(model.classes)}
    matches = [known.find(name) for name in names]
    if any(len(found) != 1 for found in matches) or len({found[0] for found in matches}) < len(names):
        return None
    return {name: place[found[0]] for name, found in zip(names, matches, strict=True)}


def chosen_classes(images: CandidateImages, classes: str | Path | None) -> list[int]:
    """The classes that a file lists, else those that occur, as indices of the candidates' label space."""
    if classes is None:
        return sorted({label for sample in images.samples() for label in sample.labels})
    return sorted(listed_classes(images.label_space, Path(classes), images.location))


def class_lines(file: str | Path | None, labels: Sequence[str]) -> list[str]:
    """The class names in a file that belong to the label space next to the candidates' own names.

    Names of ImageNet's classes stay names of WordNet ids if all labels are WordNet ids.
    """
    if file is None or label_space_of(labels)[0].name == IMAGENET_1K:
        return []
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return []  # reported where the classes are read
    return [line.strip() for line in lines if line.strip()]
