"""The records of run.json on model, data and libraries: the recipe and further information."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from windtunnel.core.conditions import Condition, digest_of_rows
from windtunnel.core.extras import installed_version
from windtunnel.core.labels import LabelSpace
from windtunnel.core.records import DataRecipe, ModelRecipe, NaturalRecipe, PartRecord
from windtunnel.core.run_info import DataInfo, ModelInfo
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.data import Dataset
from windtunnel.data.class_subset import ClassSubset
from windtunnel.engine.condition_kinds import kind_of
from windtunnel.models import Model

LIBRARIES = ("numpy", "opencv-python-headless", "pillow", "simplejpeg", "numba", "onnxruntime", "pyarrow")


def model_recipe(model: Model) -> ModelRecipe:
    """The facts of a model that determine its predictions."""
    return ModelRecipe(
        kind=model.kind,
        fingerprint=model.fingerprint,
        classes=model.class_count,
        outputs=model.outputs,
        geometry=model.preprocess.geometry.record(),
        tensor=model.preprocess.tensor.record(),
        top_k=model.top_k,
        assets=model.preprocess.geometry.assets(),
        wrappers=model.wrappers,
        batch_dependent=model.batch_dependent,
    )


def data_recipe(
    dataset: Dataset,
    called: LabelSpace,
    selected: ClassSubset,
    surveyed: Sequence[Surveyed],
    frames: Sequence[FrameRow],
    seed: int,
) -> DataRecipe:
    """The facts of the data that determine predictions."""
    return DataRecipe(
        count=len(surveyed),
        of=len(selected.samples),
        subset_seed=seed,
        label_space=called.name,
        digest=digest_of_rows([image.sample.id, image.sample.labels, image.content] for image in surveyed),
        # The survey hashes one file per image; the identity covers the other files of a precomputed set.
        finished=dataset.identity,
        natural=_natural_recipe(dataset, selected.samples, surveyed, frames),
        classes=selected.rule,
        annotations=_annotations_digest(dataset, surveyed),
    )


def _annotations_digest(dataset: Dataset, surveyed: Sequence[Surveyed]) -> str:
    """A digest of the annotated objects of the images; "" for data without any."""
    annotations = dataset.annotations
    if annotations is None:
        return ""
    return digest_of_rows(
        [image.sample.id, thing.category, *thing.box, thing.area, thing.crowd]
        for image in surveyed
        for thing in annotations.get(image.sample.id, ())
    )


def _natural_recipe(
    dataset: Dataset, total: Sequence[Sample], surveyed: Sequence[Surveyed], frames: Sequence[FrameRow]
) -> NaturalRecipe | None:
    """The parts of a natural set with their counts, and its frame sets; None for other datasets."""
    if dataset.natural is None:
        return None
    of = Counter(sample.meta["part"] for sample in total)
    count = Counter(image.sample.meta["part"] for image in surveyed)
    parts = tuple(PartRecord(name, role, count[name], of[name]) for name, role in dataset.parts)
    if not frames:
        return NaturalRecipe(dataset.natural.name, parts)
    sets = len({frame.group for frame in frames})
    rows = ([frame.group, frame.sample_id, frame.offset, frame.role] for frame in frames)
    return NaturalRecipe(
        dataset.natural.name, parts, len(frames), sets, digest_of_rows(rows), dataset.frame_choices
    )


def model_info(model: Model) -> ModelInfo:
    """Further information on a model."""
    return ModelInfo(
        name=model.name,
        preprocess_from=model.preprocess.origin,
        preprocess_assumed=model.preprocess.assumed,
        outputs_from=model.outputs_from,
        trained_on=tuple(model.trained_on),
        family=model.about.family,
        parameters=model.about.parameters,
        tags=tuple(model.about.tags),
        own_arithmetic=model.own_arithmetic,
        trained_with=tuple(model.about.trained_with),
        passes=model.passes,
    )


def data_info(dataset: Dataset, called: LabelSpace, space: LabelSpace) -> DataInfo:
    """Further information on the data, with the scored classes."""
    own = dataset.natural.own if dataset.natural else None
    return DataInfo(
        name=dataset.name,
        location=dataset.location,
        order=called.order,
        classes=tuple(space.classes),
        clean=dataset.given_clean.location if dataset.given_clean else "",
        layout=dataset.layout,
        own_set=msgspec.structs.replace(own, classes=()) if own else None,
    )


def versions_for(conditions: Sequence[Condition]) -> dict[str, str]:
    """The versions of windtunnel and of the libraries that determine pixels and predictions."""
    more = [name for condition in conditions for name in kind_of(condition).libraries(condition)]
    names = dict.fromkeys(("windtunnel", *LIBRARIES, *more))
    return {name: installed_version(name) for name in names}
