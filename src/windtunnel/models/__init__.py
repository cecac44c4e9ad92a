"""Models: one file per kind, all answering the same few questions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.models.preprocess import About, Declaration, Preprocess
from windtunnel.models.preprocess import Outputs as Outputs
from windtunnel.published.imagenet import imagenet_1k

Scores = NDArray[np.float32]

# Probabilities in half precision may sum to 0.98.
SUM_TOLERANCE = 2e-2


class Model(Protocol):
    """A classifier.

    Attributes:
        name: for people and for the run folder's name.
        kind: `onnx`, `callable`, `torch`.
        fingerprint: hash of weights, graph or source, so that another model is noticed.
        classes: names of the outputs in order, or () where only their number is known.
        class_count: how many scores come out.
        preprocess: how it wants its images.
        outputs: `logits` or `probabilities`.
        outputs_from: `declared` or `probed`.
        trained_on: data sets it has seen, as declared; empty for unknown.
        about: family, number of parameters and tags, as declared.
        portable: whether another process can load it again.
        batch: how many images one call should hold.
    """

    name: str
    kind: str
    fingerprint: str
    classes: tuple[str, ...]
    class_count: int
    preprocess: Preprocess
    outputs: Outputs
    outputs_from: str
    trained_on: tuple[str, ...]
    about: About
    portable: bool
    batch: int

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        ...


# Height and width of an image, in pixels.
Size = tuple[int, int]


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from: enough to load it again in another process."""

    spec: str
    preprocess: str | None = None
    data_size: Size | None = None


def load_model(
    model: str | Path | ModelSource | Model | Any,
    preprocess: str | Path | None = None,
    *,
    data_size: Size | None = None,
) -> Model:
    """Load a model.

    Args:
        model: an `.onnx` file, `module:factory`, `file.py:factory`, or a live object: a torch module, or
            a callable that takes uint8 NHWC and returns scores.
        preprocess: a preset's name or a TOML file; else the TOML beside the model file; else the default.
        data_size: height and width of the data's images, to try a model on that declares no size of its own
            (rule `none`) and does not take 224 pixels.
    """
    from windtunnel.models import onnx, python

    if isinstance(model, ModelSource):
        return load_model(model.spec, model.preprocess, data_size=model.data_size)
    if not isinstance(model, str | Path):
        return (
            model
            if hasattr(model, "predict") and hasattr(model, "fingerprint")
            else python.wrap(model, preprocess, data_size)
        )
    spec = str(model)
    if spec == "demo":
        from windtunnel.data.demo import demo_model_path

        return onnx.OnnxModel(demo_model_path(), preprocess)
    if spec.lower().endswith(".onnx"):
        return onnx.OnnxModel(Path(spec), preprocess)
    if ":" in spec and not Path(spec).exists():
        return python.load(spec, preprocess, data_size)
    if not Path(spec).exists():
        raise UserError(f"No such model: {spec}. Give an .onnx file, module:factory or file.py:factory.")
    raise UserError(f"{spec} is no model; give an .onnx file, module:factory or file.py:factory.")


def probe_images(preprocess: Preprocess, count: int, size: Size | None = None) -> NDArray[np.uint8]:
    """Fixed images of the model's input size, or of another, to try it on: a ramp, turned each time."""
    side = preprocess.geometry.output_px or 224
    height, width = size or (side, side)
    ramp = np.linspace(0, 255, height * width * 3).reshape(height, width, 3).astype(np.uint8)
    return np.stack(
        [np.roll(ramp, shift * ramp.shape[shift % 2] // 4, axis=shift % 2) for shift in range(count)]
    )


def check_scores(scores: Any, count: int, name: str) -> Scores:
    """Scores as float32 (n, k), trailing axes of length one removed; anything else is refused."""
    array = np.asarray(scores)
    while array.ndim > 2 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim != 2 or array.shape[0] != count or array.shape[1] < 2:
        raise UserError(
            f"{name} gives an output of shape {np.shape(scores)} for {count} image(s); "
            f"a classifier gives ({count}, classes)."
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def finite_rows(scores: Scores) -> NDArray[np.bool_]:
    """Which rows are finite in every class; the prediction of any other row is wrong, whatever its class."""
    return np.asarray(np.isfinite(scores).all(axis=1), np.bool_)


def behaviour(scores: Scores) -> str:
    """A digest of what a model says of the probe images, rough enough to survive another thread count."""
    # An infinite scale would turn every finite score into 0.
    scale = float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)) or 1.0
    rough = np.round(scores.astype(np.float64) / scale, 3) + 0.0
    return hashlib.blake2b(rough.tobytes(), digest_size=8).hexdigest()


def probe_outputs(scores: Scores) -> Outputs:
    """Whether finite scores are probabilities: none negative, every row summing to one within 2e-2."""
    scores = scores[finite_rows(scores)]
    if not len(scores):
        return "logits"
    sums = scores.sum(axis=1, dtype=np.float64)
    if (scores >= 0).all() and (np.abs(sums - 1) <= SUM_TOLERANCE).all():
        return "probabilities"
    return "logits"


@dataclass(frozen=True)
class OutputFacts:
    """What a model's scores are: how many, of which classes, of which kind, and how that is known."""

    class_count: int
    classes: tuple[str, ...]
    outputs: Outputs
    outputs_from: str


def output_facts(declaration: Declaration, probe: Scores, name: str) -> OutputFacts:
    """Reconcile what is declared of a model's outputs with what a trial run gave."""
    count = probe.shape[1]
    if not np.isfinite(probe).all():
        raise UserError(f"{name} gives numbers that are not finite for a plain image; check its preprocess.")
    classes = imagenet_1k().classes if declaration.labels == (IMAGENET_1K,) else declaration.labels
    if classes and len(classes) != count:
        raise UserError(f"{name} has {count} outputs, but {len(classes)} labels are declared.")
    if len(set(classes)) < len(classes):
        twice = next(label for label in classes if classes.count(label) > 1)
        raise UserError(
            f"{name}: the label '{twice}' is declared twice; every output needs a name of its own."
        )
    probed = probe_outputs(probe)
    if declaration.outputs is None:
        return OutputFacts(count, classes, probed, "probed")
    if declaration.outputs == "probabilities" and probed != "probabilities":
        sums = ", ".join(f"{value:.3f}" for value in probe.sum(axis=1))
        raise UserError(
            f"{name} is declared to give probabilities, but they sum to {sums}; declare outputs = 'logits'."
        )
    return OutputFacts(count, classes, declaration.outputs, "declared")
