"""What run.json says of a model, its data and the libraries: what decides predictions, and the rest."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Sequence

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.labels import LabelSpace
from windtunnel.core.records import DataInfo, DataRecipe, ModelInfo, ModelRecipe, NaturalRecipe, PartRecord
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.data import Dataset
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.data.precomputed import AS_STORED, FinishedDataset
from windtunnel.imaging.clips import H264
from windtunnel.models import Model

LIBRARIES = ("numpy", "opencv-python-headless", "pillow", "simplejpeg", "numba", "onnxruntime", "pyarrow")
# The libraries of extras that steps of the pipeline use.
STEP_LIBRARIES = {"av": "decode=ffmpeg", "torch": "resize=torch", "onnx": "numerics="}


def model_recipe(model: Model) -> ModelRecipe:
    """What of a model decides its predictions."""
    return ModelRecipe(
        kind=model.kind,
        fingerprint=model.fingerprint,
        classes=model.class_count,
        outputs=model.outputs,
        geometry=model.preprocess.geometry.record(),
        tensor=model.preprocess.tensor.record(),
        top_k=getattr(model, "top_k", None),
    )


def data_recipe(
    dataset: Dataset,
    called: LabelSpace,
    total: Sequence[Sample],
    surveyed: Sequence[Surveyed],
    frames: Sequence[FrameRow],
    seed: int,
) -> DataRecipe:
    """What of the data decides predictions."""
    finished = dataset if isinstance(dataset, FinishedDataset) else None
    natural = dataset if isinstance(dataset, NaturalDataset) else None
    return DataRecipe(
        count=len(surveyed),
        of=len(total),
        subset_seed=seed,
        label_space=called.name,
        digest=digest([[one.sample.id, one.sample.labels, one.content] for one in surveyed]),
        # The survey hashes one file an image; this tells apart what else lies in a precomputed set.
        finished=finished.identity if finished else None,
        natural=_natural_recipe(natural, total, surveyed, frames) if natural else None,
    )


def _natural_recipe(
    natural: NaturalDataset, total: Sequence[Sample], surveyed: Sequence[Surveyed], frames: Sequence[FrameRow]
) -> NaturalRecipe:
    """What a run over a natural set is of: its parts with their counts, and its frame sets."""
    of = Counter(one.meta["part"] for one in total)
    count = Counter(one.sample.meta["part"] for one in surveyed)
    parts = tuple(PartRecord(name, role, count[name], of[name]) for name, role in natural.parts)
    if not frames:
        return NaturalRecipe(natural.natural.name, parts)
    rows = [[one.group, one.sample_id, one.offset, one.role] for one in frames]
    sets = len({one.group for one in frames})
    return NaturalRecipe(natural.natural.name, parts, len(frames), sets, digest(rows))


def model_info(model: Model) -> ModelInfo:
    """What else is worth knowing of a model."""
    return ModelInfo(
        name=model.name,
        preprocess_from=model.preprocess.origin,
        preprocess_assumed=model.preprocess.assumed,
        outputs_from=model.outputs_from,
        trained_on=tuple(model.trained_on),
        family=model.about.family,
        parameters=model.about.parameters,
        tags=tuple(model.about.tags),
    )


def data_info(dataset: Dataset, called: LabelSpace, space: LabelSpace) -> DataInfo:
    """What else is worth knowing of the data, with the classes that are scored."""
    clean: Dataset | None = None
    if isinstance(dataset, NaturalDataset) and dataset.clean:
        clean = dataset.clean.dataset
    if isinstance(dataset, FinishedDataset) and dataset.clean_is_given:
        clean = dataset.clean
    return DataInfo(
        name=dataset.name,
        location=dataset.location,
        order=called.order,
        classes=tuple(space.classes),
        clean=clean.location if clean else "",
    )


def versions_for(conditions: Sequence[Condition]) -> dict[str, str]:
    """The versions of what decides pixels and predictions: ours, and the libraries'."""
    videos = any(one.kind == "sequence" and one.codec in (H264, AS_STORED) for one in conditions)
    steps = [one.unit for one in conditions if one.kind == "pipeline"]
    brought = [name for name, step in STEP_LIBRARIES.items() if any(one.startswith(step) for one in steps)]
    names = dict.fromkeys(("windtunnel", *LIBRARIES, *(["av"] if videos else []), *brought))
    return {name: importlib.metadata.version(name) for name in names}
