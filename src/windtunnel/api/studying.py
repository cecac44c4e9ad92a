"""Train one model per corruption, and measure how far each helps against the other corruptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from windtunnel.analysis.overlap.scores import OverlapMatrix, Ratio
from windtunnel.api.prepared_studies import PreparedModels, check_plugins
from windtunnel.core.locations import Location
from windtunnel.core.progress import Progress, silent
from windtunnel.data import Dataset
from windtunnel.options import OverlapOptions
from windtunnel.studies.overlap_planning import plan_study
from windtunnel.studies.overlap_study import OverlapStudy


def overlap(
    train: str | Location | Dataset,
    test: str | Location | Dataset,
    out: str | Location,
    options: OverlapOptions = OverlapOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> OverlapMatrix:
    """Train one model per candidate and seed, evaluate all of them, and return the overlapping scores.

    Args:
        train: the labelled training images.
        test: labelled images of the same classes that no model is trained on.
        out: the folder of the study; a folder of the same study is continued.
        options: candidates, protocol and so on; see `windtunnel.options.OverlapOptions`.
        progress: counts epochs; the evaluation of a model counts as one.
        changes: single options by name, such as `seeds=1`; they override `options`.

    Raises:
        UserError: the inputs do not fit, or the folder contains another study.
        RunFailed: a model cannot be trained; finished models are kept.
    """
    prepared = prepare_study(train, test, out, options.with_changes(changes))
    return prepared.run(prepared.default_workers, training=progress)


@dataclass(frozen=True)
class PreparedStudy(PreparedModels):
    """A study that is checked and can be run."""

    study: OverlapStudy
    options: OverlapOptions

    @property
    def models(self) -> int:
        """The number of models that are trained."""
        return len(self.study.items)

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.study.portable

    def run(self, workers: int, making: Progress = silent, training: Progress = silent) -> OverlapMatrix:
        """Train what is missing; `making` counts test images, `training` epochs."""
        return self.study.run(
            self._workers(workers),
            ratio=cast(Ratio, self.options.ratio),
            making=making,
            training=training,
        )


def prepare_study(
    train: str | Location | Dataset,
    test: str | Location | Dataset,
    out: str | Location,
    options: OverlapOptions,
) -> PreparedStudy:
    """Check the inputs of a study; the method `run` of the result trains its models."""
    check_plugins(options)
    return PreparedStudy(plan_study(train, test, out, options), options)
