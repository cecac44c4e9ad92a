"""The files of an experiment's folder: recipe, results and costs; readable without torch.

FOLDER/experiment.json   the recipe
FOLDER/results.json      errors, differences, verdicts: a pure function of the predictions
FOLDER/costs.json        times that were measured
FOLDER/models/, predictions/, test-images/   see `study_models.py`
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from windtunnel.analysis.experiment_results import ExperimentResults
from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.core.training_records import (
    AugmentationRecord,
    MixRecord,
    PreprocessRecord,
    RemediesRecord,
    SettingsRecord,
    TrainingData,
)
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.recipe_folder import FolderKind
from windtunnel.studies.records import NetworkRecord

PARTS = {
    "network": "network",
    "weights": "initial weights",
    "preprocess": "preprocessing",
    "train": "training images",
    "test": "test images",
    "suites": "suites",
    "variants": "variants",
    "device": "device",
}
RECIPE_FILE, RESULTS_FILE, COSTS_FILE = "experiment.json", "results.json", "costs.json"
EXPERIMENT = FolderKind("experiment", RECIPE_FILE, 1, PARTS, option="out")
RESULTS_SCHEMA = 2


class VariantRecord(Record, frozen=True):
    """A variant: its training, or the variant that it wraps and the wrappers."""

    settings: SettingsRecord
    mix: MixRecord
    augmentation: AugmentationRecord | None = None
    remedies: RemediesRecord | None = None
    of: str = ""
    wrappers: tuple[str, ...] = ()


class ExperimentRecipe(Record, frozen=True):
    """Everything that determines the predictions of an experiment's models, except the seeds.

    Attributes:
        weights: digest of the file of initial weights; "" for random ones.
        suites: by suite, the id of every condition by name.
        variants: the variants by name.
    """

    network: NetworkRecord
    weights: str
    preprocess: PreprocessRecord
    train: TrainingData
    test: TrainingData
    suites: dict[str, dict[str, str]]
    variants: dict[str, VariantRecord]
    device: str

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())


class VariantCosts(Record, frozen=True):
    """What a variant costs.

    Attributes:
        train_seconds: the mean duration of its trainings; None if it is not trained.
        latency_ms: median time of the prediction of one image on the CPU.
        latency_ratio: median of the ratios to the baseline, measured in turn.
        passes: forward passes for each image.
    """

    train_seconds: float | None = None
    latency_ms: float | None = None
    latency_ratio: float | None = None
    passes: int | None = None


class Costs(Record, frozen=True):
    """The costs of an experiment's variants, by name, and the baseline of the ratios."""

    baseline: str = ""
    variants: dict[str, VariantCosts] = msgspec.field(default_factory=dict)


def is_experiment(path: str | Path) -> bool:
    """Whether a path is the folder of an experiment, finished or not."""
    return (Path(path) / RECIPE_FILE).is_file()


def write_results(folder: Path, results: ExperimentResults) -> None:
    """Write `results.json`."""
    _write(folder / RESULTS_FILE, {"schema": RESULTS_SCHEMA, **results.to_json()})


def write_costs(folder: Path, costs: Costs) -> None:
    """Write `costs.json`."""
    _write(folder / COSTS_FILE, costs.to_json())


def read_results(folder: Path) -> ExperimentResults:
    """The results in a folder.

    Raises:
        UserError: the experiment is not finished, or the file is damaged.
    """
    file = folder / RESULTS_FILE
    if not file.is_file():
        raise UserError(
            f"{folder} is an experiment that is not finished; repeat the command that started it, which "
            "continues it."
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content.pop("schema") != RESULTS_SCHEMA:
            raise RecordError("another schema")
        return read_record(content, ExperimentResults)
    except (ValueError, KeyError, AttributeError) as error:
        raise UserError(
            f"{file} is damaged ({error}); repeat the command that made the experiment, which writes it "
            "again."
        ) from error


def finished_seeds(folder: Path) -> int:
    """The number of seeds that a folder is finished with; 0 if its results are missing or damaged."""
    try:
        return read_results(folder).seeds
    except UserError:
        return 0


def read_costs(folder: Path) -> Costs:
    """The costs in a folder; empty if they were not measured or cannot be read."""
    try:
        return read_record(json.loads((folder / COSTS_FILE).read_text(encoding="utf-8")), Costs)
    except (OSError, ValueError):
        return Costs()


def _write(file: Path, content: dict[str, Any]) -> None:
    write_whole(file, msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
