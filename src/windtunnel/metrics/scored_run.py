"""A run as its scores see it: predictions as matrices, baseline, groups of images, parts of natural sets."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.locations import Location
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.data.label_spaces import class_keys
from windtunnel.metrics.complete_images import CompleteImages
from windtunnel.metrics.detections.matches import DetectedRun
from windtunnel.metrics.frame_predictions import Clips
from windtunnel.metrics.ood_detection import OodScores, ood_scores_of
from windtunnel.metrics.parts import Part, parts_of
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.store.run import StoredRun

# Id, content hash and keys of the classes.
ImageIdentity = tuple[str, str, tuple[str, ...]]


class ScoredRun(StoredRun):
    """A stored run with the settings of its scores: baseline, groups and parts.

    Attributes:
        baseline: the run whose errors normalise this one's; None for none.
        group: the column of the data's table by which images are grouped, "" for none.
        group_found: whether the groups were detected in the data (videos) and not given by the user.
    """

    def __init__(self, path: str | Location) -> None:
        super().__init__(path)
        self.baseline: ScoredRun | None = None
        self.group = self.info.scoring.group
        self.group_found = self.info.scoring.group_found

    @cached_property
    def class_keys(self) -> list[str]:
        """A key that identifies each class in other runs: its name, or the index of an ImageNet-1k class.

        A run that reads class indices as ImageNet-1k's is then comparable with one over the same data that
        does not.
        """
        return class_keys(self.recipe.data.label_space, [*map(str, self.info.data.classes)])

    @cached_property
    def images(self) -> dict[str, ImageIdentity]:
        """By id, the key that identifies an image in two runs: id, content and the keys of its classes.

        The content is that of the source image, so that stored corrupted images match their sources.
        """
        classes = self.class_keys
        content = self.samples["content"]
        if "source" in self.samples.column_names:
            content = pc.coalesce(self.samples["source"], content)
        rows = zip(self.samples["id"].to_pylist(), content.to_pylist(), self.samples["labels"].to_pylist(),
                   strict=True)  # fmt: skip
        return {
            id_: (id_, hash_ or "", tuple(str(classes[label]) for label in labels))
            for id_, hash_, labels in rows
        }

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a natural set (shifted or OOD, and clean); () for other runs."""
        return parts_of(self)

    @cached_property
    def detectors(self) -> OodScores | None:
        """Every OOD score of OOD and clean images; None for runs without them."""
        return ood_scores_of(self)

    @cached_property
    def groups(self) -> NDArray[np.int64] | None:
        """The group number of every scored image, or None without groups."""
        return self.groups_of(self.scored)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which of the run's images are scored; sequences and swapped steps need no labels."""
        return self.clips.kept if self.sequences else self.predicted.with_unlabelled.kept

    def groups_of(self, kept: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """The group numbers of any images; an image without a value in the column is its own group."""
        if not self.group:
            return None
        if self.group not in self.columns:
            raise unknown_name("column to group by", self.group, self.columns)
        values = self.columns[self.group]
        own = [value or f"\0{row}" for row, value in enumerate(values)]
        names, number = np.unique(np.array(own)[kept], return_inverse=True)
        if self.group_found and len(self.group_values(kept)) < 2:
            return None
        if len(names) < 2:
            raise UserError(
                f"All images of {self.path} have the same {self.group}; intervals need at least two groups."
            )
        return None if len(names) == len(number) else number

    def group_values(self, kept: NDArray[np.bool_]) -> set[str]:
        """The values of the grouping column for some images, where it has any."""
        return {
            value for value, is_kept in zip(self.columns[self.group], kept, strict=True) if value and is_kept
        }

    @cached_property
    def observed(self) -> Observed:
        """The classes predicted on every complete image under every condition.

        Raises:
            UserError: the model predicts no classes of images.
        """
        if self.recipe.task != DEFAULT_TASK:
            raise UserError(
                f"{self.path} is a run of {self.recipe.task}; this needs a run of {DEFAULT_TASK}."
            )
        return Observed(self)

    @cached_property
    def detected(self) -> DetectedRun:
        """The detections on every complete image under every condition."""
        return DetectedRun(self)

    @property
    def predicted(self) -> CompleteImages:
        """The predictions on every complete image, of any task."""
        return self.observed if self.recipe.task == DEFAULT_TASK else self.detected

    @cached_property
    def clips(self) -> Clips:
        """The predictions on every frame of every sequence."""
        return Clips(self)

    def scored_as(
        self, baseline: str | Location | ScoredRun | None = None, group: str | None = None
    ) -> ScoredRun:
        """The same run with another baseline or other groups; None keeps the current one."""
        from windtunnel.metrics.baseline import check_baseline

        if baseline is None and group is None:
            return self
        other = copy(self)
        if group is not None:
            other.group, other.group_found = group, False
            for cached in ("groups", "detectors"):  # both depend on the groups
                other.__dict__.pop(cached, None)
        if baseline is not None:
            other.baseline = baseline if isinstance(baseline, ScoredRun) else ScoredRun(baseline)
            check_baseline(other, other.baseline)
        return other
