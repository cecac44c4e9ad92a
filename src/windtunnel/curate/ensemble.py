"""The models of a filtering step as an ensemble: checks, predictions of candidates, columns of audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windtunnel.core.candidates import Candidate
from windtunnel.core.curation_records import FilterModelRecord
from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress
from windtunnel.core.records import FilterModelInfo
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.crop_store import CropStore, StoredPredictions
from windtunnel.curate.filter_models import FilterModel
from windtunnel.curate.project import Project
from windtunnel.engine.executors import Workers

# The stage, in audits, of candidates that a model has no prediction of.
FAILED = "failed"


def labelled_candidates(project: Project) -> list[Candidate]:
    """The stored candidates of a project; refuses a project without any."""
    rows = project.stored_candidates()
    if not rows:
        raise UserError(
            f"{project.folder} has no stored candidates; collect some with windtunnel curate collect."
        )
    return rows


@dataclass(frozen=True)
class Ensemble:
    """Different models; refuses none, and a model that is given twice."""

    models: tuple[FilterModel, ...]

    def __post_init__(self) -> None:
        if not self.models:
            raise UserError("No model is given; give at least one.")
        seen: dict[str, str] = {}
        for model in self.models:
            weights = model.record.weights
            if weights in seen:
                raise UserError(
                    f"{model.model.name} and {seen[weights]} are the same model, with or without wrappers; "
                    "give each model once."
                )
            seen[weights] = model.model.name

    @property
    def records(self) -> tuple[FilterModelRecord, ...]:
        """The models as recipes store them."""
        return tuple(model.record for model in self.models)

    @property
    def infos(self) -> tuple[FilterModelInfo, ...]:
        """The models as summaries and sets name them."""
        return tuple(model.record.info for model in self.models)

    def predict(
        self,
        project: Project,
        images: CandidateImages,
        ids: Sequence[str],
        workers: Workers,
        progress: Progress,
        crops: str = "ten-crop",
    ) -> EnsemblePredictions:
        """The predictions of some candidates by every model; `progress` counts those of all models."""
        wanted = set(ids)
        samples = [sample for sample in images.samples() if sample.id in wanted]
        total = len(self.models) * len(samples)

        def count(done: int, _total: int, failed: int = 0) -> None:
            progress(done, total, failed)

        stored = [
            CropStore(project, model, crops).predict(images, samples, workers, count) for model in self.models
        ]
        return EnsemblePredictions(tuple(sample.id for sample in samples), self.models, tuple(stored))


@dataclass(frozen=True)
class EnsemblePredictions:
    """Predictions of candidates by every model.

    Attributes:
        ids: the candidates, sorted.
        models: the models.
        stored: the predictions of each model, a row for each candidate.
    """

    ids: tuple[str, ...]
    models: tuple[FilterModel, ...]
    stored: tuple[StoredPredictions, ...]

    def failures(self) -> dict[str, str]:
        """The candidates that a model has no prediction of, and why."""
        reasons: dict[str, str] = {}
        for model, stored in zip(self.models, self.stored, strict=True):
            for id_, status, reason in zip(self.ids, stored.status, stored.reason, strict=True):
                if status != "ok":
                    reasons.setdefault(id_, f"{model.model.name} has no prediction: {reason}")
        return reasons

    def columns(self, ids: Sequence[str]) -> dict[str, Any]:
        """The columns of an audit with every prediction of every crop; null for candidates without any."""
        place = {id_: number for number, id_ in enumerate(self.ids)}
        columns: dict[str, Any] = {}
        for number, (model, stored) in enumerate(zip(self.models, self.stored, strict=True), 1):
            names = model.class_names
            usable = [place[i] if i in place and stored.status[place[i]] == "ok" else None for i in ids]
            columns[f"model{number}_predicted"] = pa.array(
                [None if row is None else [names[out] for out in stored.predicted[row]] for row in usable],
                pa.list_(pa.string()),
            )
            for kind in ("confidence", "true_confidence"):
                values = getattr(stored, kind)
                columns[f"model{number}_{kind}"] = pa.array(
                    [None if row is None else values[row].tolist() for row in usable], pa.list_(pa.float32())
                )
        return columns


def all_predicted(project: Project, step: str) -> bool:
    """Whether a step has an audit in which no prediction failed; failed ones are tried again."""
    return step in project.audits() and FAILED not in project.audit_table(step)["stage"].to_pylist()
