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
from windtunnel.data.precomputed import AS_STORED
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
        **model.facts,
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
    return {
        "count": len(surveyed),
        "of": len(total),
        "subset_seed": seed,
        "label_space": called.name,
        "digest": digest([[one.sample.id, one.sample.labels, one.content] for one in surveyed]),
        # The survey hashes one file an image; this tells apart what else lies in a finished set.
        "finished": dataset.identity,
        **_natural_recipe(dataset, total, surveyed, frames),
    }


def _natural_recipe(
    dataset: Dataset, total: Sequence[Sample], surveyed: Sequence[Surveyed], frames: Sequence[FrameRow]
) -> dict[str, Any]:
    """The parts of a natural set with their counts, and its frame sets; {} for other datasets."""
    if dataset.natural is None:
        return {}
    of = Counter(one.meta["part"] for one in total)
    count = Counter(one.sample.meta["part"] for one in surveyed)
    parts = [
        {"name": name, "role": role, "count": count[name], "of": of[name]} for name, role in dataset.parts
    ]
    found: dict[str, Any] = {"set": dataset.natural.name, "parts": parts}
    if frames:
        rows = [[one.group, one.sample_id, one.offset, one.role] for one in frames]
        sets = len({one.group for one in frames})
        found |= {"frames": len(frames), "frame_sets": sets, "frame_digest": digest(rows)}
    return {"natural": found}


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
    return {
        "name": dataset.name,
        "location": dataset.location,
        "order": called.order,
        "classes": list(space.classes),
        **({"clean": dataset.given_clean.location} if dataset.given_clean else {}),
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
