"""The doctor: is a model's declared preprocess the right one, or does another make it see much better?

One thing is changed at a time (arithmetic and label order together, then geometry, then resizer), on the same
pictures. A change is taken only if McNemar's test, its p multiplied by the number of all changes that may be
tried, stays under 5 %: a right declaration is then doubted in at most one of twenty data sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.preprocess_grid import (
    DECLARED,
    Order,
    fitted_order,
    label_orders,
    other_geometries,
    other_resizers,
    other_tensors,
)
from windtunnel.data import Dataset, stratified_subset
from windtunnel.data.survey import Surveyed, survey
from windtunnel.engine.local import opencv_on_one_thread
from windtunnel.engine.pictures import Source
from windtunnel.engine.plan import map_labels
from windtunnel.errors import PictureError, UserError
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model, probe_outputs
from windtunnel.models.preprocess import Preprocess
from windtunnel.stats.intervals import wilson
from windtunnel.stats.paired import mcnemar

PICTURES = 200
# Every arithmetic is tried on so many pictures first; those that trail by more go no further.
SCREEN = 64
TRAILING = 4
ALPHA = 0.05
# Fewer pictures per class than this cannot tell in which order the outputs stand.
PICTURES_PER_CLASS = 8

Right = NDArray[np.bool_]


@dataclass(frozen=True)
class Trial:
    """A preprocess and label order, and the pictures it is right on; `changed` says what is other."""

    changed: tuple[str, ...]
    preprocess: Preprocess
    order: Order
    right: Right

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float(self.right.mean())


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found.

    Attributes:
        declared: the trial of what is declared.
        best: the last trial that was surely better; the declared one where none was.
        p: of best against declared, McNemar's mid-p times the number tried.
        tried: how many changes were or might have been tried.
        runner_up: the best trial that is not surely better, if it is better at all.
        undecided: geometries and resizers that are neither surely better nor surely worse than `best`.
        outputs: what the outputs are, if they are not what was declared.
        remarks: what could not be tried.
    """

    declared: Trial
    best: Trial
    p: float
    tried: int
    runner_up: Trial | None
    undecided: tuple[Trial, ...]
    outputs: str
    remarks: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether something is wrong."""
        return self.best is not self.declared or bool(self.outputs)

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as JSON keeps it."""
        return {
            "found": self.found,
            "pictures": len(self.declared.right),
            "tried": self.tried,
            "p": self.p,
            "declared": _trial_json(self.declared),
            "best": _trial_json(self.best),
            "runner_up": _trial_json(self.runner_up) if self.runner_up else None,
            "undecided": [_trial_json(one) for one in self.undecided],
            "outputs": self.outputs,
            "remarks": self.remarks,
        }


def _trial_json(trial: Trial) -> dict[str, Any]:
    low, high = wilson(int(trial.right.sum()), len(trial.right))
    return {
        "changed": list(trial.changed),
        "accuracy": trial.accuracy,
        "low": low,
        "high": high,
        "labels": trial.order.name,
        "geometry": asdict(trial.preprocess.geometry),
        "tensor": asdict(trial.preprocess.tensor),
    }


class Bench:
    """The doctor's pictures: decoded once per geometry, shown to the model by any preprocess."""

    def __init__(self, model: Model, dataset: Dataset, pictures: Sequence[Surveyed]) -> None:
        self._model = model
        self._dataset = dataset
        self.pictures = list(pictures)
        self._canvases: tuple[Geometry, NDArray[np.uint8]] | None = None

    def scores(self, preprocess: Preprocess, count: int | None = None) -> NDArray[np.float32]:
        """What the model says of the first so many pictures, or of all."""
        model = redeclared(self._model, preprocess)
        canvases = self._of(preprocess.geometry)[:count]
        batches = range(0, len(canvases), model.batch)
        return np.concatenate([model.predict(canvases[start : start + model.batch]) for start in batches])

    def keep_readable(self, geometry: Geometry) -> None:
        """Leave out pictures that cannot become canvases."""
        self.pictures = [one for one in self.pictures if self._canvas(one, geometry) is not None]

    def _of(self, geometry: Geometry) -> NDArray[np.uint8]:
        if self._canvases is None or self._canvases[0] != geometry:
            made = [self._canvas(one, geometry) for one in self.pictures]
            if any(one is None for one in made):
                raise PictureError("unreadable", "a picture cannot be made this way")
            self._canvases = geometry, np.stack([one for one in made if one is not None])
        return self._canvases[1]

    def _canvas(self, picture: Surveyed, geometry: Geometry) -> NDArray[np.uint8] | None:
        return Source(self._dataset, picture).canvas(geometry)


def redeclared(model: Model, preprocess: Preprocess) -> Model:
    """The same model behind another preprocess; a callable of the user's does its own arithmetic."""
    change: Callable[[Preprocess], Model] | None = getattr(model, "redeclared", None)
    return change(preprocess) if change else model


def diagnose(
    model: Model,
    dataset: Dataset,
    *,
    pictures: int = PICTURES,
    seed: int = 0,
    labels_are_outputs: bool = False,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diagnosis:
    """Try other preprocesses on labelled pictures and say whether one is surely better than the declared.

    Args:
        model: the model, with what is declared of it.
        dataset: labelled pictures.
        pictures: how many to use, each class in proportion; 0 for all.
        seed: of the choice of pictures.
        labels_are_outputs: trust the data's class indices although the model has more outputs.
        advance: told of trials done, of how many.
    """
    samples = [sample for sample in sorted(dataset.samples(), key=lambda one: one.id) if sample.labels]
    if not samples:
        raise UserError(f"{dataset.location} has no labels; the doctor needs labelled pictures.")
    used = sorted({label for sample in samples for label in sample.labels})
    declared_map = map_labels(dataset.label_space, used, model, trust=labels_are_outputs)
    chosen = stratified_subset(samples, pictures, seed)
    if model.preprocess.geometry.output_px is None:
        raise UserError(f"{model.name} declares no input size; give rule and crop_px under [geometry].")
    with pillow_quiet(), opencv_on_one_thread():
        # Shuffled as ids are not: the first pictures must not be all of one class.
        bench = Bench(model, dataset, _mixed([one for one in survey(dataset, chosen) if one.status == "ok"]))
        bench.keep_readable(model.preprocess.geometry)
        if not bench.pictures:
            raise UserError(f"None of the {len(chosen)} pictures of {dataset.location} can be read.")
        orders = label_orders(dataset.label_space, declared_map, model.class_count)
        return _Search(model, bench, orders, advance).run()


def _mixed(pictures: Sequence[Surveyed]) -> list[Surveyed]:
    return sorted(pictures, key=lambda one: one.content)


class _Search:
    def __init__(
        self, model: Model, bench: Bench, orders: list[Order], advance: Callable[[int, int], None]
    ) -> None:
        self._bench = bench
        self._orders = orders
        self._model = model
        labels = [one.sample.labels for one in bench.pictures]
        self._labels = labels
        self._first = np.array([row[0] for row in labels], np.int64)
        classes = len(orders[0].outputs)
        enough = PICTURES_PER_CLASS * classes <= len(labels) and classes == model.class_count
        self._fits = classes if enough else 0
        self._tensors = other_tensors(model)
        self._sizes = not getattr(model, "fixed_size", False)
        self._done = 0
        declared = model.preprocess
        kinds = len(other_geometries(declared, sizes=self._sizes)) + len(other_resizers(declared))
        self._trials = 1 + len(self._tensors) + kinds
        # Every arithmetic is tried with every order of labels.
        self._tried = (1 + len(self._tensors)) * (len(orders) + bool(self._fits)) - 1 + kinds
        self._advance = advance
        self._runner_up: Trial | None = None
        self._seen: list[Trial] = []

    def run(self) -> Diagnosis:
        """All three stages."""
        scores = self._bench.scores(self._model.preprocess)
        trials = self._by_order((), self._model.preprocess, scores)
        declared = trials[0]
        screen = max(int(trial.right[:SCREEN].sum()) for trial in trials)
        for name, preprocess in self._tensors.items():
            self._step()
            first = self._by_order((name,), preprocess, self._bench.scores(preprocess, SCREEN))
            best = max(int(trial.right.sum()) for trial in first)
            if best >= screen - TRAILING:
                screen = max(screen, best)
                trials += self._by_order((name,), preprocess, self._bench.scores(preprocess))
        centre = self._choose(declared, trials)
        centre = self._stage(centre, other_geometries(centre.preprocess, sizes=self._sizes))
        centre = self._stage(centre, other_resizers(centre.preprocess))
        p = 1.0 if centre is declared else min(1.0, self._tried * p_value(declared, centre))
        runner_up = self._runner_up if centre is declared else None
        undecided = tuple(one for one in self._seen if not self._told_apart(centre, one))
        return Diagnosis(
            declared, centre, p, self._tried, runner_up, undecided, self._outputs(scores), self._remarks()
        )

    def _told_apart(self, centre: Trial, other: Trial) -> bool:
        """Whether a trial is the centre itself to these pictures, or surely better or worse."""
        same = np.array_equal(centre.right, other.right)
        return bool(same or self._tried * p_value(centre, other) < ALPHA)

    def _stage(self, centre: Trial, others: Mapping[str, Preprocess]) -> Trial:
        trials = []
        for name, preprocess in others.items():
            self._step()
            try:
                scores = self._bench.scores(preprocess)
            except Exception:  # a size the network does not take, a picture that cannot be made
                continue
            right = self._right(scores.argmax(axis=1), centre.order)
            trials.append(Trial((*centre.changed, name), preprocess, centre.order, right))
        self._seen += trials
        return self._choose(centre, trials)

    def _choose(self, centre: Trial, trials: Sequence[Trial]) -> Trial:
        chosen = choose(centre, trials, self._tried)
        best = max(trials, key=lambda one: one.right.sum(), default=centre)
        bar = self._runner_up or centre
        if chosen is centre and best.right.sum() > max(bar.right.sum(), centre.right.sum()):
            self._runner_up = best
        return chosen

    def _by_order(
        self, changed: tuple[str, ...], preprocess: Preprocess, scores: NDArray[np.float32]
    ) -> list[Trial]:
        """The same answers read by every order of labels."""
        chosen = scores.argmax(axis=1)
        found = [
            Trial(
                changed if order.name == DECLARED else (*changed, order.name),
                preprocess,
                order,
                self._right(chosen, order),
            )
            for order in self._orders
        ]
        return [*found, self._fitted(changed, preprocess, chosen)] if self._fits else found

    def _fitted(self, changed: tuple[str, ...], preprocess: Preprocess, chosen: NDArray[np.int64]) -> Trial:
        """The order the pictures themselves suggest: each half is judged by the order of the other."""
        labels, half = self._first[: len(chosen)], np.arange(len(chosen)) % 2 == 0
        right = np.zeros(len(chosen), bool)
        for part in (half, ~half):
            outputs = fitted_order(chosen[~part], labels[~part], self._fits)
            right[part] = outputs[labels[part]] == chosen[part]
        order = Order("outputs in the order these pictures suggest",
                      tuple(map(int, fitted_order(chosen, labels, self._fits))))  # fmt: skip
        return Trial((*changed, order.name), preprocess, order, right)

    def _right(self, chosen: NDArray[np.int64], order: Order) -> Right:
        return np.array(
            [any(order.outputs[label] == answer for label in labels)
             for answer, labels in zip(chosen, self._labels, strict=False)]
        )  # fmt: skip

    def _outputs(self, scores: NDArray[np.float32]) -> str:
        """What the outputs really are, where something else is declared."""
        really = probe_outputs(scores)
        return really if self._model.outputs == "logits" and really == "probabilities" else ""

    def _remarks(self) -> list[str]:
        if self._model.kind != "callable":
            return []
        return ["The model does its own arithmetic: only geometry and label order were tried."]

    def _step(self) -> None:
        self._done += 1
        self._advance(1, self._trials)


def choose(centre: Trial, trials: Sequence[Trial], tried: int) -> Trial:
    """The simplest trial that is surely better than the centre and not surely worse than the best; or it.

    `tried` is how many changes might be tried in all, by which every p is multiplied.
    """
    better = [one for one in trials if one.right.sum() > centre.right.sum()]
    better.sort(key=lambda one: -int(one.right.sum()))
    near = [one for one in better if tried * p_value(one, better[0]) >= ALPHA]
    for trial in sorted(near, key=lambda one: len(one.changed)):
        if tried * p_value(centre, trial) < ALPHA:
            return trial
    return centre


def least_sure_gain(centre: Trial, other: Trial, tried: int) -> float:
    """How much better the other would have to be to be sure, differing on as many pictures; inf if never."""
    differing = int((centre.right != other.right).sum())
    for broken in range(differing // 2, -1, -1):
        if tried * mcnemar(broken, differing - broken) < ALPHA:
            return (differing - 2 * broken) / len(centre.right)
    return float("inf")


def p_value(before: Trial, after: Trial) -> float:
    """McNemar's mid-p of two trials."""
    broken, mended = int((before.right & ~after.right).sum()), int((after.right & ~before.right).sum())
    return mcnemar(broken, mended)
