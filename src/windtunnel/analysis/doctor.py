"""The doctor: is a model's declared preprocessing correct, or is it clearly more accurate with another?

One thing is changed at a time (arithmetic and label order together, then geometry, then resizer), on the same
images; `analysis/doctor_trials.py` defines when a change is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.doctor_bench import NO_PREDICTION, Bench, Predictions, WrongSize, usable
from windtunnel.analysis.doctor_trials import (
    Trial,
    choose,
    gain,
    images_needed,
    not_told_apart,
    p_value,
    surely_better,
    test_name,
)
from windtunnel.analysis.label_order_warnings import label_order_warnings
from windtunnel.analysis.preprocess_grid import (
    DECLARED,
    Order,
    label_orders,
    orders_not_tried,
    other_geometries,
    other_resizers,
    other_tensors,
    suggested_order,
)
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, Projection
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, group_sizes, one_per_group, require_column, stratified_subset
from windtunnel.data.frame_sets import ONE_VIDEO, video_column
from windtunnel.data.label_maps import read_map, without_images
from windtunnel.data.survey import survey
from windtunnel.engine.worker_processes import opencv_on_one_thread
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model
from windtunnel.models.preprocess import Preprocess
from windtunnel.stats.intervals import wilson
from windtunnel.tasks.classification.data_labels import data_space
from windtunnel.tasks.classification.label_mapping import map_labels
from windtunnel.tasks.classification.natural_labels import map_natural_classes

IMAGES = 200
# Every arithmetic is tried on this many images first; those that trail by more are dropped.
SCREEN = 64
TRAILING = 4
# Images per class that are needed to infer the order of the outputs.
IMAGES_PER_CLASS = 8


@dataclass(frozen=True)
class Diagnosis:
    """The doctor's diagnosis.

    Attributes:
        declared: the trial of the declared preprocessing.
        best: the last trial that was significantly better; the declared one if none was.
        p: p-value of best against declared, times the number tried.
        tried: number of changes that were or might have been tried.
        runner_up: the best trial that is better, but not significantly; None if there is none.
        not_told_apart: other arithmetics and label orders that are significantly better than the declared
            one and not significantly worse than the one accepted.
        undecided: geometries and resizers that are neither significantly better nor worse than `best`.
        outputs: the kind of the outputs, if it is not the declared one.
        space: the data's classes, with class indices resolved to ImageNet-1k if that is known.
        remarks: notes on what was not tried, and on the images used.
        warnings: checks to make before another label order is written.
    """

    declared: Trial
    best: Trial
    p: float
    tried: int
    runner_up: Trial | None
    not_told_apart: tuple[Trial, ...]
    undecided: tuple[Trial, ...]
    outputs: str
    space: LabelSpace
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether the declared preprocessing, label order or kind of outputs is wrong."""
        return self.best is not self.declared or bool(self.outputs)

    @property
    def test(self) -> str:
        """The name of the test of `p`."""
        return test_name(self.declared, self.best)

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as a JSON object; gains are relative to `best`, and best's relative to `declared`."""
        return {
            "found": self.found,
            "images": len(self.declared.right),
            "tried": self.tried,
            "p": self.p,
            "test": self.test,
            "declared": _trial_json(self.declared, self.best),
            "best": _trial_json(self.best, self.declared),
            "runner_up": _trial_json(self.runner_up, self.best) if self.runner_up else None,
            "not_told_apart": [_trial_json(one, self.best) for one in self.not_told_apart],
            "undecided": [_trial_json(one, self.best) for one in self.undecided],
            "outputs": self.outputs,
            "remarks": self.remarks,
            "warnings": self.warnings,
        }


def _trial_json(trial: Trial, reference: Trial) -> dict[str, Any]:
    low, high = wilson(int(trial.right.sum()), len(trial.right))
    return {
        "changed": list(trial.changed),
        "accuracy": trial.accuracy,
        "low": low,
        "high": high,
        "gain": dict(zip(("value", "low", "high"), gain(reference, trial), strict=True)),
        "labels": trial.order.name,
        "geometry": asdict(trial.preprocess.geometry),
        "tensor": asdict(trial.preprocess.tensor),
    }


def diagnose(
    model: Model,
    dataset: Dataset,
    *,
    images: int = IMAGES,
    seed: int = 0,
    labels_are_outputs: bool = False,
    labels: str | None = None,
    label_map: str | Path | None = None,
    group: str = "",
    progress: Progress = silent,
) -> Diagnosis:
    """Try other preprocessing on labelled images and report if one is significantly better than declared.

    Args:
        model: the model with its declaration.
        dataset: labelled images.
        images: number of images to use, stratified by class; 0 for all.
        seed: seed of the choice of images.
        labels_are_outputs: trust the data's class indices although the model has more outputs.
        labels: meaning of the data's class indices, as for `run`: `imagenet-1k` or `indices`.
        label_map: CSV file with the columns output,class, as for `run`; other orders are then not tried.
        group: a column of the data's table; one image of each group (a patient) is used, because the tests
            treat images as independent. Of the frames of a video, one is always used.
        progress: counts predicted images.
    """
    samples = [sample for sample in sorted(dataset.samples(), key=lambda one: one.id) if sample.labels]
    if not samples:
        raise UserError(f"{dataset.location} has no labels; give labelled images, which the doctor needs.")
    used = sorted({label for sample in samples for label in sample.labels})
    space, remarks = data_space(
        dataset, samples, model, labels, mapped=label_map is not None, trust=labels_are_outputs
    )
    orders, projection, told = _reading(model, dataset, space, used, label_map, labels_are_outputs)
    remarks += told
    chosen, notes = _independent(samples, group, images, seed, dataset.location)
    remarks += notes
    declared = model.preprocess
    if declared.geometry.output_px is None:
        raise UserError(f"{model.name} declares no input size; give rule and crop_px under [geometry].")
    others = other_geometries(declared, sizes=_takes_sizes(model)).values()
    with pillow_quiet(), opencv_on_one_thread():
        geometries = [one.geometry for one in (declared, *others)]
        kept, left_out = usable(dataset, survey(dataset, chosen), geometries)
        if not kept:
            raise UserError(
                f"None of the {len(chosen)} images of {dataset.location} can be read ({left_out[0]})."
            )
        if left_out:
            remarks.append(
                f"{len(left_out)} of {len(chosen)} images are left out of every trial ({left_out[0]}"
                f"{' ...' if len(left_out) > 1 else ''})."
            )
        found = _Search(model, dataset, space, _mixed(kept), orders, projection, remarks, progress).run()
    order = found.best.order.name
    if order not in found.best.changed:
        return found
    return replace(found, warnings=label_order_warnings(order, dataset.label_space, space, model.classes))


def _independent(
    samples: Sequence[Sample], group: str, images: int, seed: int, location: str
) -> tuple[list[Sample], list[str]]:
    """The images to use, one of each group (by the user's column, or by video), and notes on the choice."""
    if group:
        require_column(samples, group)
    column = group or video_column(samples)
    sizes = group_sizes(samples, column)
    groups = len(sizes) + len(samples) - sizes.total()
    if groups == 1 < len(samples):
        if group:
            raise UserError(
                f"All images of {location} have the same {group}; the doctor uses one image per group and "
                "needs at least two groups."
            )
        return stratified_subset(samples, images, seed), [ONE_VIDEO]
    if groups == len(samples):
        return stratified_subset(samples, images, seed), []
    chosen = stratified_subset(one_per_group(samples, column, seed), images, seed)
    note = (
        f"{len(chosen):,} images are used, one of each {column}: the data has {len(samples):,} images in "
        f"{groups:,} groups."
    )
    return chosen, [note]


def _reading(
    model: Model,
    dataset: Dataset,
    space: LabelSpace,
    used: Sequence[int],
    label_map: str | Path | None,
    trust: bool,
) -> tuple[list[Order], Projection, list[str]]:
    """Label orders to try, the declared one first; the projection of outputs to classes; notes on both."""
    own = tuple(range(len(space)))
    if label_map is not None:
        wider, found = read_map(Path(label_map), space, used, model.classes, model.class_count)
        lines = [
            "Outputs are mapped to classes by the label map. Not tried: other label orders.",
            *without_images(space, wider),
        ]
        return [Order(DECLARED, own)], found, lines
    if rules := dataset.counting_rules:
        outputs, found = map_natural_classes(rules, space, model)
        note = f"Predictions are counted as in a run over {rules.title}. Not tried: other label orders."
        return [Order(DECLARED, outputs)], found, [note]
    not_tried = orders_not_tried(space, model.class_count)
    lines = [f"Not tried: {not_tried}."] if not_tried else []
    if model.class_count == len(space) + 1 and not model.classes:
        # The extra output is not declared: networks with a background class have it first.
        note = (
            f"The model has {model.class_count} outputs for {len(space)} classes and declares no labels: "
            "the first or the last output is assumed to be no class."
        )
        return label_orders(space, own, model.class_count), Projection(), [note, *lines]
    declared = map_labels(space, used, model, trust=trust)
    return label_orders(space, declared, model.class_count), Projection(), lines


def _mixed(images: Sequence[Surveyed]) -> list[Surveyed]:
    """The images shuffled, so that the first ones are not all of one class."""
    return sorted(images, key=lambda one: one.content)


def _takes_sizes(model: Model) -> bool:
    return not model.fixed_size


class _Search:
    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        space: LabelSpace,
        images: Sequence[Surveyed],
        orders: list[Order],
        projection: Projection,
        remarks: list[str],
        progress: Progress,
    ) -> None:
        self._bench = Bench(model, dataset, images, orders, projection, self._step)
        self._orders = orders
        self._space = space
        self._model = model
        self._labels = [one.sample.labels for one in images]
        self._first = np.array([row[0] for row in self._labels], np.int64)
        classes = len(orders[0].outputs)
        enough = IMAGES_PER_CLASS * classes <= len(images) and classes == model.class_count
        self._fits = classes if enough and not projection.outputs else 0
        self._tensors = other_tensors(model)
        declared = model.preprocess
        self._sizes = _takes_sizes(model)
        kinds = len(other_geometries(declared, sizes=self._sizes)) + len(other_resizers(declared))
        # Every arithmetic is tried with every order of labels.
        self._tried = (1 + len(self._tensors)) * (len(orders) + bool(self._fits)) - 1 + kinds
        needed = images_needed(self._tried)
        if len(images) < needed:
            raise UserError(
                f"{len(images)} images are too few to compare {self._tried} alternatives; "
                f"give {needed} or more."
            )
        self._ahead = (1 + kinds) * len(images) + (1 + len(self._tensors)) * min(SCREEN, len(images))
        self._progress = progress
        self._runner_up: Trial | None = None
        self._seen: list[Trial] = []
        self._remarks = remarks + self._untried()

    def run(self) -> Diagnosis:
        """Run all three stages: arithmetic and label order, geometry, resizer."""
        names = ["", *self._promising()]
        preprocesses = [self._tensors.get(name, self._model.preprocess) for name in names]
        self._ahead += (len(names) - 1) * len(self._labels)
        predictions = self._bench.predictions(preprocesses)
        if lost := int((predictions[0].chosen == NO_PREDICTION).sum()):
            self._remarks.append(
                f"As declared, {counted(lost, 'prediction is', 'predictions are')} not finite and counted as "
                "wrong."
            )
        trials = [
            trial
            for name, preprocess, found in zip(names, preprocesses, predictions, strict=True)
            for trial in self._by_order((name,) if name else (), preprocess, found)
        ]
        declared = trials[0]
        centre = self._choose(declared, trials[1:])
        alike = not_told_apart(declared, centre, trials[1:], self._tried)
        centre = self._stage(centre, other_geometries(centre.preprocess, sizes=self._sizes))
        centre = self._stage(centre, other_resizers(centre.preprocess))
        p = 1.0 if centre is declared else min(1.0, self._tried * p_value(declared, centre))
        runner_up = self._runner_up if centre is declared else None
        undecided = tuple(one for one in self._seen if not self._told_apart(centre, one))
        wrong = self._model.outputs == "logits" and predictions[0].outputs == "probabilities"
        outputs = "probabilities" if wrong else ""
        return Diagnosis(
            declared, centre, p, self._tried, runner_up, alike, undecided, outputs, self._space, self._remarks
        )

    def _promising(self) -> list[str]:
        """Names of the arithmetics that do not trail on the first images."""
        if not self._tensors:
            return []
        preprocesses = [self._model.preprocess, *self._tensors.values()]
        best = [
            max(int(order.right(chosen, self._labels).sum()) for order in self._orders_with(chosen))
            for chosen in self._bench.choices(preprocesses, SCREEN)
        ]
        least = max(best) - TRAILING
        return [name for name, found in zip(self._tensors, best[1:], strict=True) if found >= least]

    def _told_apart(self, centre: Trial, other: Trial) -> bool:
        """Whether a trial is identical to the centre on these images, or significantly better or worse."""
        if np.array_equal(centre.right, other.right):
            return True
        return surely_better(centre, other, self._tried) or surely_better(other, centre, self._tried)

    def _stage(self, centre: Trial, others: Mapping[str, Preprocess]) -> Trial:
        trials = []
        for name, preprocess in others.items():
            try:
                (found,) = self._bench.predictions([preprocess])
            except WrongSize as error:
                self._remarks.append(f"Not tried: {name}, which the model does not accept ({error}).")
                continue
            right = centre.order.right(found.chosen, self._labels)
            sure = self._sure(found, centre.order)
            trials.append(Trial((*centre.changed, name), preprocess, centre.order, right, sure))
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
        self, changed: tuple[str, ...], preprocess: Preprocess, predictions: Predictions
    ) -> list[Trial]:
        """Trials of the same predictions with every label order."""
        return [
            Trial(
                changed if order.name == DECLARED else (*changed, order.name),
                preprocess,
                order,
                order.right(predictions.chosen, self._labels),
                self._sure(predictions, order),
            )
            for order in self._orders_with(predictions.chosen)
        ]

    def _orders_with(self, chosen: NDArray[np.int64]) -> list[Order]:
        """All label orders to try, including the one that the predictions suggest."""
        if not self._fits:
            return self._orders
        return [*self._orders, suggested_order(chosen, self._first[: len(chosen)], self._fits)]

    def _sure(self, predictions: Predictions, order: Order) -> NDArray[np.float32] | None:
        if predictions.sure is None or order not in self._orders:
            return None
        return predictions.sure[:, self._orders.index(order)]

    def _untried(self) -> list[str]:
        """Notes on what is not tried for this model on these images, and why."""
        found = []
        if self._model.own_arithmetic:
            found.append("The model normalises its input itself: only geometry and label order were tried.")
        elif not self._tensors:
            found.append("The model takes unscaled grey values: there is no other arithmetic to try.")
        classes = len(self._orders[0].outputs)
        if len(self._orders) > 1 and not self._fits and classes == self._model.class_count:
            needed = IMAGES_PER_CLASS * classes
            found.append(
                f"Not tried: the label order that the images suggest; {counted(classes, 'class', 'classes')} "
                f"need {needed:,} images, and {len(self._labels):,} are used."
            )
        return found

    def _step(self, images: int) -> None:
        self._progress(images, self._ahead)
