"""What run.json says of a model, its data and the libraries: what decides predictions, and the rest."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Sequence
from typing import Any

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.data import Dataset
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.data.precomputed import AS_STORED, FinishedDataset
from windtunnel.imaging.clips import H264
from windtunnel.models import Model
from windtunnel.suites.pipeline_steps import library_used

LIBRARIES = ("numpy", "opencv-python-headless", "pillow", "simplejpeg", "numba", "onnxruntime", "pyarrow")


def model_recipe(model: Model) -> dict[str, Any]:
    """What of a model decides its predictions."""
    return {
        "kind": model.kind,
        "fingerprint": model.fingerprint,
        "classes": model.class_count,
        "outputs": model.outputs,
        **model.preprocess.to_json(),
        **getattr(model, "facts", {}),
    }


def data_recipe(
    dataset: Dataset,
    called: LabelSpace,
    total: Sequence[Sample],
    surveyed: Sequence[Surveyed],
    frames: Sequence[FrameRow],
    seed: int,
) -> dict[str, Any]:
    """What of the data decides predictions."""
    finished = dataset if isinstance(dataset, FinishedDataset) else None
    natural = dataset if isinstance(dataset, NaturalDataset) else None
    return {
        "count": len(surveyed),
        "of": len(total),
        "subset_seed": seed,
        "label_space": called.name,
        "digest": digest([[one.sample.id, one.sample.labels, one.content] for one in surveyed]),
        # The survey hashes one file an image; this tells apart what else lies in a finished set.
        "finished": finished.identity if finished else None,
        **({"natural": _natural_recipe(natural, total, surveyed, frames)} if natural else {}),
    }


def _natural_recipe(
    natural: NaturalDataset, total: Sequence[Sample], surveyed: Sequence[Surveyed], frames: Sequence[FrameRow]
) -> dict[str, Any]:
    """What a run over a natural set is of: its parts with their counts, and its frame sets."""
    of = Counter(one.meta["part"] for one in total)
    count = Counter(one.sample.meta["part"] for one in surveyed)
    parts = [
        {"name": name, "role": role, "count": count[name], "of": of[name]} for name, role in natural.parts
    ]
    found: dict[str, Any] = {"set": natural.natural.name, "parts": parts}
    if not frames:
        return found
    rows = [[one.group, one.sample_id, one.offset, one.role] for one in frames]
    sets = len({one.group for one in frames})
    return found | {"frames": len(frames), "frame_sets": sets, "frame_digest": digest(rows)}


def model_info(model: Model) -> dict[str, Any]:
    """What else is worth knowing of a model."""
    return {
        "name": model.name,
        "preprocess_from": model.preprocess.origin,
        "preprocess_assumed": model.preprocess.assumed,
        "outputs_from": model.outputs_from,
        "trained_on": list(model.trained_on),
        **model.about.to_json(),
    }


def data_info(dataset: Dataset, called: LabelSpace, space: LabelSpace) -> dict[str, Any]:
    """What else is worth knowing of the data, with the classes that are scored."""
    clean: Dataset | None = None
    if isinstance(dataset, NaturalDataset) and dataset.clean:
        clean = dataset.clean.dataset
    if isinstance(dataset, FinishedDataset) and dataset.clean_is_given:
        clean = dataset.clean
    return {
        "name": dataset.name,
        "location": dataset.location,
        "order": called.order,
        "classes": list(space.classes),
        **({"clean": clean.location} if clean else {}),
    }


def versions_for(conditions: Sequence[Condition]) -> dict[str, str]:
    """The versions of what decides pixels and predictions: ours, and the libraries'."""
    videos = any(one.kind == "sequence" and one.codec in (H264, AS_STORED) for one in conditions)
    brought = [library_used(one.unit) for one in conditions if one.kind == "pipeline"]
    names = dict.fromkeys(("windtunnel", *LIBRARIES, *(["av"] if videos else []), *filter(None, brought)))
    return {name: _version(name) for name in names}


def _version(library: str) -> str:
    """A library's version; a plug-in from outside may name one that PyPI does not know."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
