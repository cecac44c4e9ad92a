"""Adversarial filtration of a project's candidates, as for ImageNet-A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.candidates import SHORTLISTED
from windtunnel.core.curation_records import ClassOverlaps, HardRecipe, HardSummary, RulesRecord
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import record_of
from windtunnel.core.wording import counted
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.class_overlap import confusion_overlaps, hierarchy_overlaps
from windtunnel.curate.ensemble import (
    FAILED,
    Ensemble,
    EnsemblePredictions,
    all_predicted,
    labelled_candidates,
)
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
from windtunnel.curate.implausible_models import doubtful_declarations, near_chance
from windtunnel.curate.near_duplicates import DuplicateRules, near_column, near_duplicates
from windtunnel.curate.project import Project
from windtunnel.curate.steps import FinishedStep, StepKind
from windtunnel.data.class_hierarchy import read_hierarchy
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE, CROP_NAMES
from windtunnel.options.curation import HardOptions

HARD = StepKind("hard", HardRecipe, HardSummary)
# The stage before prediction.
OTHER_CLASS = "other_class"


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
) -> FinishedStep[HardRecipe, HardSummary]:
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
    duplicates = DuplicateRules(options.duplicate_bits, options.duplicate_cosine)
    with project.locked():
        rows = labelled_candidates(project)
        images = CandidateImages(
            project.folder, rows, class_lines(options.classes, [row.label for row in rows])
        )
        chosen = chosen_classes(images, options.classes)
        names = {images.label_space.classes[label] for label in chosen}
        parents = read_hierarchy(options.hierarchy, names, "the candidates")
        ensemble = Ensemble(load_filter_models(models, images, chosen, masked=options.classes is not None))
        recipe = HardRecipe(
            candidates=project.candidates_digest(),
            models=ensemble.records,
            classes=tuple(sorted(names)) if options.classes else (),
            rules=record_of(rules, RulesRecord),
            duplicate_bits=duplicates.most_bits,
            duplicate_cosine=duplicates.least_cosine,
            hierarchy=named_files_digest([Path(options.hierarchy)]) if options.hierarchy else "",
        )
        if (finished := project.finished(HARD, recipe)) and all_predicted(project, HARD.name):
            project.clear_started(HARD.name)
            return finished
        project.mark_started(HARD.name)
        others = {
            row.id: f"its class '{row.label}' is not one of the {counted(len(names), 'class', 'classes')}"
            for row in rows
            if row.label not in names
        }
        ids = [row.id for row in rows if row.id not in others]
        predictions = ensemble.predict(project, images, ids, workers, progress)
        filtered = _filtered(images, others, predictions, rules)
        listed = [row for row in images.rows if filtered.stages[row.id] == SHORTLISTED]
        predicted = [row for row in images.rows if row.id not in others]
        pairs, features = near_duplicates(project, listed, predicted, duplicates, ensemble.models[0].model)
        project.write_audit(HARD.name, filtered.audit(near_column([row.id for row in images.rows], pairs)))
        counts = filtered.result.funnel()
        summary = HardSummary(
            stored=len(rows),
            of_classes=len(ids),
            candidates=counts["candidates"],
            never_correct=counts["never_correct"],
            low_true_confidence=counts["low_true_confidence"],
            shortlist=counts["shortlist"],
            filter_models=ensemble.infos,
            accuracies=filtered.accuracies,
            near_duplicates=pairs,
            features=features,
            overlapping_classes=ClassOverlaps(
                tuple(hierarchy_overlaps(sorted(names), parents)),
                tuple(confusion_overlaps(filtered.confusions)),
            ),
            warnings=(*doubtful_declarations(ensemble.models), *filtered.warnings),
        )
        return project.finish(HARD, recipe, summary)


@dataclass(frozen=True)
class FilteredCandidates:
    """What became of every candidate.

    Attributes:
        images: the candidates.
        predictions: of every model, of the candidates of the chosen classes.
        usable: the candidates with a prediction of every model.
        class_names: the classes of the candidates and of all models.
        result: the filtration of the usable candidates.
        stages, reasons: of every candidate, by id.
        confusions: true and predicted class of every usable candidate's centre crop, by the first model.
        accuracies: by model, the share of usable candidates whose centre crop is classified correctly.
        warnings: on models near chance.
    """

    images: CandidateImages
    predictions: EnsemblePredictions
    usable: Sequence[str]
    class_names: Sequence[str]
    result: Filtration
    stages: Mapping[str, str]
    reasons: Mapping[str, str]
    confusions: Sequence[tuple[str, str]]
    accuracies: tuple[float, ...]
    warnings: tuple[str, ...]

    def audit(self, near: pa.Array) -> pa.Table:
        """One row for each candidate, with every model's and crop's prediction."""
        result = self.result
        details = {
            id_: (self.class_names[result.pair_class[place]], result.rank[place], result.pair_size[place])
            for place, id_ in enumerate(self.usable)
        }
        ids = [row.id for row in self.images.rows]
        of_rows = [details.get(id_, ("", 0, 0)) for id_ in ids]
        columns: dict[str, Any] = {
            "id": ids,
            "label": [row.label for row in self.images.rows],
            "label_conflict": [row.reason for row in self.images.rows],
            "stage": [self.stages[id_] for id_ in ids],
            "reason": [self.reasons[id_] for id_ in ids],
            "confused_with": [name for name, _, _ in of_rows],
            "pair_rank": pa.array([rank for _, rank, _ in of_rows], pa.int32()),
            "pair_size": pa.array([size for _, _, size in of_rows], pa.int32()),
            "near_duplicates": near,
            **self.predictions.columns(ids),
        }
        return pa.table(columns)


def _filtered(
    images: CandidateImages, others: Mapping[str, str], predictions: EnsemblePredictions, rules: FilterRules
) -> FilteredCandidates:
    """Filter predicted candidates; `others` are of other classes, with the reason."""
    failures = predictions.failures()
    stages = dict.fromkeys(others, OTHER_CLASS) | dict.fromkeys(failures, FAILED)
    reasons = {**others, **failures}
    usable = [id_ for id_ in predictions.ids if id_ not in failures]
    rows = np.array([id_ not in failures for id_ in predictions.ids], bool)
    label_of = {row.id: row.label for row in images.rows}
    labels = [label_of[id_] for id_ in usable]
    names, numbers, arrays = _common_classes(predictions, rows, labels)
    result = filter_candidates(usable, numbers, arrays, rules)
    for place, id_ in enumerate(usable):
        stages[id_] = STAGES[result.stage[place]]
        reasons[id_] = _reason(place, result, arrays, names, predictions.models, rules)
    warnings: list[str] = []
    for model, stored in zip(predictions.models, predictions.stored, strict=True):
        outputs = np.array([model.output_of[label] for label in labels], np.int64)
        warnings += near_chance(model, stored.predicted[rows, CENTRE], outputs)
    centre = arrays.predicted[:, :, CENTRE]
    right = (centre == numbers[:, None]).sum(axis=0)
    return FilteredCandidates(
        images,
        predictions,
        usable,
        names,
        result,
        stages,
        reasons,
        [(label, names[place]) for label, place in zip(labels, centre[:, 0], strict=True)],
        tuple(float(count) / max(1, len(usable)) for count in right),
        tuple(warnings),
    )


def _common_classes(
    predictions: EnsemblePredictions, rows: NDArray[np.bool_], labels: Sequence[str]
) -> tuple[list[str], NDArray[np.int64], CropPredictions]:
    """The names of all classes, the labels as numbers of them, and the predictions likewise."""
    models = predictions.models
    names = sorted({name for model in models for name in model.class_names} | set(labels))
    number = {name: place for place, name in enumerate(names)}
    predicted = np.stack(
        [
            np.array([number[name] for name in model.class_names], np.int64)[stored.predicted[rows]]
            for model, stored in zip(models, predictions.stored, strict=True)
        ],
        axis=1,
    )
    arrays = CropPredictions(
        predicted,
        np.stack([stored.confidence[rows] for stored in predictions.stored], axis=1),
        np.stack([stored.true_confidence[rows] for stored in predictions.stored], axis=1),
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
        right = int((arrays.true_confidence[place] >= arrays.confidence[place]).sum())
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
