"""A run's predictions as matrices: a row for every complete image, a column for every condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.metrics import Missing, NotMeasurable
from windtunnel.core.wording import counted
from windtunnel.metrics.complete_images import CompleteImages, Unscored, check_finished, failed_images
from windtunnel.tasks.classification import classification
from windtunnel.tasks.classification.summary import TOP

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def _tied(values: pa.Array, places: int) -> pa.Array:
    """Whether two neighbours among this many best scores are equal."""
    best = [pc.list_element(values, place) for place in range(places)]
    return reduce(pc.or_, (pc.equal(*two).fill_null(False) for two in pairwise(best)))


# Columns read from the store: name here, name in the store, and conversion.
READ: dict[str, tuple[str, Callable[[pa.Array], pa.Array]]] = {
    "ok": ("status", lambda values: pc.is_in(values, pa.array(classification.predicted))),
    "rank": ("label_rank", lambda values: values.fill_null(-1)),
    "chosen": ("top", lambda values: pc.list_element(values, 0).fill_null(-1)),
    "best_score": ("top_score", lambda values: pc.list_element(values, 0)),
    "tied": ("top_score", partial(_tied, places=2)),
    "label_score": ("label_score", lambda values: values),
    "logsumexp": ("logsumexp", lambda values: values),
    "sum_p2": ("sum_p2", lambda values: values),
}
# Further columns of runs that swap pipeline steps.
READ_OF_STEPS: dict[str, tuple[str, Callable[[pa.Array], pa.Array]]] = {
    "pixel_change": ("pixel_change", lambda values: values),
    "pixel_change_max": ("pixel_change_max", lambda values: values),
}
# Further columns of runs of sequences, whose distances depend on the top five classes.
READ_OF_FRAMES: dict[str, tuple[str, Callable[[pa.Array], pa.Array]]] = {
    "tied_frames": ("top_score", partial(_tied, places=TOP)),
}
# Predictions converted at a time: converting shard by shard would take longer than reading.
BLOCK = 50_000


class Observed(CompleteImages):
    """The predictions of a finished run, read in one pass because opening shards is slow.

    Images without a label are excluded, unless they belong to an OOD part, which has no labels. `Run.clips`
    has the sequences.

    Attributes:
        with_unlabelled: the predictions on all complete images, for runs that swap pipeline steps and have
            no labels: used by metrics of changed predictions. Otherwise this object itself.
        tie_share: share of predictions decided by class order: the two best scores are equal, or, in a frame
            of a sequence, two neighbours among the five best.
    """

    def __init__(self, run: ScoredRun) -> None:
        self._run = run
        self._ids = np.array(run.samples["id"].to_pylist(), object)
        single = [not condition.is_sequence for condition in run.conditions]
        self.conditions = tuple(condition.name for condition in run.conditions if not condition.is_sequence)
        # Positions of their rows among an image's rows; the rest are frames of sequences.
        frames = [condition.frames for condition in run.conditions]
        of_images = np.repeat(single, frames)
        self._views = np.repeat([condition.name for condition in run.conditions], frames)
        self.unscored: list[Unscored] = []
        read = READ | (READ_OF_STEPS if run.pipeline_steps else {}) | ({} if all(single) else READ_OF_FRAMES)
        wanted = list(dict.fromkeys(["reason", *(column for column, _ in read.values())]))
        parts: dict[str, list[NDArray[Any]]] = {}
        complete, labelled = [np.empty(0, np.bool_)], [np.empty(0, np.bool_)]
        images = ties = predicted = 0
        for table in _blocks(run.shards(wanted)):
            flat = {name: table[name].combine_chunks() for name in wanted}
            block = {
                name: convert(flat[column]).to_numpy(zero_copy_only=False).reshape(-1, run.views)
                for name, (column, convert) in read.items()
            }
            ok, tied = block.pop("ok"), block.pop("tied")
            tied = np.where(of_images, tied, block.pop("tied_frames", tied))
            self.unscored += failed_images(
                ok, flat["status"], flat["reason"], self._ids[images:], self._views
            )
            complete.append(ok.all(axis=1))
            labelled.append((block["rank"] >= 0).all(axis=1))
            images, ties, predicted = (
                images + len(ok),
                ties + int(tied[ok].sum()),
                predicted + int(ok.sum()),
            )
            for name, values in block.items():
                # For 50,000 images the columns of all frames would take a gigabyte.
                parts.setdefault(name, []).append(values if all(single) else values[:, of_images])
        check_finished(run, images)
        self.tie_share: float = ties / predicted if predicted else 0.0
        self.complete: NDArray[np.bool_] = np.concatenate(complete)
        with_label = np.concatenate(labelled) | run.outside
        self.kept: NDArray[np.bool_] = np.logical_and(self.complete, with_label)
        self.left_out = int((~self.complete).sum())
        self.unlabelled = int((self.complete & ~with_label).sum())
        whole = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
        self._values = (
            whole if self.kept.all() else {name: values[self.kept] for name, values in whole.items()}
        )
        # Images without labels are scored only for changes by pipeline steps.
        self.with_unlabelled: Observed = self
        if run.pipeline_steps and not self.kept.any():
            predictions = {name: values[self.complete] for name, values in whole.items()}
            self.with_unlabelled = self._like(self.complete, predictions)

    def over(self, rows: NDArray[np.int64]) -> Observed:
        """The same predictions for a subset of the scored images, given in ascending order."""
        kept = np.zeros_like(self.kept)
        kept[np.flatnonzero(self.kept)[rows]] = True
        return self._like(kept, {name: values[rows] for name, values in self._values.items()})

    def _like(self, kept: NDArray[np.bool_], values: dict[str, NDArray[Any]]) -> Observed:
        """The same predictions with a different selection of images."""
        other = Observed.__new__(Observed)
        for name in ("_run", "_ids", "conditions", "unscored", "tie_share", "complete", "left_out",
                     "unlabelled"):  # fmt: skip
            setattr(other, name, getattr(self, name))
        other.kept, other._values, other.with_unlabelled = kept, values, other
        return other

    @cached_property
    def labels(self) -> list[tuple[int, ...]]:
        """The images' classes, as indices of the data's label space."""
        rows = self._run.samples["labels"].to_pylist()
        return [tuple(row) for row, kept in zip(rows, self.kept, strict=True) if kept]

    @property
    def rank(self) -> NDArray[np.int32]:
        """The number of classes ranked before the label: 0 is correct, -1 is an image without a label.

        Of several labels the highest-ranked one counts. A prediction that is not finite ranks the label
        behind every class.

        Raises:
            NotMeasurable: the run has only the top classes, so that other ranks are unknown.
        """
        top_k = self._run.recipe.model.top_k
        if top_k is not None:
            raise NotMeasurable(
                f"the predictions have only {_top_classes(top_k)}", "give the scores of every class"
            )
        return self._values["rank"]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Where the predicted class is a label of the image."""
        return np.asarray(self._values["rank"] == 0)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Where the predicted class is no label of the image; False for an image without a label."""
        return np.asarray(self._values["rank"] > 0)

    def top_k_wrong(self, k: int) -> NDArray[np.bool_]:
        """Where no label of the image is among the top k classes; False for an image without a label.

        Raises:
            NotMeasurable: the run has fewer than the top k classes, or at most k classes compete, which
                leaves no class to be wrong with.
        """
        if missing := self._why_no_top(k):
            raise NotMeasurable(missing.reason, missing.cure)
        return np.asarray(self._values["rank"] >= k)

    def _why_no_top(self, k: int) -> Missing | None:
        """Why it is unknown, or trivial, whether a label is among the top k classes."""
        if k < 1:
            raise UserError(f"top_k_wrong({k}) asks for the top {k} classes; give k of at least 1.")
        top_k, classes = self._run.recipe.model.top_k, self._run.recipe.counted_classes
        if top_k is not None and top_k < k:
            return Missing(
                f"the predictions have only {_top_classes(top_k)}",
                f"give the top {k} classes of every image, or the scores of every class",
            )
        if classes <= k:
            verb = "competes" if classes == 1 else "compete"
            return Missing(
                f"only {counted(classes, 'class', 'classes')} {verb}",
                "use the top-1 error" if classes > 1 else "give a model and data with more classes",
            )
        return None

    @property
    def chosen(self) -> NDArray[np.int32]:
        """The predicted class; -1 where the prediction is not finite."""
        return self._values["chosen"]

    @property
    def not_finite(self) -> NDArray[np.bool_]:
        """Which predictions are not finite; they count as wrong with full confidence."""
        return self.chosen < 0

    @property
    def best_score(self) -> NDArray[np.float32]:
        """The predicted class's score, as the model outputs it."""
        return self._values["best_score"]

    @property
    def sum_p2(self) -> NDArray[np.float64]:
        """The sum of all classes' squared probabilities; 1 where the prediction is not finite.

        Raises:
            NotMeasurable: the run has no probabilities.
        """
        self._check_probabilities()
        return np.where(self.not_finite, 1.0, self._values["sum_p2"].astype(np.float64))

    @cached_property
    def pixel_change(self) -> NDArray[np.float64]:
        """Mean absolute pixel difference from the canvas in grey levels; NaN where it is undefined."""
        return self._values["pixel_change"].astype(np.float64)

    @cached_property
    def pixel_change_max(self) -> NDArray[np.float64]:
        """Largest absolute pixel difference from the canvas in grey levels."""
        return self._values["pixel_change_max"].astype(np.float64)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The predicted class's probability; 1 where the prediction is not finite.

        Raises:
            NotMeasurable: the run has no probabilities.
        """
        self._check_probabilities()
        return np.where(self.not_finite, 1.0, np.exp(self._log_probability(self.best_score)))

    @property
    def gives_logits(self) -> bool:
        """Whether the model's outputs are logits."""
        return bool(self._run.recipe.model.outputs == "logits")

    @property
    def gives_probabilities(self) -> bool:
        """Whether every class's probability is known; runs that store only top classes do not have them."""
        return bool(self._run.recipe.model.outputs in ("logits", "probabilities"))

    def _check_probabilities(self) -> None:
        if not self.gives_probabilities:
            raise NotMeasurable(
                "the predictions have only the top classes, without probabilities",
                "give the scores of every class",
            )

    @cached_property
    def label_log_probability(self) -> NDArray[np.float64]:
        """The logarithm of the label's probability, or of the highest-ranked one of several labels.

        A prediction that is not finite counts as probability 0.

        Raises:
            NotMeasurable: the run has no probabilities.
        """
        self._check_probabilities()
        least = np.log(np.finfo(np.float32).tiny)
        return np.where(self.not_finite, least, self._log_probability(self._values["label_score"]))

    def _log_probability(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log-probabilities from stored scores, image by image.

        A stored probability of 0 is replaced by the smallest normal float32, 1.2e-38.
        """
        if self.gives_logits:
            return np.asarray(scores - self._values["logsumexp"], np.float64)
        return np.asarray(np.log(np.maximum(scores, np.finfo(np.float32).tiny)), np.float64)


def _top_classes(count: int) -> str:
    return "the top class" if count == 1 else f"the top {count} classes"


def _blocks(shards: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, merged into fewer tables."""
    waiting: list[pa.Table] = []
    for shard in shards:
        waiting.append(shard)
        if sum(map(len, waiting)) >= BLOCK:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
