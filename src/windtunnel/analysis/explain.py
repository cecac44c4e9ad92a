"""Explanation of a prediction: the top classes, and a saliency map of the regions that one depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.occlusion import (
    Cover,
    Kind,
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
from windtunnel.core.progress import Progress, silent
from windtunnel.engine.images import stages_of
from windtunnel.imaging.files import read_file
from windtunnel.imaging.geometry import colour_step, decode_step
from windtunnel.imaging.header import pillow_quiet
from windtunnel.imaging.image_types import to_pixels
from windtunnel.kernels.window import Window
from windtunnel.models import Model, load_model
from windtunnel.published.imagenet import imagenet_1k, imagenet_names, imagenet_synonyms

Method = Literal["occlusion", "grad-cam"]

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
        before, after: the class's probability without and with the patch covered.
        said: the predicted class with the patch covered.
    """

    patch: Window
    where: str
    before: float
    after: float
    said: ClassProbability


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
        hang: the patch with the largest fall; for Grad-CAM, with the largest mean of the map. None if no
            patch lowers the score, or the map is zero everywhere.
        half_in: the smallest share of the image that contains half of the map's positive values.
        patches: number of patches covered one by one; 0 for Grad-CAM.
        lowering: number of patches that lower the class's score.
        changing: number of patches that change the predicted class.
    """

    method: Method
    image: Image
    top: tuple[ClassProbability, ...]
    explained: ClassProbability
    score: Kind | None
    map: NDArray[np.float64]
    hang: DecisivePatch | None
    half_in: float
    patches: int
    lowering: int
    changing: int

    @property
    def words(self) -> str:
        """The decisive patch and the effect of covering it, as text."""
        hang, name = self.hang, self.explained.name
        if hang is None and self.method == "grad-cam":
            return f"no region: the Grad-CAM map of {name} is zero everywhere"
        if hang is None:
            share = _percent(self.explained.probability)
            return f"no single patch: covering any one of them does not lower {name} from {share}"
        becomes = "stays" if hang.said.index == self.top[0].index else "becomes"
        return (
            f"the {hang.where}: with this patch covered, {name} goes from {_percent(hang.before)} to "
            f"{_percent(hang.after)}; the prediction {becomes} {hang.said.name} "
            f"({_percent(hang.said.probability)})"
        )

    def to_json(self) -> dict[str, Any]:
        """Everything but the pixels."""
        height, width = self.image.shape[:2]
        return {
            "method": self.method,
            "size": [width, height],
            "top": [asdict(one) for one in self.top],
            "explained": asdict(self.explained),
            "score": self.score,
            "map_range": [float(self.map.min()), float(self.map.max())],
            "hang": asdict(self.hang) if self.hang else None,
            "half_in": self.half_in,
            "patches": self.patches,
            "lowering": self.lowering,
            "changing": self.changing,
        }


def explain(
    model: Any,
    image: Any,
    of: str | int | None = None,
    *,
    method: Method = "occlusion",
    cover: Cover = "mean",
    kind: Kind = "probability",
    layer: str | None = None,
    preprocess: str | Path | None = None,
    progress: Progress = silent,
) -> Explanation:
    """Explain a model's prediction on an image by a saliency map of one class.

    Args:
        model: a model as `run` accepts it.
        image: a file, or an image as a PIL image, array or tensor; the model's own preprocessing is applied.
        of: the class to explain: its name, WordNet id or index; by default the predicted class.
        method: `occlusion` covers the image patch by patch, for any model; `grad-cam` needs a torch module.
        cover: for occlusion, `mean` (the image's mean colour) or `blur`.
        kind: the score of the occlusion map, the class's `probability` or its `logit`.
        layer: for Grad-CAM, the layer whose output is the feature maps; by default the last convolution.
        preprocess: preset or TOML file with the model's preprocessing.
        progress: counts occluded patches.

    Raises:
        UserError: an argument is invalid.
    """
    if method not in get_args(Method):
        raise unknown_name("method", method, get_args(Method))
    if layer is not None and method != "grad-cam":
        raise UserError(
            f"layer is '{layer}', but occlusion has no layers; use method grad-cam, or give no layer."
        )
    loaded = load_model(model, preprocess)
    target = None if of is None else find_class(loaded, of)
    canvas = _seen(image, loaded)
    if method == "occlusion":
        return explain_seen(loaded, canvas, target, cover=cover, kind=kind, progress=progress)
    return _by_gradient(loaded, canvas, target, cover, layer)


def explain_seen(
    model: Model,
    image: Image,
    target: int | None = None,
    *,
    cover: Cover = "mean",
    kind: Kind = "probability",
    projection: Projection | None = None,
    name: Callable[[int], str] | None = None,
    progress: Progress = silent,
) -> Explanation:
    """Explain a prediction by occlusion, given a preprocessed image.

    `projection` maps outputs to classes, as in a run's recipe, and `name` returns a class's name. By default
    classes are the model's outputs with its own names.
    """
    explainer = _Explainer(model, image, target, cover, projection, name or partial(class_name, model))
    found = occlude(
        model, image, explainer.target, cover=cover, kind=kind, projection=projection, progress=progress
    )
    best = int(found.falls.argmax())
    return explainer.explained(
        "occlusion",
        kind,
        found.map,
        found.patches[best] if found.falls[best] > 0 else None,
        len(found.patches),
        int((found.falls > 0).sum()),
        int((found.predicted != explainer.shares.argmax()).sum()),
    )


def _by_gradient(
    model: Model, image: Image, target: int | None, cover: Cover, layer: str | None
) -> Explanation:
    source = model.gradient_source
    if source is None:
        raise UserError(
            f"grad-cam needs gradients, and {model.name} is of kind {model.kind}; use occlusion, or give "
            "the torch module (module:factory or file.py:factory)."
        )
    from windtunnel.analysis.grad_cam import (
        grad_cam,  # torch is imported already: the model is a torch module
    )

    explainer = _Explainer(model, image, target, cover, None, partial(class_name, model))
    found = grad_cam(source, image, explainer.target, layer)
    patches = patches_of(*image.shape[:2]) if found.max() > 0 else []
    patch = max(patches, key=lambda one: float(inside(found, one).mean()), default=None)
    return explainer.explained("grad-cam", None, found, patch)


class _Explainer:
    """A model, an image and a class, which all methods have in common."""

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
        self.shares = self._shares_of(image)
        self.target = int(self.shares.argmax()) if target is None else target

    def explained(
        self,
        method: Method,
        score: Kind | None,
        found: NDArray[np.float64],
        patch: Window | None,
        patches: int = 0,
        lowering: int = 0,
        changing: int = 0,
    ) -> Explanation:
        """The explanation for a map and the patch that the class depends on most, if there is one."""
        best = np.argsort(-self.shares, kind="stable")[:TOP]
        return Explanation(
            method,
            self._image,
            tuple(self._answer(self.shares, int(index)) for index in best if self.shares[index] > 0),
            self._answer(self.shares, self.target),
            score,
            found,
            self._hang(patch) if patch else None,
            half_in(found),
            patches,
            lowering,
            changing,
        )

    def _hang(self, patch: Window) -> DecisivePatch:
        covered = cover_patch(self._image, covered_image(self._image, self._cover), patch)
        after = self._shares_of(covered)
        where = _where(patch, *self._image.shape[:2])
        before, now = float(self.shares[self.target]), float(after[self.target])
        return DecisivePatch(patch, where, before, now, self._answer(after, int(after.argmax())))

    def _shares_of(self, image: Image) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = class_scores(self._model, image[None], "probability", self._projection)[
            0
        ]
        return shares

    def _answer(self, shares: NDArray[np.float64], index: int) -> ClassProbability:
        return ClassProbability(index, self._name(index), float(shares[index]))


def half_in(values: NDArray[np.float64]) -> float:
    """The smallest share of pixels that contains half of the sum of all positive values; 1 without any."""
    positive = np.sort(values[values > 0])[::-1]
    if not len(positive):
        return 1.0
    held = np.cumsum(positive)
    # Half, with a tolerance for rounding of the sum.
    return float(np.searchsorted(held, held[-1] / 2 * (1 - 1e-12)) + 1) / values.size


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
    known = [[name, *synonyms.get(name, ())] for name in names]
    found = [index for index, all_ in enumerate(known) if text.lower() in (one.lower() for one in all_)]
    if len(found) > 1:
        which = ", ".join(f"{names[index]} ({index})" for index in found)
        raise UserError(
            f"{len(found)} classes of {model.name} have the name '{text}': {which}; give the index."
        )
    if not found:
        raise unknown_name(f"class of {model.name}", text, {class_name(model, n) for n in range(len(names))})
    return found[0]


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


def _seen(image: Any, model: Model) -> Image:
    """An image after the model's own preprocessing."""
    geometry = model.preprocess.geometry
    content: bytes | Image
    if isinstance(image, str | Path):
        if not Path(image).is_file():
            raise UserError(f"No such image: {image}.")
        try:
            content = read_file(Path(image))
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
