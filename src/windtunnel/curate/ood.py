"""Selection of out-of-distribution candidates, as for ImageNet-O."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.labels import LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.class_overlap import Parents, related
from windtunnel.curate.filter_models import FilterModel, load_source
from windtunnel.curate.hard import (
    FAILED,
    labelled_candidates,
    predict_all,
    prediction_columns,
    refuse_repeated,
)
from windtunnel.curate.near_duplicates import check_bits, near_duplicates
from windtunnel.curate.project import Project, StepRecord
from windtunnel.data.class_subset import listed_classes
from windtunnel.data.label_spaces import model_space
from windtunnel.data.wordnet import read_is_a
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE
from windtunnel.options.curation import OodOptions

STEP = "ood"
IN_DISTRIBUTION, RELATED, UNSURE = "in_distribution", "related", "unsure"


def select_ood(
    project: Project,
    models: Sequence[Any],
    options: OodOptions = OodOptions(),  # noqa: B008 (frozen)
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> StepRecord:
    """Shortlist candidates of classes that no model knows but every model is confident about.

    Args:
        project: the project.
        models: the filter models.
        options: the in-distribution classes, the hierarchy and the threshold.
        workers: how many, and where.
        progress: counts predicted candidates of all models.
    """
    if not 0 <= options.min_confidence <= 1:
        raise UserError(
            f"{option('min_confidence')} is {options.min_confidence:g}; give a share from 0 to 1."
        )
    check_bits(options.duplicate_bits)
    rows = labelled_candidates(project)
    parents = read_is_a(Path(options.hierarchy)) if options.hierarchy else {}
    loaded = [_in_distribution(spec, options.classes) for spec in models]
    refuse_repeated(loaded)
    known = {name for model in loaded for name in _competing_names(model)}
    recipe = {
        "candidates": project.candidates_digest(),
        "models": [msgspec.to_builtins(model.record) for model in loaded],
        "in_distribution": sorted(known),
        "min_confidence": options.min_confidence,
        "duplicate_bits": options.duplicate_bits,
        "hierarchy": named_files_digest([Path(options.hierarchy)]) if options.hierarchy else "",
    }
    with project.locked():
        if (finished := project.finished(STEP, recipe)) and STEP in project.audits():
            return finished
        selection = _Selection(rows, loaded, known, parents)
        ids = selection.unrelated
        images = CandidateImages(project.folder, rows)
        predictions = predict_all(project, images, ids, loaded, workers, progress)
        for model, stored in zip(loaded, predictions, strict=True):
            selection.drop_unsure(model, ids, stored, options.min_confidence)
        shortlist = [row for row in rows if row.id not in selection.fallen]
        pairs = near_duplicates(project, shortlist, options.duplicate_bits)
        columns = prediction_columns([row.id for row in rows], loaded, predictions, ids)
        project.write_audit(STEP, selection.audit(columns))
        return project.finish(
            STEP,
            recipe,
            {
                "stored": len(rows),
                "outside_label_space": len(rows) - selection.count(IN_DISTRIBUTION),
                "unrelated": len(ids),
                "shortlist": len(shortlist),
                "hierarchy_known": bool(parents),
                "filter_models": [
                    {"name": model.model.name, "fingerprint": model.model.fingerprint} for model in loaded
                ],
                "near_duplicates": pairs,
            },
        )


def _in_distribution(spec: Any, classes: str | Path | None) -> FilterModel:
    """A loaded model; if a file lists the in-distribution classes, only they compete."""
    model, source = load_source(spec)
    plain = FilterModel(model, source, {})
    if classes is None:
        return plain
    space: LabelSpace = model_space(plain.class_names)
    competing = tuple(sorted(listed_classes(space, Path(classes), model.name)))
    return FilterModel(model, source, {}, competing)


def _competing_names(model: FilterModel) -> list[str]:
    return [name for name, competes in zip(model.class_names, model.mask, strict=True) if competes]


class _Selection:
    """The stage and reason of every candidate that is dropped."""

    def __init__(
        self, rows: Sequence[Candidate], models: Sequence[FilterModel], known: set[str], parents: Parents
    ) -> None:
        self._rows = rows
        self._models = models
        self.fallen: dict[str, tuple[str, str]] = {}
        self._confidence: dict[str, str] = {}
        relatives = {name: related(name, known, parents) for name in {row.label for row in rows}}
        for row in rows:
            if row.label in known:
                self.fallen[row.id] = IN_DISTRIBUTION, f"'{row.label}' is a class of the filter models"
            elif relative := relatives[row.label]:
                self.fallen[row.id] = RELATED, f"'{row.label}' is above or below the class '{relative}'"
        self.unrelated = [row.id for row in rows if row.id not in self.fallen]

    def count(self, stage: str) -> int:
        """The number of candidates that left at a stage."""
        return sum(fallen == stage for fallen, _ in self.fallen.values())

    def drop_unsure(self, model: FilterModel, ids: Sequence[str], stored: Any, least: float) -> None:
        """Drop candidates whose centre crop a model is less confident about."""
        for place, id_ in enumerate(ids):
            confidence = stored.confidence[place, CENTRE]
            if stored.status[place] != "ok":
                reason = f"{model.model.name} has no prediction: {stored.reason[place]}"
                self.fallen.setdefault(id_, (FAILED, reason))
                continue
            text = f"{model.model.name} predicts {model.class_names[stored.predicted[place, CENTRE]]} with "
            text += f"{float(confidence):.1%} confidence"
            if confidence < np.float32(least):
                self.fallen.setdefault(id_, (UNSURE, f"{text}; at least {least:g} is needed"))
            self._confidence[id_] = f"{self._confidence[id_]}; {text}" if id_ in self._confidence else text

    def audit(self, columns: dict[str, Any]) -> pa.Table:
        """One row for each candidate."""
        verdicts = [
            self.fallen.get(row.id, (SHORTLISTED, self._confidence.get(row.id, ""))) for row in self._rows
        ]
        return pa.table(
            {
                "id": [row.id for row in self._rows],
                "label": [row.label for row in self._rows],
                "stage": [stage for stage, _ in verdicts],
                "reason": [reason for _, reason in verdicts],
                **columns,
            }
        )
