"""Explanation of a prediction: the top classes, and a saliency map of the regions that one depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.occlusion import (
    class_scores,
    cover_patch,
    covered_image,
    inside,
    occlude,
    patches_of,
)
from windtunnel.core.errors import ImageError, UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.core.labels import Projection
from windtunnel.core.locations import location_of
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.engine.images import stages_of
from windtunnel.imaging.files import read_file
from windtunnel.imaging.geometry import colour_step, decode_step
from windtunnel.imaging.header import pillow_quiet
from windtunnel.imaging.image_types import to_pixels
from windtunnel.kernels.window import Window
from windtunnel.models import Model
from windtunnel.options.explain import Cover, ExplainOptions, Method, ScoreKind
from windtunnel.published.imagenet import imagenet_1k, imagenet_names, imagenet_synonyms

TOP = 5
ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "middle", "right")


@dataclass(frozen=True)
class ClassProbability:
    """A class and its predicted probability."""

    index: int
    name: str
    probability: float


@dataclass(frozen=True)
class DecisivePatch:
    """The patch that a class depends on most, and the prediction with that patch covered.

    Attributes:
        patch: its position in pixels of the preprocessed image.
        where: its position as text, by thirds: `top left`, `middle`.
        before: the class's probability on the original image.
        after: the class's probability with the patch covered.
        predicted: the predicted class with the patch covered.
    """

    patch: Window
    where: str
    before: float
    after: float
    predicted: ClassProbability


@dataclass(frozen=True)
class Explanation:
    """A prediction and its saliency map.

    Attributes:
        method: `occlusion` or `grad-cam`.
        image: the preprocessed image.
        top: the top classes.
        explained: the class that the map explains.
        score: the score of the occlusion map, `probability` or `logit`; None for Grad-CAM.
        map: a value per pixel. Occlusion: the mean fall of the class's score when the pixel's patches are
            covered, negative where it rises. Grad-CAM: in arbitrary units, never negative.
        decisive_patch: the patch with the largest fall; for Grad-CAM, with the largest mean of the map. None
            if no patch lowers the score, or the map is zero everywhere.
        half_area: the smallest share of the image that contains half of the sum of the map's positive values.
        patches: number of patches covered one by one; 0 for Grad-CAM.
        lowering: number of patches that lower the class's score.
        changing: number of patches that change the predicted class.
    """

    method: Method
    image: Image
    top: tuple[ClassProbability, ...]
    explained: ClassProbability
    score: ScoreKind | None
    map: NDArray[np.float64]
    decisive_patch: DecisivePatch | None
    half_area: float
    patches: int
    lowering: int
    changing: int

    @property
    def words(self) -> str:
        """The decisive patch and the effect of covering it, as text."""
        decisive, name = self.decisive_patch, self.explained.name
        if decisive is None and self.method == "grad-cam":
            return f"no region: the Grad-CAM map of {name} is zero everywhere"
        if decisive is None:
            share = _percent(self.explained.probability)
            return f"no single patch: covering any one of them does not lower {name} from {share}"
        becomes = "stays" if decisive.predicted.index == self.top[0].index else "becomes"
        return (
            f"the {decisive.where}: with this patch covered, {name} goes from {_percent(decisive.before)} to "
            f"{_percent(decisive.after)}; the prediction {becomes} {decisive.predicted.name} "
            f"({_percent(decisive.predicted.probability)})"
        )

    def to_json(self) -> dict[str, Any]:
        """The explanation as a JSON object, without image and map."""
        height, width = self.image.shape[:2]
        return {
            "method": self.method,
            "size": [width, height],
            "top": [asdict(top) for top in self.top],
            "explained": asdict(self.explained),
            "score": self.score,
            "map_range": [float(self.map.min()), float(self.map.max())],
            "decisive_patch": asdict(self.decisive_patch) if self.decisive_patch else None,
            "half_area": self.half_area,
            "patches": self.patches,
            "lowering": self.lowering,
            "changing": self.changing,
        }


def explain_image(
    model: Model,
    image: Any,
    target: str | int | None,
    options: ExplainOptions,
    progress: Progress = silent,
) -> Explanation:
    """Explain a model's prediction on an image by a saliency map of one class.

    Args:
        model: the model; its own preprocessing is applied.
        image: a file, or an image as a PIL image, array or tensor.
        target: the class to explain: its name, WordNet id or index; None for the predicted class.
        options: method, cover, score and layer.
        progress: counts occluded patches.

    Raises:
        UserError: an argument is invalid.
    """
    if options.method not in get_args(Method):
        raise unknown_name("method", options.method, get_args(Method))
    if options.layer is not None and options.method != "grad-cam":
        raise UserError(
            f"{option('layer')} is '{options.layer}', but occlusion has no layers; give "
            f"{option('method', 'grad-cam')}, or no layer."
        )
    index = None if target is None else find_class(model, target)
    pixels = _preprocessed(image, model)
    if options.method == "occlusion":
        return explain_preprocessed(
            model, pixels, index, cover=options.cover, kind=options.score, progress=progress
        )
    return _by_gradient(model, pixels, index, options.cover, options.layer)


def explain_preprocessed(
    model: Model,
    image: Image,
    target: int | None = None,
    *,
    cover: Cover = "mean",
    kind: ScoreKind = "probability",
    projection: Projection | None = None,
    name: Callable[[int], str] | None = None,
    progress: Progress = silent,
) -> Explanation:
    """Explain a prediction by occlusion, given a preprocessed image.

    `projection` maps outputs to classes, as in a run's recipe, and `name` returns a class's name. By default
    classes are the model's outputs with its own names.
    """
    explainer = _Explainer(model, image, target, cover, projection, name or partial(class_name, model))
    occlusion = occlude(
        model, image, explainer.target, cover=cover, kind=kind, projection=projection, progress=progress
    )
    best = int(occlusion.falls.argmax())
    return explainer.explained(
        "occlusion",
        kind,
        occlusion.map,
        occlusion.patches[best] if occlusion.falls[best] > 0 else None,
        len(occlusion.patches),
        int((occlusion.falls > 0).sum()),
        int((occlusion.predicted != explainer.probabilities.argmax()).sum()),
    )


def _by_gradient(
    model: Model, image: Image, target: int | None, cover: Cover, layer: str | None
) -> Explanation:
    if model.wrappers:
        raise UserError(
            f"grad-cam needs gradients with respect to the image, and {model.name} has wrappers; give "
            f"{option('method', 'occlusion')}, or the model without wrappers."
        )
    source = model.gradient_source
    if source is None:
        raise UserError(
            f"grad-cam needs gradients, and {model.name} is of kind {model.kind}; give "
            f"{option('method', 'occlusion')}, or the torch module (module:factory or file.py:factory)."
        )
    # torch is imported already: the model is a torch module.
    from windtunnel.analysis.grad_cam import grad_cam

    explainer = _Explainer(model, image, target, cover, None, partial(class_name, model))
    saliency = grad_cam(source, image, explainer.target, layer)
    patches = patches_of(*image.shape[:2]) if saliency.max() > 0 else []
    strongest = max(patches, key=lambda patch: float(inside(saliency, patch).mean()), default=None)
    return explainer.explained("grad-cam", None, saliency, strongest)


class _Explainer:
    """A model, an image and a class: the parts of an explanation that are the same for every method."""

    def __init__(
        self,
        model: Model,
        image: Image,
        target: int | None,
        cover: Cover,
        projection: Projection | None,
        name: Callable[[int], str],
    ) -> None:
        self._model, self._image, self._cover, self._projection = model, image, cover, projection
        self._name = name
        self.probabilities = self._predict(image)
        self.target = int(self.probabilities.argmax()) if target is None else target

    def explained(
        self,
        method: Method,
        score: ScoreKind | None,
        saliency: NDArray[np.float64],
        patch: Window | None,
        patches: int = 0,
        lowering: int = 0,
        changing: int = 0,
    ) -> Explanation:
        """The explanation for a map and the patch that the class depends on most, if there is one."""
        known = self.probabilities
        best = np.argsort(-known, kind="stable")[:TOP]
        return Explanation(
            method,
            self._image,
            tuple(self._class_probability(known, int(index)) for index in best if known[index] > 0),
            self._class_probability(known, self.target),
            score,
            saliency,
            self._decisive_patch(patch) if patch else None,
            half_area(saliency),
            patches,
            lowering,
            changing,
        )

    def _decisive_patch(self, patch: Window) -> DecisivePatch:
        covered = cover_patch(self._image, covered_image(self._image, self._cover), patch)
        after = self._predict(covered)
        return DecisivePatch(
            patch,
            _where(patch, *self._image.shape[:2]),
            float(self.probabilities[self.target]),
            float(after[self.target]),
            self._class_probability(after, int(after.argmax())),
        )

    def _predict(self, image: Image) -> NDArray[np.float64]:
        """The probabilities of all classes."""
        return np.asarray(class_scores(self._model, image[None], "probability", self._projection)[0])

    def _class_probability(self, probabilities: NDArray[np.float64], index: int) -> ClassProbability:
        return ClassProbability(index, self._name(index), float(probabilities[index]))


def half_area(values: NDArray[np.float64]) -> float:
    """The smallest share of pixels that contains half of the sum of all positive values; 1 without any."""
    positive = np.sort(values[values > 0])[::-1]
    if not len(positive):
        return 1.0
    sums = np.cumsum(positive)
    # Half, with a tolerance for rounding of the sum.
    return float(np.searchsorted(sums, sums[-1] / 2 * (1 - 1e-12)) + 1) / values.size


def find_class(model: Model, wanted: str | int) -> int:
    """The output index of a class, given its name, WordNet id or index."""
    names = _names(model)
    text = str(wanted).strip()
    if text in names and not isinstance(wanted, int):
        return names.index(text)
    if text.isdecimal():
        if int(text) < model.class_count:
            return int(text)
        raise UserError(
            f"class {text} is not among the {model.class_count} outputs of {model.name}; give 0 to "
            f"{model.class_count - 1}."
        )
    synonyms = imagenet_synonyms()
    matches = [
        index
        for index, name in enumerate(names)
        if text.lower() in (known.lower() for known in (name, *synonyms.get(name, ())))
    ]
    if len(matches) > 1:
        which = ", ".join(f"{names[index]} ({index})" for index in matches)
        raise UserError(
            f"{len(matches)} classes of {model.name} have the name '{text}': {which}; give the index."
        )
    if not matches:
        raise unknown_name(f"class of {model.name}", text, {class_name(model, n) for n in range(len(names))})
    return matches[0]


def class_name(model: Model, index: int) -> str:
    """The name of an output for display."""
    name = _names(model)[index]
    return imagenet_names().get(name, name)


def _names(model: Model) -> tuple[str, ...]:
    """The model's declared classes; 1,000 undeclared outputs are assumed to be ImageNet's."""
    if model.classes:
        return model.classes
    if model.class_count == len(imagenet_1k()):
        return imagenet_1k().classes
    return tuple(map(str, range(model.class_count)))


def _preprocessed(image: Any, model: Model) -> Image:
    """An image after the model's own preprocessing."""
    geometry = model.preprocess.geometry
    content: bytes | Image
    if isinstance(image, str | Path):
        file = location_of(image)
        if not file.is_file():
            raise UserError(f"No such image: {image}.")
        try:
            content = read_file(file)
        except ImageError as error:
            raise UserError(f"{image} cannot be explained: {error.reason}.") from error
    else:
        pixels, _ = to_pixels(image)
        deep = pixels if pixels.ndim == 3 else pixels[..., None]
        content = np.ascontiguousarray(np.broadcast_to(deep, (*deep.shape[:2], 3)))
    try:
        with pillow_quiet():
            decoded = colour_step(decode_step(content, geometry), geometry)
            return stages_of(np.require(decoded, requirements=["C", "W"]), geometry)[-1]
    except ImageError as error:
        what = image if isinstance(image, str | Path) else "the image"
        raise UserError(f"{what} cannot be explained: {error.reason}.") from error


def _where(patch: Window, height: int, width: int) -> str:
    row = ROWS[int((patch.top + patch.height / 2) * 3 / height)]
    column = COLUMNS[int((patch.left + patch.width / 2) * 3 / width)]
    return row if row == column else f"{row} {column}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
