"""Wrapped models: a model together with a wrapper, written `clahe(clip=3)|model.onnx`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.calls import (
    Call,
    Value,
    call_text,
    parse_call,
    split_chain,
    split_wrapped,
    written_value,
)
from windtunnel.core.errors import UserError, first_line
from windtunnel.core.option_names import option
from windtunnel.core.placement import Placement
from windtunnel.core.records import DEFAULT_TASK, WrapperRecord, wrapped_fingerprint
from windtunnel.core.wording import counted
from windtunnel.models import CONTRADICTED, Model, Scores, finite_rows, probe_images, probe_outputs
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.probabilities import as_probabilities
from windtunnel.models.wrappers import REGISTRY, Images, Wrapper

TEST_TIME_ONLY = "test time only"
TRAINED_WITH = "trained with it"
TRAINED_OTHERWISE = "trained with other settings"
WrapperCall = Call[Wrapper]


class WrappedModel(Model):
    """A model whose images or scores a wrapper changes.

    All attributes but those of `OWN` are those of the base model.

    Attributes:
        passes: forward passes of the base model for each image.
    """

    def __init__(self, base: Model, call: WrapperCall) -> None:
        self._base = base
        self._wrapper = call.plugin
        self._refuse_pointless()
        self._refuse_other_task()
        self.task = DEFAULT_TASK if call.plugin.reads_detections else base.task
        self._settings, fitted = call.plugin.resolved(call.settings, base)
        record = WrapperRecord(
            call.plugin.name, dict(self._settings), call.plugin.assets(), call.plugin.revision
        )
        self.wrappers = (record, *base.wrappers)
        self.fitted_images = base.fitted_images | fitted
        self.fingerprint = wrapped_fingerprint(base.fingerprint, record)
        self.name = f"{base.name} + {self._label}"
        self.outputs, self.outputs_from = base.outputs, base.outputs_from
        self._view_count = self._trial()
        self.passes = self._view_count * base.passes

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images: adjusted, or averaged over views."""
        _check_images(batch)
        if self._wrapper.reads_detections:
            found: Any = self._base.predict(batch)
            return self._wrapper.scores_of(found, self.class_count, self._settings)
        if self.task != DEFAULT_TASK:  # what a detector returns stays as it is
            (view,) = self._views(batch, self._view_count)
            return self._base.predict(view)
        if not len(batch):
            return np.zeros((0, self.class_count), np.float32)
        total = reduce(np.add, self._view_scores(batch))
        return self._adjusted(total if self._view_count == 1 else total / self._view_count)

    def _view_scores(self, batch: NDArray[np.uint8]) -> Iterator[NDArray[np.floating[Any]]]:
        """The scores of every view: as the base model gives them for one, probabilities for several."""
        for view in self._views(batch, self._view_count):
            scores = self._base.predict(view)
            if self._view_count > 1:
                yield as_probabilities(scores, self._base.outputs).astype(np.float64)
            else:
                yield scores

    def redeclared(self, preprocess: Preprocess) -> Model:
        """The same model with other preprocessing, in the same wrapper."""
        return self._around(self._base.redeclared(preprocess))

    def placed(self, placement: Placement) -> Model:
        """The same model on another device, in the same wrapper."""
        return self._around(self._base.placed(placement))

    def variant(self, name: str) -> Model:
        """The same model in other arithmetic, in the same wrapper."""
        return self._around(self._base.variant(name))

    @property
    def unwrapped(self) -> Model:
        """The model without any wrapper."""
        return self._base.unwrapped

    def _around(self, base: Model) -> Model:
        """The same wrapper around another form of the base model; the fingerprint stays."""
        other = copy.copy(self)
        other._base, other.fitting_batch = base, None
        return other

    @property
    def _label(self) -> str:
        """The wrapper as names and reports show it, with the settings that are not the defaults."""
        defaults = self._wrapper.settings({})
        changed = {
            name: _short(value)
            for name, value in self._settings.items()
            if defaults.get(name, value) != value
        }
        return call_text(self._wrapper.name, changed) + _label_suffix(self.wrappers, self.about.trained_with)

    def _refuse_pointless(self) -> None:
        """Refuse a wrapper directly around one that makes it pointless, such as `flip|flip`."""
        inner = self._base.wrappers[0].name if self._base.wrappers else ""
        if inner in self._wrapper.pointless_around:
            raise UserError(
                f"{self._wrapper.name}|{inner} changes nothing that one of them does not; leave one out."
            )

    def _refuse_other_task(self) -> None:
        """Refuse to classify by a classifier, and to change the scores of a detector."""
        wrapper, base = self._wrapper, self._base
        detects = base.task != DEFAULT_TASK
        if wrapper.reads_detections and not detects:
            raise UserError(f"{wrapper.name} makes a classifier of a detector; {base.name} is no detector.")
        if detects and not (wrapper.reads_detections or wrapper.changes_images):
            raise UserError(
                f"{wrapper.name} changes scores of classes, and {base.name} is a detector; write "
                f"{wrapper.name}|classify|MODEL to classify images by its most confident boxes."
            )

    def _trial(self) -> int:
        """The number of views of an image; refuses a wrapper that fails on one, or returns wrong scores."""
        image = probe_images(self.preprocess, 1, self.probe_size)
        try:
            count = sum(1 for _ in self._views(image))
            if not count:
                raise UserError(f"The wrapper {self._wrapper.name} yields no view; yield at least one batch.")
            if count > 1:
                self._refuse_contradicted()
                self.outputs, self.outputs_from = "probabilities", f"averaged over {count} views"
            if type(self._wrapper).adjusted is not Wrapper.adjusted:
                self._adjusted(
                    as_probabilities(self._base.predict(image), self._base.outputs)
                    if count > 1
                    else self._base.predict(image)
                )
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"The wrapper {self._wrapper.name} fails on an image: {type(error).__name__}: "
                f"{first_line(error)}. Change its parameters or correct its code."
            ) from error
        return count

    def _refuse_contradicted(self) -> None:
        """Refuse to average declared logits that are probabilities: their softmax would be averaged."""
        if self._base.outputs_from == CONTRADICTED:
            raise UserError(
                f"{self._base.name} is declared to return logits and returns probabilities, so "
                f"{self._wrapper.name} would average the softmax of probabilities; declare outputs = "
                "'probabilities'."
            )

    def _views(self, batch: Images, expected: int = 0) -> Iterator[Images]:
        """The views of images, checked; refuses another number than `expected`, unless that is 0."""
        given = np.ascontiguousarray(batch)
        protected = given.view()
        protected.flags.writeable = False
        count = 0
        for view in self._wrapper.views(protected, self._settings):
            count += 1
            if expected and count > expected:
                break
            if not isinstance(view, np.ndarray) or view.dtype != np.uint8 or view.shape != batch.shape:
                yields = f"{view.dtype} {view.shape}" if isinstance(view, np.ndarray) else type(view).__name__
                raise UserError(
                    f"The wrapper {self._wrapper.name} yields {yields}; yield uint8 {batch.shape} as in the "
                    "input."
                )
            yield given if view is protected else np.require(view, requirements=["C", "W"])
        if expected and count != expected:
            raise UserError(
                f"The wrapper {self._wrapper.name} yields {'more' if count > expected else count} views of "
                f"some images and {expected} of others; yield the same number for all images."
            )

    def _adjusted(self, averaged: NDArray[np.floating[Any]]) -> Scores:
        """The scores after the wrapper; refuses another shape or type, and impossible probabilities."""
        scores = np.asarray(averaged, np.float32)
        if type(self._wrapper).adjusted is Wrapper.adjusted:
            return scores
        adjusted: Any = self._wrapper.adjusted(scores.copy(), self.outputs, self._settings)
        is_array = isinstance(adjusted, np.ndarray)
        if not is_array or adjusted.dtype != np.float32 or adjusted.shape != scores.shape:
            returned = f"{adjusted.dtype} {adjusted.shape}" if is_array else type(adjusted).__name__
            raise UserError(
                f"The wrapper {self._wrapper.name} returns scores of {returned}; return float32 "
                f"{scores.shape} as given."
            )
        finite = adjusted[finite_rows(scores)]
        if not np.isfinite(finite).all():
            raise UserError(f"The wrapper {self._wrapper.name} returns scores that are not finite.")
        if self.outputs == "probabilities" and len(finite) and probe_outputs(finite) != "probabilities":
            raise UserError(
                f"The wrapper {self._wrapper.name} is given probabilities and returns scores that are none: "
                f"a row sums to {finite.sum(axis=1)[0]:.3f}. Return probabilities."
            )
        result: Scores = adjusted
        return result


# The attributes that a wrapped model has itself; the others are the base model's.
OWN = (
    "name", "fingerprint", "outputs", "outputs_from", "wrappers", "declared_wrappers", "passes",
    "fitted_images", "fitting_batch", "batch_dependent", "task",
)  # fmt: skip
for _name in Model.__annotations__:
    if _name not in OWN:
        setattr(WrappedModel, _name, property(attrgetter(f"_base.{_name}")))


def _check_images(batch: Any) -> None:
    """Refuse anything but uint8 NHWC images."""
    if not isinstance(batch, np.ndarray) or batch.dtype != np.uint8 or batch.ndim != 4 or batch.shape[3] != 3:
        given = f"{batch.dtype} {batch.shape}" if isinstance(batch, np.ndarray) else type(batch).__name__
        raise UserError(f"A wrapped model takes uint8 (images, height, width, 3), and {given} is given.")


def wrap(model: Any, *wrappers: str, preprocess: str | Path | None = None) -> Model:
    """A model in one or several wrappers, the first of which sees the images first.

    Args:
        model: a model as `run` accepts it.
        wrappers: such as `clahe` or `tencrop(keep=0.9)`; `windtunnel list wrappers` lists them.
        preprocess: a preset's name or a TOML file, for a model that is not loaded.
    """
    from windtunnel.models import load_model

    loaded = isinstance(model, Model) or (hasattr(model, "predict") and hasattr(model, "fingerprint"))
    if loaded and preprocess is not None:
        raise UserError(
            f"{model.name} is loaded with its preprocessing, and {option('preprocess')} is given; leave it "
            "out, or load the model with it."
        )
    return wrapped_in(load_model(model, preprocess), parse_wrappers(wrappers))


def wrapped_in(model: Model, calls: Sequence[WrapperCall]) -> Model:
    """A model in wrappers, the first of which is the outermost."""
    for call in reversed(calls):
        model = WrappedModel(model, call)
    return model


def wrapped_as_declared(model: Model) -> Model:
    """A model in the wrappers of its declaration."""
    return wrapped_in(model, parse_wrappers(model.declared_wrappers))


def files_of(text: str) -> tuple[str, ...]:
    """Texts that may be files: of the model of a text, and the paths in the parameters of its wrappers."""
    from windtunnel.models.kinds import kind_of

    wrappers, model = split_wrapped(text)
    kind = kind_of(model)
    paths = [
        str(call.settings[parameter.name])
        for call in parse_wrappers(wrappers)
        for parameter in call.plugin.parameters
        if parameter.path
    ]
    return (*(kind.files(model) if kind else (model,)), *filter(None, paths))


def parse_wrappers(texts: Iterable[str]) -> list[WrapperCall]:
    """Wrappers with their parameters: `clahe`, `clahe(clip=3, tiles=4)`, `clahe|flip`."""
    return [parse_wrapper(call) for text in texts for call in split_chain(text)]


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


def training_notes(model: Model) -> list[str]:
    """Notes on wrappers with which a model was trained, and which are around it otherwise or not at all."""
    notes = []
    for text in model.about.trained_with:
        name = text.partition("(")[0].strip()
        if name not in REGISTRY or not REGISTRY.get(name).changes_images:
            continue
        around = [record for record in model.wrappers if record.name == name]
        if not around:
            notes.append(f"The model was trained with {text} and is run without it; put {text}| before it.")
        elif not any(_is_call(record, text) for record in around):
            given = call_text(name, around[0].settings)
            notes.append(
                f"The model was trained with {text} and is run with {given}; give the same settings."
            )
    return notes


def _short(value: Value) -> Value:
    """A value as names show it: four significant digits of one that needs many, such as a fitted one."""
    return float(f"{value:.4g}") if isinstance(value, float) and len(written_value(value)) > 8 else value


def _label_suffix(records: Sequence[WrapperRecord], trained_with: Sequence[str]) -> str:
    """Whether the model was trained with the first of some wrappers, if that one changes images; else ""."""
    record, *inner = records
    if record.name not in REGISTRY or not REGISTRY.get(record.name).changes_images:
        return ""
    of_name = [text for text in trained_with if text.partition("(")[0].strip() == record.name]
    # Of the same wrapper twice, the model was trained with the inner one.
    if record not in inner and any(_is_call(record, text) for text in of_name):
        return f" ({TRAINED_WITH})"
    return f" ({TRAINED_OTHERWISE if of_name and record not in inner else TEST_TIME_ONLY})"


def _is_call(record: WrapperRecord, text: str) -> bool:
    """Whether a declared training remedy is the same call as a wrapper; other remedies are no wrappers."""
    if text.partition("(")[0].strip() != record.name:
        return False
    return dict(parse_wrapper(text).settings) == dict(record.settings)
