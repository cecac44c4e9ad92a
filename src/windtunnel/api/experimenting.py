"""Compare training remedies and wrappers by experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.analysis.experiment_results import ExperimentResults
from windtunnel.api.prepared_studies import PreparedModels, check_plugins
from windtunnel.core.locations import Location
from windtunnel.core.progress import Progress, silent
from windtunnel.options.experiment import ExperimentOptions
from windtunnel.studies.experiment import Experiment
from windtunnel.studies.experiment_planning import plan_experiment


def experiment(
    file: str | Path,
    out: str | Location,
    options: ExperimentOptions = ExperimentOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> ExperimentResults:
    """Train and test the variants of an experiment, and return their differences to the baseline.

    Args:
        file: the TOML file of the experiment.
        out: its folder; a folder of the same experiment is continued.
        options: workers and device; see `windtunnel.options.ExperimentOptions`.
        progress: counts epochs; the evaluation of a model counts as one.
        changes: single options by name, such as `workers=2`; they override `options`.

    Raises:
        UserError: the file is not valid, or the folder contains another experiment.
        RunFailed: a model cannot be trained; finished models are kept.
    """
    prepared = prepare_experiment(file, out, options.with_changes(changes))
    return prepared.run(prepared.default_workers, training=progress)


@dataclass(frozen=True)
class PreparedExperiment(PreparedModels):
    """An experiment that is checked and can be run."""

    experiment: Experiment
    options: ExperimentOptions

    @property
    def models(self) -> int:
        """The number of models that are trained."""
        return len(self.experiment.trainings)

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.experiment.data.portable

    def run(self, workers: int, making: Progress = silent, training: Progress = silent) -> ExperimentResults:
        """Train what is missing; `making` counts test images, `training` epochs."""
        return self.experiment.run(self._workers(workers), making=making, training=training)


def prepare_experiment(
    file: str | Path, out: str | Location, options: ExperimentOptions
) -> PreparedExperiment:
    """Check an experiment; the method `run` of the result trains its models."""
    check_plugins(options)
    return PreparedExperiment(plan_experiment(file, out, options), options)
