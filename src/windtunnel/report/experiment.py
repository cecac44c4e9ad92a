"""The page of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.analysis.experiments import ExperimentResults
from windtunnel.core.locations import Location
from windtunnel.store.training_folder import StoredTraining
from windtunnel.studies.experiment_records import Costs


def write_experiment(
    results: ExperimentResults,
    costs: Costs,
    trainings: Mapping[str, Sequence[StoredTraining]],
    file: Location,
) -> Location:
    """Write the HTML page of an experiment; returns the file."""
    raise NotImplementedError
