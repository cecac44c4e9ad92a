"""Models: what all kinds have in common. The kinds are in `kinds/`, one file each."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.core.locations import Location, location_of
from windtunnel.core.option_names import option
from windtunnel.core.placement import AUTO, Placement
from windtunnel.core.records import DEFAULT_TASK, WrapperRecord
from windtunnel.models.devices import asked_placement
from windtunnel.models.fitted_images import FittedImages
from windtunnel.models.preprocess import About, Declaration, Preprocess
from windtunnel.models.preprocess import Outputs as Outputs
from windtunnel.published.imagenet import imagenet_1k

if TYPE_CHECKING:
    from windtunnel.models.torch import TorchPredictor

Scores = NDArray[np.float32]

# Probabilities in half precision may sum to 0.98.
SUM_TOLERANCE = 2e-2


# Height and width of an image, in pixels.
Size = tuple[int, int]


class FeatureSource(Protocol):
    """A source of features: so many numbers for each image."""

    count: int

    def features(self, batch: NDArray[np.uint8]) -> Scores:
        """Features (n, count) of a batch of uint8 NHWC images."""
        ...


class Model:
    """A classifier. A subclass defines the attributes up to `batch` and `predict`, and overrides others.

    Attributes:
        name: for reports and for the run folder's name.
        kind: `onnx`, `callable`, `torch` or the name of another kind; part of a run's recipe.
        fingerprint: hash of weights, graph or source, which identifies the model.
        classes: names of the outputs in order, or () if only their number is known.
        class_count: the number of outputs.
        preprocess: its preprocessing.
        outputs: `logits` or `probabilities`.
        outputs_from: `declared`, `probed`, `CONTRADICTED`, or `averaged over N views`.
        trained_on: datasets it was trained on, as declared; empty for unknown.
        about: family, number of parameters and tags, as declared.
        portable: whether another process can load it again.
        batch: the number of images in one call.
        top_k: the number of best classes, if only these are known; else None.
        own_arithmetic: whether it converts pixels itself and uses only the geometry of its preprocessing.
        fixed_size: whether it takes images of one size only.
        probe_size: height and width of the images it was tested on, if it declares no size; else None.
        kind_title: the name of the kind in texts, if it differs from `kind`.
        task: what it predicts.
        owns_device: whether it predicts on a device that one process should own.
        placement: its device, precision and requested batch size; device `auto` if it chooses that itself.
        hardware: the name of its accelerator, if it is known.
        fitting_batch: the number of images that fit into memory, if a batch did not; else None.
        wrappers: the wrappers around it, the outermost first.
        declared_wrappers: wrappers that its declaration asks for and that are not around it yet.
        passes: forward passes for each image.
        fitted_images: images that it was fitted on, and that it must not be scored on.
        batch_dependent: whether its scores of an image depend on the batch, and the user allows it.
        half_precision: whether its scores are numbers of half precision, whatever its input.
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
    top_k: int | None = None
    own_arithmetic: bool = False
    fixed_size: bool = False
    probe_size: Size | None = None
    kind_title: str = ""
    task: str = DEFAULT_TASK
    owns_device: bool = False
    placement: Placement = Placement()
    hardware: str = ""
    fitting_batch: int | None = None
    wrappers: tuple[WrapperRecord, ...] = ()
    declared_wrappers: tuple[str, ...] = ()
    passes: int = 1
    fitted_images: FittedImages = FittedImages()
    batch_dependent: bool = False
    half_precision: bool = False

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        raise NotImplementedError

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same model with other preprocessing."""
        other = copy.copy(self)
        other.preprocess = preprocess
        return other

    def placed(self, placement: Placement) -> Model:
        """The same model on another device, in another precision or with another batch size.

        Kinds that support devices override it; others refuse all but a batch size.
        """
        wanted, own = placement.completed_by(self.placement), Placement().completed_by(self.placement)
        if (wanted.device, wanted.precision) != (own.device, own.precision):
            raise UserError(
                f"{self.name} is a model of kind {self.kind}, whose own code chooses device and precision; "
                f"leave {option('device')} and {option('precision')} out."
            )
        return self if wanted.batch in (None, self.batch) else self._at(wanted, self.batch)

    def _at(self, placement: Placement, cpu_batch: int, hardware: str = "") -> Self:
        """A copy with the facts of a placement; it takes `cpu_batch` images in one call on the CPU."""
        other = copy.copy(self)
        other.placement, other.hardware, other.fitting_batch = placement, hardware, None
        other.batch = placement.batch_size(cpu_batch)
        other.owns_device = placement.accelerated or (self.owns_device and placement.device == AUTO)
        return other

    def variant(self, name: str) -> Model:
        """The same model in other arithmetic (`float16`, `int8`), if its kind has such a variant."""
        raise UserError(f"numerics={name} needs an ONNX file; this model is a {self.kind}.")

    @property
    def gradient_source(self) -> TorchPredictor | None:
        """The source of gradients of the scores; None if the kind has none."""
        return None

    def penultimate_features(self) -> FeatureSource | None:
        """What the last layer with weights receives, averaged over positions; None if it is not known."""
        return None

    @property
    def unwrapped(self) -> Model:
        """The model without any wrapper."""
        return self


class LiveModel(Model):
    """A user's own object that has the attributes of a model and `predict`."""

    def __init__(self, source: Any) -> None:
        self._source = source
        for name in Model.__annotations__:
            if hasattr(source, name):
                setattr(self, name, getattr(source, name))

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        scores: Scores = self._source.predict(batch)
        return scores

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same model with other preprocessing, if the object supports it."""
        change = getattr(self._source, "redeclared", None)
        return LiveModel(change(preprocess)) if change else self


@dataclass(frozen=True)
class ModelSource:
    """The source of a model: enough to load it again in another process."""

    spec: str
    preprocess: str | None = None
    data_size: Size | None = None
    placement: Placement = Placement()  # noqa: RUF009 (frozen)

    @property
    def files(self) -> tuple[str, ...]:
        """Texts that may be files which a worker reads: the model, its declaration, files of its wrappers."""
        from windtunnel.models.wrapping import files_of

        return (*files_of(self.spec), self.preprocess or "")


def load_model(
    model: str | Path | ModelSource | Model | Any,
    preprocess: str | Path | None = None,
    *,
    data_size: Size | None = None,
    device: str = AUTO,
    precision: str | None = None,
    batch: int | None = None,
) -> Model:
    """Load a model.

    Args:
        model: a text of one of the forms that `windtunnel list model-kinds` lists (`FILE.onnx`), or a live
            object: a torch module, or a callable that takes uint8 NHWC and returns scores.
        preprocess: a preset's name or a TOML file; else the TOML next to the model file; else the default.
        data_size: height and width of the data's images, for testing a model that declares no size (rule
            `none`) and does not take 224 pixels.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or ONNX Runtime's execution providers separated by commas.
            `auto` leaves a live torch module where it is; ONNX files and the modules of factories are placed
            on a CUDA device if there is one.
        precision: `float32`, `float16` or `bfloat16`, for torch modules.
        batch: images in one call.
    """
    return _loaded(model, preprocess, data_size, asked_placement(device, precision, batch))


def _loaded(model: Any, preprocess: str | Path | None, data_size: Size | None, placement: Placement) -> Model:
    if isinstance(model, Model):
        return model if placement == Placement() else model.placed(placement)
    if isinstance(model, ModelSource):
        return _loaded(model.spec, model.preprocess, model.data_size, model.placement)
    return load_unplaced(model, preprocess, data_size).placed(placement)


def load_unplaced(model: Any, preprocess: str | Path | None, data_size: Size | None) -> Model:
    """The model of a text or a live object, in the wrappers that it declares, before a device is chosen."""
    from windtunnel.models.kinds import kind_of, load_with, not_a_model, unknown_model

    is_text = isinstance(model, str | Location)
    if is_text:
        location_of(model)  # refuses URLs with credentials
    if not is_text and hasattr(model, "predict") and hasattr(model, "fingerprint"):
        return LiveModel(model)
    kind = kind_of(model)
    if kind is not None:
        loaded = load_with(kind, model, preprocess, data_size)
        if not loaded.declared_wrappers:
            return loaded
        from windtunnel.models.wrapping import wrapped_as_declared

        return wrapped_as_declared(loaded)
    if is_text:
        raise unknown_model(str(model))
    raise not_a_model("The model", model)


def probe_images(preprocess: Preprocess, count: int, size: Size | None = None) -> NDArray[np.uint8]:
    """Fixed images of the model's input size, or of `size`, for testing it: a ramp, rotated each time."""
    side = preprocess.geometry.output_px or 224
    height, width = size or (side, side)
    ramp = np.linspace(0, 255, height * width * 3).reshape(height, width, 3).astype(np.uint8)
    return np.stack(
        [np.roll(ramp, shift * ramp.shape[shift % 2] // 4, axis=shift % 2) for shift in range(count)]
    )


def check_scores(scores: Any, count: int, name: str) -> Scores:
    """Scores as float32 (n, k), trailing axes of length one removed; refuses other shapes."""
    array = np.asarray(scores)
    while array.ndim > 2 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim != 2 or array.shape[0] != count or array.shape[1] < 2:
        raise UserError(
            f"{name} returns an output of shape {np.shape(scores)} for {count} image(s); "
            f"a classifier returns ({count}, classes)."
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def finite_rows(scores: Scores) -> NDArray[np.bool_]:
    """Whether each row is finite in every class; other rows count as wrong predictions."""
    return np.asarray(np.isfinite(scores).all(axis=1), np.bool_)


def behaviour(scores: Scores) -> str:
    """A digest of a model's scores for the probe images, rounded so that thread counts do not change it."""
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


# How outputs are known that are declared as logits while a trial run gives probabilities.
CONTRADICTED = "declared, contradicted by a trial"


@dataclass(frozen=True)
class OutputFacts:
    """The facts about a model's outputs: number, classes, kind, and how the kind is known."""

    class_count: int
    classes: tuple[str, ...]
    outputs: Outputs
    outputs_from: str


def output_facts(declaration: Declaration, probe: Scores, name: str) -> OutputFacts:
    """Combine the declared facts about a model's outputs with those of a trial run."""
    count = probe.shape[1]
    if not np.isfinite(probe).all():
        raise UserError(f"{name} returns non-finite numbers for a plain image; check its preprocessing.")
    classes = imagenet_1k().classes if declaration.labels == (IMAGENET_1K,) else declaration.labels
    if classes and len(classes) != count:
        raise UserError(
            f"{name} has {count} outputs, but {len(classes)} labels are declared; correct labels."
        )
    if len(set(classes)) < len(classes):
        twice = next(label for label in classes if classes.count(label) > 1)
        raise UserError(f"{name}: the label '{twice}' is declared twice; give every output its own name.")
    probed = probe_outputs(probe)
    if declaration.outputs is None:
        return OutputFacts(count, classes, probed, "probed")
    if declaration.outputs == "probabilities" and probed != "probabilities":
        sums = ", ".join(f"{value:.3f}" for value in probe.sum(axis=1))
        raise UserError(
            f"{name} is declared to return probabilities, but they sum to {sums}; declare outputs = 'logits'."
        )
    how = "declared" if declaration.outputs == probed else CONTRADICTED
    return OutputFacts(count, classes, declaration.outputs, how)
