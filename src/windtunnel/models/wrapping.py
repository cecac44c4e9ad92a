"""Wrapped models: a model together with a wrapper, written `clahe(clip=3)|model.onnx`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.calls import Call, call_text, parse_call
from windtunnel.core.errors import UserError, first_line
from windtunnel.core.placement import Placement
from windtunnel.core.records import WrapperRecord, wrapped_fingerprint
from windtunnel.core.wording import counted
from windtunnel.models import Model, Scores, probe_images
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.probabilities import as_probabilities
from windtunnel.models.wrappers import REGISTRY, Images, Wrapper

SEPARATOR = "|"
TEST_TIME_ONLY = "test time only"
TRAINED_WITH = "trained with it"
WrapperCall = Call[Wrapper]


class WrappedModel(Model):
    """A model whose images or scores a wrapper changes.

    It has the attributes of the model inside, except its name, its fingerprint, its outputs if several views
    are averaged, and the wrappers.

    Attributes:
        passes: forward passes of the model inside for each image.
    """

    def __init__(self, inner: Model, call: WrapperCall) -> None:
        self._wrapper = call.plugin
        self._call = call
        self._settings, fitted = call.plugin.resolved(call.settings, inner)
        self._adopt(inner)
        record = WrapperRecord(call.plugin.name, dict(self._settings), call.plugin.assets())
        self.wrappers = (record, *inner.wrappers)
        self.fitted_images = inner.fitted_images | fitted
        self.fingerprint = wrapped_fingerprint(inner.fingerprint, record)
        self.name = f"{inner.name} + {self._label}"
        self._views_per_image = self._counted_views()
        if self._views_per_image > 1:
            self.outputs = "probabilities"
        self.passes = self._views_per_image * inner.passes

    def _adopt(self, inner: Model) -> None:
        """Take over the attributes of the model inside."""
        self._inner = inner
        for name in Model.__annotations__:
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self.declared_wrappers = ()  # the model inside has them already

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images: adjusted, or averaged over views."""
        views = self._views(batch)
        if self._views_per_image == 1:
            scores, outputs = self._inner.predict(next(views)), self._inner.outputs
        else:
            total = sum(
                as_probabilities(self._inner.predict(view), self._inner.outputs).astype(np.float64)
                for view in views
            )
            scores, outputs = np.asarray(total / self._views_per_image, np.float32), "probabilities"
        return self._wrapper.adjusted(scores, outputs, self._settings)

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same model with other preprocessing, in the same wrapper."""
        return self._around(self._inner.redeclared(preprocess))

    def placed(self, placement: Placement) -> Model:
        """The same model on another device, in the same wrapper."""
        return self._around(self._inner.placed(placement))

    def variant(self, name: str) -> Model:
        """The same model in other arithmetic, in the same wrapper."""
        return self._around(self._inner.variant(name))

    @property
    def unwrapped(self) -> Model:
        """The model without any wrapper."""
        return self._inner.unwrapped

    def _around(self, inner: Model) -> Model:
        """The same wrapper around another form of the model; the fingerprint stays."""
        other = copy.copy(self)
        kept = {name: getattr(self, name) for name in ("name", "fingerprint", "outputs", "wrappers", "passes",
                "fitted_images")}  # fmt: skip
        other._adopt(inner)
        for name, value in kept.items():
            setattr(other, name, value)
        return other

    @property
    def _label(self) -> str:
        """The wrapper as names and reports show it, with the settings that are not the defaults."""
        defaults = self._wrapper.settings({})
        changed = {
            name: value for name, value in self._settings.items() if defaults.get(name, value) != value
        }
        return call_text(self._wrapper.name, changed) + _label_suffix(self.wrappers, self.about.trained_with)

    def _counted_views(self) -> int:
        """The number of views of an image; a third-party wrapper that fails on one is refused."""
        image = probe_images(self.preprocess, 1, self.probe_size)
        try:
            return sum(1 for _ in self._views(image))
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"The wrapper {self._wrapper.name} fails on an image: {type(error).__name__}: "
                f"{first_line(error)}. Change its parameters or correct its code."
            ) from error

    def _views(self, batch: Images) -> Iterator[Images]:
        for view in self._wrapper.views(batch, self._settings):
            if not isinstance(view, np.ndarray) or view.dtype != np.uint8 or view.shape != batch.shape:
                given = f"{view.dtype} {view.shape}" if isinstance(view, np.ndarray) else type(view).__name__
                raise UserError(
                    f"The wrapper {self._wrapper.name} yields {given}; yield uint8 {batch.shape} as in the "
                    "input."
                )
            yield view


def wrap(model: Any, *wrappers: str, preprocess: str | Path | None = None) -> Model:
    """A model in one or several wrappers, the first of which sees the images first.

    Args:
        model: a model as `run` accepts it.
        wrappers: such as `clahe` or `tencrop(keep=0.9)`; `windtunnel list wrappers` lists them.
        preprocess: a preset's name or a TOML file, for a model that is not loaded.
    """
    from windtunnel.models import load_model

    calls = [parse_wrapper(text) for text in wrappers]
    return wrapped_in(load_model(model, preprocess), calls)


def wrapped_in(model: Model, calls: Sequence[WrapperCall]) -> Model:
    """A model in wrappers, the first of which is the outermost."""
    for call in reversed(calls):
        model = WrappedModel(model, call)
    return model


def wrapped_as_declared(model: Model) -> Model:
    """A model in the wrappers of its declaration."""
    return wrapped_in(model, [parse_wrapper(text) for text in model.declared_wrappers])


def files_of(text: str) -> tuple[str, ...]:
    """Texts that may be files: the model of a text, and the text parameters of its wrappers."""
    if Path(text).exists() or SEPARATOR not in text:
        return (text,)
    wrappers, model = split_wrapped(text)
    values = [value for call in map(parse_wrapper, wrappers) for value in call.settings.values()]
    return (model.strip(), *(value for value in values if isinstance(value, str)))


def split_wrapped(text: str) -> tuple[tuple[str, ...], str]:
    """The wrappers and the model of a text: `clahe|tencrop|m.onnx` is (("clahe", "tencrop"), "m.onnx")."""
    *wrappers, model = text.split(SEPARATOR)
    return tuple(wrappers), model


def parse_wrapper(text: str) -> WrapperCall:
    """A wrapper with its parameters: `clahe`, `clahe(clip=3, tiles=4)`."""
    return parse_call(text, REGISTRY)


def describe_wrappers(
    records: Sequence[WrapperRecord], passes: int = 0, trained_with: Sequence[str] = ()
) -> str:
    """Wrappers as short text, the outermost first.

    Args:
        records: the wrappers.
        passes: the number of forward passes, if it is to be stated.
        trained_with: the model's training remedies, as declared.
    """
    texts = [
        call_text(record.name, record.settings) + _label_suffix(records[place:], trained_with)
        for place, record in enumerate(records)
    ]
    cost = f"; {counted(passes, 'forward pass', 'forward passes')} per image" if passes else ""
    return ", ".join(texts) + cost


def _label_suffix(records: Sequence[WrapperRecord], trained_with: Sequence[str]) -> str:
    """Whether the model was trained with the first of some wrappers, if that one changes images; else ""."""
    record, *inner = records
    if record.name not in REGISTRY or not REGISTRY.get(record.name).changes_images:
        return ""
    # Of the same wrapper twice, the model was trained with the inner one.
    trained = record not in inner and any(_is_call(record, text) for text in trained_with)
    return f" ({TRAINED_WITH if trained else TEST_TIME_ONLY})"


def _is_call(record: WrapperRecord, text: str) -> bool:
    """Whether a declared training remedy is the same call as a wrapper; other remedies are no wrappers."""
    if text.partition("(")[0].strip() != record.name:
        return False
    return dict(parse_wrapper(text).settings) == dict(record.settings)
