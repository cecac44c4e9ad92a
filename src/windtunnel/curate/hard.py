"""Adversarial filtration of a project's candidates, as for ImageNet-A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.class_overlap import confusion_overlaps, hierarchy_overlaps
from windtunnel.curate.crop_store import CropStore, StoredPredictions
from windtunnel.curate.filter_models import FilterModel, chosen_classes, class_lines, load_filter_models
from windtunnel.curate.filtration import (
    CONFIDENT,
    CORRECT,
    OVER_CAP,
    STAGES,
    CropPredictions,
    FilterRules,
    Filtration,
    KeepFirst,
    PairFrom,
    filter_candidates,
)
from windtunnel.curate.near_duplicates import Pair, check_bits, near_duplicates
from windtunnel.curate.project import Project, StepRecord
from windtunnel.data.wordnet import read_is_a
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE, CROP_NAMES
from windtunnel.options.curation import HardOptions

STEP = "hard"
# Stages before filtration.
OTHER_CLASS, FAILED = "other_class", "failed"


def rules_of(options: HardOptions) -> FilterRules:
    """The thresholds that options ask for."""
    return FilterRules(
        options.max_true_confidence,
        options.pair_cap,
        cast(PairFrom, options.pair_from),
        cast(KeepFirst, options.keep_first),
        CENTRE,
    )


def filter_hard(
    project: Project,
    models: Sequence[Any],
    options: HardOptions = HardOptions(),  # noqa: B008 (frozen)
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> StepRecord:
    """Filter the candidates of a project with an ensemble of models, and write the audit.

    Predictions are stored in the project: other thresholds need no further predictions.

    Args:
        project: the project.
        models: the filter models; the first defines confusions by its centre crop.
        options: classes and thresholds.
        workers: how many, and where.
        progress: counts predicted candidates of all models.
    """
    rules = rules_of(options)
    check_bits(options.duplicate_bits)
    rows = labelled_candidates(project)
    parents = read_is_a(Path(options.hierarchy)) if options.hierarchy else {}
    images = CandidateImages(project.folder, rows, class_lines(options.classes, [row.label for row in rows]))
    chosen = chosen_classes(images, options.classes)
    loaded = load_filter_models(models, images, chosen, masked=options.classes is not None)
    refuse_repeated(loaded)
    names = {images.label_space.classes[label] for label in chosen}
    recipe = {
        "candidates": project.candidates_digest(),
        "models": [msgspec.to_builtins(model.record) for model in loaded],
        "classes": sorted(names) if options.classes else [],
        "rules": asdict(rules),
        "duplicate_bits": options.duplicate_bits,
        "hierarchy": named_files_digest([Path(options.hierarchy)]) if options.hierarchy else "",
    }
    with project.locked():
        if (finished := project.finished(STEP, recipe)) and STEP in project.audits():
            return finished
        filtered = _filtered(project, images, names, loaded, rules, workers, progress)
        listed = [row for row in images.rows if filtered.stages[row.id] == SHORTLISTED]
        pairs = near_duplicates(project, listed, options.duplicate_bits)
        project.write_audit(STEP, filtered.audit(pairs))
        overlaps = {
            "hierarchy": hierarchy_overlaps(sorted(names), parents),
            "confusion": confusion_overlaps(filtered.confusions),
        }
        return project.finish(
            STEP,
            recipe,
            {
                **filtered.funnel,
                "filter_models": [
                    {"name": model.model.name, "fingerprint": model.model.fingerprint} for model in loaded
                ],
                "near_duplicates": pairs,
                "overlapping_classes": overlaps,
            },
        )


def labelled_candidates(project: Project) -> list[Candidate]:
    """The stored candidates of a project; refuses a project without any."""
    rows = project.stored_candidates()
    if not rows:
        raise UserError(
            f"{project.folder} has no stored candidates; collect some with windtunnel curate collect."
        )
    return rows


def refuse_repeated(models: Sequence[FilterModel]) -> None:
    """Refuse no model, and a model that is given twice."""
    if not models:
        raise UserError("No model is given; give at least one.")
    seen: dict[str, str] = {}
    for model in models:
        fingerprint = model.model.fingerprint
        if fingerprint in seen:
            raise UserError(
                f"{model.model.name} and {seen[fingerprint]} are the same model; give each model once."
            )
        seen[fingerprint] = model.model.name


@dataclass(frozen=True)
class FilteredCandidates:
    """What became of every candidate.

    Attributes:
        rows: the candidates, by id.
        models: the filter models.
        stages, reasons: by id.
        details: of each filtered candidate the class that its confusion is predicted as, its rank and the
            size of the confusion.
        predictions: of every model, of the candidates in `predicted_ids`.
        predicted_ids: the candidates that were predicted.
        funnel: the number of candidates after each step.
        confusions: true and predicted class of every candidate's centre crop.
    """

    rows: Sequence[Candidate]
    models: Sequence[FilterModel]
    stages: Mapping[str, str]
    reasons: Mapping[str, str]
    details: Mapping[str, tuple[str, int, int]]
    predictions: Sequence[StoredPredictions]
    predicted_ids: Sequence[str]
    funnel: dict[str, int]
    confusions: list[tuple[str, str]]

    def audit(self, pairs: Sequence[Pair]) -> pa.Table:
        """One row for each candidate, with every model's and crop's prediction."""
        ids = [row.id for row in self.rows]
        near: dict[str, list[str]] = {}
        for first, other, _ in pairs:
            near.setdefault(first, []).append(other)
            near.setdefault(other, []).append(first)
        nothing = ("", 0, 0)
        details = [self.details.get(id_, nothing) for id_ in ids]
        columns: dict[str, Any] = {
            "id": ids,
            "label": [row.label for row in self.rows],
            "stage": [self.stages[id_] for id_ in ids],
            "reason": [self.reasons[id_] for id_ in ids],
            "confused_with": [detail[0] for detail in details],
            "pair_rank": pa.array([detail[1] for detail in details], pa.int32()),
            "pair_size": pa.array([detail[2] for detail in details], pa.int32()),
            "near_duplicates": pa.array([near.get(id_, []) for id_ in ids], pa.list_(pa.string())),
            **prediction_columns(ids, self.models, self.predictions, self.predicted_ids),
        }
        return pa.table(columns)


def prediction_columns(
    ids: Sequence[str],
    models: Sequence[FilterModel],
    predictions: Sequence[StoredPredictions],
    predicted_ids: Sequence[str],
) -> dict[str, Any]:
    """The columns of an audit with every model's predictions; null for candidates without any."""
    place = {id_: number for number, id_ in enumerate(predicted_ids)}
    columns: dict[str, Any] = {}
    for number, (model, stored) in enumerate(zip(models, predictions, strict=True), 1):
        names = model.class_names
        usable = [place[id_] if id_ in place and stored.status[place[id_]] == "ok" else None for id_ in ids]
        columns[f"model{number}_predicted"] = pa.array(
            [None if row is None else [names[output] for output in stored.predicted[row]] for row in usable],
            pa.list_(pa.string()),
        )
        for kind in ("confidence", "true_confidence"):
            values = getattr(stored, kind)
            columns[f"model{number}_{kind}"] = pa.array(
                [None if row is None else values[row].tolist() for row in usable], pa.list_(pa.float32())
            )
    return columns


def predict_all(
    project: Project,
    images: CandidateImages,
    ids: Sequence[str],
    models: Sequence[FilterModel],
    workers: Workers,
    progress: Progress,
    crops: str = "ten-crop",
) -> list[StoredPredictions]:
    """The predictions of some candidates by every model; `progress` counts those of all models."""
    wanted = set(ids)
    samples = [sample for sample in images.samples() if sample.id in wanted]
    total = len(models) * len(samples)

    def count(done: int, _total: int, failed: int = 0) -> None:
        progress(done, total, failed)

    return [CropStore(project, model, crops).predict(images, samples, workers, count) for model in models]


def _filtered(
    project: Project,
    images: CandidateImages,
    classes: set[str],
    models: Sequence[FilterModel],
    rules: FilterRules,
    workers: Workers,
    progress: Progress,
) -> FilteredCandidates:
    """Predict and filter."""
    rows = images.rows
    stages: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for row in rows:
        if row.label not in classes:
            stages[row.id] = OTHER_CLASS
            reasons[row.id] = (
                f"its class '{row.label}' is not one of the {counted(len(classes), 'class', 'classes')}"
            )
    ids = [row.id for row in rows if row.id not in stages]
    predictions = predict_all(project, images, ids, models, workers, progress)
    for model, stored in zip(models, predictions, strict=True):
        for id_, status, reason in zip(ids, stored.status, stored.reason, strict=True):
            if status != "ok" and id_ not in stages:
                stages[id_], reasons[id_] = FAILED, f"{model.model.name} has no prediction: {reason}"
    usable = np.array([id_ not in stages for id_ in ids], bool)
    label_of = {row.id: row.label for row in rows}
    usable_ids = [id_ for id_ in ids if id_ not in stages]
    numbers, labels, arrays = _common_classes(models, predictions, usable, [label_of[i] for i in usable_ids])
    result = filter_candidates(usable_ids, labels, arrays, rules)
    for place, id_ in enumerate(usable_ids):
        stages[id_] = STAGES[result.stage[place]]
        reasons[id_] = _reason(place, result, arrays, numbers, models, rules)
    details = {
        id_: (numbers[result.pair_class[place]], int(result.rank[place]), int(result.pair_size[place]))
        for place, id_ in enumerate(usable_ids)
    }
    funnel = {"stored": len(rows), "of_classes": len(ids), **result.funnel()}
    centre = arrays.predicted[:, 0, rules.centre_crop]
    confusions = [
        (numbers[label], numbers[predicted]) for label, predicted in zip(labels, centre, strict=True)
    ]
    return FilteredCandidates(rows, models, stages, reasons, details, predictions, ids, funnel, confusions)


def _common_classes(
    models: Sequence[FilterModel],
    predictions: Sequence[StoredPredictions],
    usable: Any,
    labels: Sequence[str],
) -> tuple[list[str], Any, CropPredictions]:
    """The names of all classes, the labels as numbers of them, and the predictions likewise."""
    names = sorted({name for model in models for name in model.class_names} | set(labels))
    number = {name: place for place, name in enumerate(names)}
    predicted = np.stack(
        [
            np.array([number[name] for name in model.class_names], np.int64)[stored.predicted[usable]]
            for model, stored in zip(models, predictions, strict=True)
        ],
        axis=1,
    )
    arrays = CropPredictions(
        predicted,
        np.stack([stored.confidence[usable] for stored in predictions], axis=1),
        np.stack([stored.true_confidence[usable] for stored in predictions], axis=1),
    )
    return names, np.array([number[label] for label in labels], np.int64), arrays


def _reason(
    place: int,
    result: Filtration,
    arrays: CropPredictions,
    names: Sequence[str],
    models: Sequence[FilterModel],
    rules: FilterRules,
) -> str:
    """Why a candidate left, or stayed, in words."""
    model, crop = divmod(int(result.view[place]), arrays.predicted.shape[2])
    where = f"{models[model].model.name}, {CROP_NAMES[crop]}"
    confidence = float(arrays.confidence[place, model, crop])
    stage = result.stage[place]
    if stage == CORRECT:
        right = int((arrays.predicted[place] == arrays.predicted[place, model, crop]).sum())
        total = arrays.predicted[place].size
        return f"{right} of {total} crops are classified correctly, the first by {where} ({confidence:.1%})"
    if stage == CONFIDENT:
        return (
            f"the true class has {float(result.true_confidence[place]):.1%} confidence by {where}; "
            f"at most {rules.max_true_confidence:g} is allowed"
        )
    rank = f"{result.rank[place]} of {result.pair_size[place]} of this confusion"
    if stage == OVER_CAP:
        return f"it ranks {rank}, predicted as {names[result.pair_class[place]]}; {rules.pair_cap} are kept"
    return f"predicted as {names[result.pair_class[place]]} by {where} ({confidence:.1%}), {rank}"
