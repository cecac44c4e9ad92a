"""Report finished experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.experiment_results import ExperimentResults
from windtunnel.core.locations import Location, location_of
from windtunnel.report.experiment import write_experiment
from windtunnel.store.training_folder import StoredTraining, is_training, open_training
from windtunnel.studies.experiment_records import Costs, read_costs, read_results
from windtunnel.studies.model_names import MODELS, model_name


@dataclass(frozen=True)
class StoredExperiment:
    """A finished experiment.

    Attributes:
        folder: its folder.
        results: errors, differences and verdicts.
        costs: times that were measured.
        trainings: by variant, the trainings that are stored.
    """

    folder: Path
    results: ExperimentResults
    costs: Costs
    trainings: dict[str, list[StoredTraining]]


def open_experiment(folder: str | Path) -> StoredExperiment:
    """The experiment in a folder; refuses one that is not finished."""
    path = Path(folder)
    results = read_results(path)
    trainings = {}
    for variant in results.variants:
        places = [path / MODELS / model_name(variant.facts.name, seed) for seed in range(results.seeds)]
        trainings[variant.facts.name] = [open_training(place) for place in places if is_training(place)]
    return StoredExperiment(path, results, read_costs(path), trainings)


def write_experiment_page(stored: StoredExperiment, file: str | Location | None = None) -> Location:
    """Write the HTML page of an experiment; by default report.html in its folder."""
    place = location_of(file) if file else stored.folder / "report.html"
    return write_experiment(stored.results, stored.costs, stored.trainings, place)
