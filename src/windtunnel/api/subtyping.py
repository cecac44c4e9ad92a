"""Train last layers on the types of seen subtypes, and measure their accuracy on unseen subtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windtunnel.analysis.subtypes import SubtypeRobustness
from windtunnel.api.prepared_studies import PreparedModels, check_plugins
from windtunnel.core.locations import Location
from windtunnel.core.progress import Progress, silent
from windtunnel.data import Dataset
from windtunnel.options import SubtypeOptions
from windtunnel.report.subtypes import write_subtype_page
from windtunnel.studies.subtype_planning import plan_subtypes
from windtunnel.studies.subtype_study import SubtypeStudy


def subtypes(
    data: str | Location | Dataset,
    out: str | Location,
    options: SubtypeOptions = SubtypeOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> SubtypeRobustness:
    """Train models on the types of seen subtypes, and return their accuracies on seen and unseen ones.

    Args:
        data: labelled images; their classes are the subtypes.
        out: the folder of the study; a folder of the same study is continued.
        options: hierarchy, models and so on; see `windtunnel.options.SubtypeOptions`.
        progress: counts epochs; the evaluation of a model counts as one.
        changes: single options by name, such as `seeds=3`; they override `options`.

    Raises:
        UserError: the inputs do not fit, or the folder contains another study.
        RunFailed: a model cannot be trained; finished models are kept.
    """
    prepared = prepare_subtypes(data, out, options.with_changes(changes))
    return prepared.run(prepared.default_workers, progress)


@dataclass(frozen=True)
class PreparedSubtypes(PreparedModels):
    """A study that is checked and can be run."""

    study: SubtypeStudy
    options: SubtypeOptions

    @property
    def models(self) -> int:
        """The number of models that are trained."""
        return len(self.study.items)

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.study.portable

    def run(self, workers: int, training: Progress = silent) -> SubtypeRobustness:
        """Train what is missing, and write accuracies and report; `training` counts epochs."""
        chosen = self._workers(workers)
        result = self.study.run(chosen, training)
        write_subtype_page(result, self.study.folder)
        return result


def prepare_subtypes(
    data: str | Location | Dataset, out: str | Location, options: SubtypeOptions
) -> PreparedSubtypes:
    """Check the inputs of a study; the method `run` of the result trains its models."""
    check_plugins(options)
    return PreparedSubtypes(plan_subtypes(data, out, options), options)
