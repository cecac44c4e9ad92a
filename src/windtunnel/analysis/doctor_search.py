"""The doctor's search: arithmetic and label order together, then geometry, then resizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.diagnosis import Diagnosis
from windtunnel.analysis.doctor_bench import NO_PREDICTION, Bench, Predictions, WrongSize
from windtunnel.analysis.doctor_trials import (
    Trial,
    choose,
    images_needed,
    indistinguishable,
    p_value,
    significantly_better,
)
from windtunnel.analysis.plausibility import chance_of, is_near_chance
from windtunnel.analysis.preprocess_grid import (
    DECLARED,
    Order,
    other_geometries,
    other_resizers,
    other_tensors,
    suggested_order,
)
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, Projection
from windtunnel.core.progress import Progress
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset
from windtunnel.models import Model
from windtunnel.models.preprocess import Preprocess

# Every arithmetic is tried on this many images first; those that trail by more are dropped.
SCREEN = 64
TRAILING = 4
# Images per class that are needed to infer the order of the outputs.
IMAGES_PER_CLASS = 8


class Search:
    """All trials of one model on the same images, in three stages."""

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
        self._labels = [image.sample.labels for image in images]
        self._first = np.array([row[0] for row in self._labels], np.int64)
        classes = len(orders[0].outputs)
        enough = IMAGES_PER_CLASS * classes <= len(images) and classes == model.class_count
        # Number of classes if their order can be inferred from the images, else 0.
        self._inferable = classes if enough and not projection.outputs else 0
        self._tensors = other_tensors(model)
        declared = model.preprocess
        kinds = len(other_geometries(declared, sizes=not model.fixed_size)) + len(other_resizers(declared))
        # Every arithmetic is tried with every order of labels.
        self._tried = (1 + len(self._tensors)) * (len(orders) + bool(self._inferable)) - 1 + kinds
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
            for name, preprocess, predicted in zip(names, preprocesses, predictions, strict=True)
            for trial in self._by_order((name,) if name else (), preprocess, predicted)
        ]
        declared = trials[0]
        centre = self._choose(declared, trials[1:])
        similar = indistinguishable(declared, centre, trials[1:], self._tried)
        centre = self._stage(centre, other_geometries(centre.preprocess, sizes=not self._model.fixed_size))
        centre = self._stage(centre, other_resizers(centre.preprocess))
        p = 1.0 if centre is declared else min(1.0, self._tried * p_value(declared, centre))
        runner_up = self._runner_up if centre is declared else None
        undecided = tuple(trial for trial in self._seen if not self._decided(centre, trial))
        wrong = self._model.outputs == "logits" and predictions[0].outputs == "probabilities"
        outputs = "probabilities" if wrong else ""
        return Diagnosis(
            declared=declared,
            best=centre,
            p=p,
            tried=self._tried,
            runner_up=runner_up,
            indistinguishable=similar,
            undecided=undecided,
            outputs=outputs,
            space=self._space,
            remarks=self._remarks,
            warnings=self._chance_warnings(centre),
        )

    def _chance_warnings(self, best: Trial) -> list[str]:
        """A warning if the best trial is still near chance."""
        accepted = best.order.accepted(self._labels)
        judged = np.array([bool(outputs) for outputs in accepted])
        if not judged.any():
            return []
        right = int(best.right[judged].sum())
        with_output = [outputs for outputs in accepted if outputs]
        source, by_chance = chance_of(best.predicted[judged], with_output, self._model.class_count)
        if not is_near_chance(right, by_chance):
            return []
        return [
            f"Accuracy is still at chance: {right:,} of {len(with_output):,} predictions are correct, and "
            f"{source} {by_chance.sum():,.1f} on average. The labels or the model are wrong in a way that "
            "was not tried: labels of other images, other classes, or other weights. Compare some images "
            "with their labels, and load the model as it was trained."
        ]

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
        return [name for name, right in zip(self._tensors, best[1:], strict=True) if right >= least]

    def _decided(self, centre: Trial, other: Trial) -> bool:
        """Whether a trial is identical to the centre on these images, or significantly better or worse."""
        if np.array_equal(centre.right, other.right):
            return True
        return significantly_better(centre, other, self._tried) or significantly_better(
            other, centre, self._tried
        )

    def _stage(self, centre: Trial, others: Mapping[str, Preprocess]) -> Trial:
        """The best of other geometries or resizers, or the centre if none is significantly better."""
        trials = []
        for name, preprocess in others.items():
            try:
                (predictions,) = self._bench.predictions([preprocess])
            except WrongSize as error:
                self._remarks.append(f"Not tried: {name}, which the model does not accept ({error}).")
                continue
            trials.append(self._trial((*centre.changed, name), preprocess, centre.order, predictions))
        self._seen += trials
        return self._choose(centre, trials)

    def _choose(self, centre: Trial, trials: Sequence[Trial]) -> Trial:
        chosen = choose(centre, trials, self._tried)
        best = max(trials, key=lambda trial: trial.right.sum(), default=centre)
        previous = self._runner_up or centre
        if chosen is centre and best.right.sum() > max(previous.right.sum(), centre.right.sum()):
            self._runner_up = best
        return chosen

    def _by_order(
        self, changed: tuple[str, ...], preprocess: Preprocess, predictions: Predictions
    ) -> list[Trial]:
        """Trials of the same predictions with every label order."""
        return [
            self._trial(
                changed if order.name == DECLARED else (*changed, order.name), preprocess, order, predictions
            )
            for order in self._orders_with(predictions.chosen)
        ]

    def _trial(
        self, changed: tuple[str, ...], preprocess: Preprocess, order: Order, predictions: Predictions
    ) -> Trial:
        right = order.right(predictions.chosen, self._labels)
        sure = self._log_probabilities(predictions, order)
        return Trial(changed, preprocess, order, right, sure, predictions.chosen)

    def _orders_with(self, chosen: NDArray[np.int64]) -> list[Order]:
        """All label orders to try, including the one that the predictions suggest."""
        if not self._inferable:
            return self._orders
        return [*self._orders, suggested_order(chosen, self._first[: len(chosen)], self._inferable)]

    def _log_probabilities(self, predictions: Predictions, order: Order) -> NDArray[np.float32] | None:
        if predictions.log_probabilities is None or order not in self._orders:
            return None
        return predictions.log_probabilities[:, self._orders.index(order)]

    def _untried(self) -> list[str]:
        """Notes on what is not tried for this model on these images, and why."""
        notes = []
        if self._model.own_arithmetic:
            notes.append("The model normalises its input itself: only geometry and label order were tried.")
        elif not self._tensors:
            notes.append("The model takes unscaled grey values: there is no other arithmetic to try.")
        classes = len(self._orders[0].outputs)
        if len(self._orders) > 1 and not self._inferable and classes == self._model.class_count:
            needed = IMAGES_PER_CLASS * classes
            notes.append(
                f"Not tried: the label order that the images suggest; {counted(classes, 'class', 'classes')} "
                f"need {needed:,} images, and {len(self._labels):,} are used."
            )
        return notes

    def _step(self, images: int) -> None:
        self._progress(images, self._ahead)
