"""Why a model says what it says of an image: the best answers, and the part that one of them hangs on."""

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
class Answer:
    """A class and how likely the model thinks it."""

    index: int
    name: str
    probability: float


@dataclass(frozen=True)
class Hang:
    """The patch that the class hangs on most, and what the model says when it is covered.

    Attributes:
        patch: where it is, in pixels of the image that the model sees.
        where: the same in words, by thirds: `top left`, `middle`.
        before, after: the class's probability, as the image is and with the patch covered.
        said: the best answer with the patch covered.
    """

    patch: Window
    where: str
    before: float
    after: float
    said: Answer


@dataclass(frozen=True)
class Explanation:
    """An answer and the part of the image it hangs on.

    Attributes:
        method: `occlusion` or `grad-cam`.
        image: what the model saw.
        top: its best answers.
        explained: the class that the map is of.
        score: what falls in the map of occlusion, `probability` or `logit`; None of Grad-CAM.
        map: a number per pixel. Of occlusion the mean fall of the class's score when the pixel's patches are
            covered, negative where it rises; of Grad-CAM in units of its own, never negative.
        hang: the patch with the largest fall; of Grad-CAM, with the largest mean of the map. None where no
            patch lowers the score, or the map is zero everywhere.
        half_in: the smallest share of the image that holds half of what is positive in the map.
        patches: how many were covered one by one; 0 of Grad-CAM.
        lowering: how many of them lower the class's score.
        changing: how many of them change the best answer.
    """

    method: Method
    image: Image
    top: tuple[Answer, ...]
    explained: Answer
    score: Kind | None
    map: NDArray[np.float64]
    hang: Hang | None
    half_in: float
    patches: int
    lowering: int
    changing: int

    @property
    def words(self) -> str:
        """What the class hangs on and what covering it does, in words."""
        hang, name = self.hang, self.explained.name
        if hang is None and self.method == "grad-cam":
            return f"no place: Grad-CAM finds none that speaks for {name}"
        if hang is None:
            share = _percent(self.explained.probability)
            return f"no single patch: whichever is covered, {name} does not fall from {share}"
        becomes = "stays" if hang.said.index == self.top[0].index else "becomes"
        return (
            f"the {hang.where}: with this one patch covered, {name} goes from {_percent(hang.before)} to "
            f"{_percent(hang.after)}; the answer {becomes} {hang.said.name} "
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
    """Say what a model sees in an image, and on which part of it an answer hangs.

    Args:
        model: whatever `run` takes.
        image: a file, or an image as a PIL image, array or tensor; brought to the model by its own
            preprocess.
        of: the class to explain: its name, WordNet id or index; by default the best answer.
        method: `occlusion` covers the image patch by patch, for any model; `grad-cam` needs a torch module.
        cover: of occlusion, `mean` (the image's mean colour) or `blur`.
        kind: what falls in occlusion's map, the class's `probability` or its `logit`.
        layer: of Grad-CAM, the part of the module that gives the feature maps; by default its last
            convolution.
        preprocess: preset or TOML file that says how the model wants its images.
        progress: counts occluded patches.

    Raises:
        UserError: something given does not fit.
    """
    if method not in get_args(Method):
        raise unknown_name("method", method, get_args(Method))
    if layer is not None and method != "grad-cam":
        raise UserError(f"a layer ('{layer}') is for grad-cam; occlusion knows no layers.")
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
    """The same by occlusion, of an image as the model takes it.

    `projection` is how outputs become classes, as a run's recipe has it, and `name` what a class is called;
    by default classes are the model's outputs under its own names.
    """
    asked = _Asked(model, image, target, cover, projection, name or partial(class_name, model))
    found = occlude(
        model, image, asked.target, cover=cover, kind=kind, projection=projection, progress=progress
    )
    best = int(found.falls.argmax())
    return asked.explained(
        "occlusion",
        kind,
        found.map,
        found.patches[best] if found.falls[best] > 0 else None,
        len(found.patches),
        int((found.falls > 0).sum()),
        int((found.said != asked.shares.argmax()).sum()),
    )


def _by_gradient(
    model: Model, image: Image, target: int | None, cover: Cover, layer: str | None
) -> Explanation:
    source = model.gradient_source
    if source is None:
        raise UserError(
            f"grad-cam needs gradients, and {model.name} is of kind {model.kind}; take occlusion, or give "
            "the torch module (module:factory or file.py:factory)."
        )
    from windtunnel.analysis.grad_cam import grad_cam  # torch is here by now: the model is made of it

    asked = _Asked(model, image, target, cover, None, partial(class_name, model))
    found = grad_cam(source, image, asked.target, layer)
    patches = patches_of(*image.shape[:2]) if found.max() > 0 else []
    patch = max(patches, key=lambda one: float(inside(found, one).mean()), default=None)
    return asked.explained("grad-cam", None, found, patch)


class _Asked:
    """A model, an image and a class: what every method's explanation has in common."""

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
        """The explanation that a map gives, and the patch that the class hangs on most, if on any."""
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

    def _hang(self, patch: Window) -> Hang:
        covered = cover_patch(self._image, covered_image(self._image, self._cover), patch)
        after = self._shares_of(covered)
        where = _where(patch, *self._image.shape[:2])
        before, now = float(self.shares[self.target]), float(after[self.target])
        return Hang(patch, where, before, now, self._answer(after, int(after.argmax())))

    def _shares_of(self, image: Image) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = class_scores(self._model, image[None], "probability", self._projection)[
            0
        ]
        return shares

    def _answer(self, shares: NDArray[np.float64], index: int) -> Answer:
        return Answer(index, self._name(index), float(shares[index]))


def half_in(values: NDArray[np.float64]) -> float:
    """The smallest share of pixels that holds half of the sum of all positive values; 1 without any."""
    positive = np.sort(values[values > 0])[::-1]
    if not len(positive):
        return 1.0
    held = np.cumsum(positive)
    # Half, give or take the rounding of the sum.
    return float(np.searchsorted(held, held[-1] / 2 * (1 - 1e-12)) + 1) / values.size


def find_class(model: Model, wanted: str | int) -> int:
    """The output that a class's name, WordNet id or index stands for."""
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
        raise UserError(f"{len(found)} classes of {model.name} are called '{text}': {which}; give the index.")
    if not found:
        raise unknown_name(f"class of {model.name}", text, {class_name(model, n) for n in range(len(names))})
    return found[0]


def class_name(model: Model, index: int) -> str:
    """What people call an output."""
    name = _names(model)[index]
    return imagenet_names().get(name, name)


def _names(model: Model) -> tuple[str, ...]:
    """The outputs as the model declares them; a thousand undeclared ones are taken for ImageNet's."""
    if model.classes:
        return model.classes
    if model.class_count == len(imagenet_1k()):
        return imagenet_1k().classes
    return tuple(map(str, range(model.class_count)))


def _seen(image: Any, model: Model) -> Image:
    """An image as the model sees it, by its own preprocess."""
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
