"""Selection of out-of-distribution candidates, as for ImageNet-O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.curation_records import OodRecipe, OodSummary, RelatedClass
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted, listed
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.class_overlap import Relation, relations
from windtunnel.curate.ensemble import (
    FAILED,
    Ensemble,
    EnsemblePredictions,
    all_predicted,
    labelled_candidates,
)
from windtunnel.curate.filter_models import FilterModel, load_source
from windtunnel.curate.implausible_models import doubtful_declarations
from windtunnel.curate.near_duplicates import DuplicateRules, near_column, near_duplicates
from windtunnel.curate.project import Project
from windtunnel.curate.same_classes import CLASSES_NAMED, ClassNames, check_comparable, doubtful_classes
from windtunnel.curate.steps import FinishedStep, StepKind
from windtunnel.data.class_hierarchy import Parents, known_names, read_hierarchy
from windtunnel.data.class_subset import listed_classes
from windtunnel.data.label_spaces import model_space
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE
from windtunnel.options.curation import OodOptions
from windtunnel.published.imagenet import imagenet_synonyms

OOD = StepKind("ood", OodRecipe, OodSummary)
IN_DISTRIBUTION, RELATED, LOW_CONFIDENCE = "in_distribution", "related", "low_confidence"
UNLABELLED = "unlabelled"


def select_ood(
    project: Project,
    models: Sequence[Any],
    options: OodOptions = OodOptions(),  # noqa: B008 (frozen)
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> FinishedStep[OodRecipe, OodSummary]:
    """Shortlist candidates of classes that no model knows but every model is confident about.

    Args:
        project: the project.
        models: the filter models.
        options: the classes that compete, the hierarchy and the threshold.
        workers: how many, and where.
        progress: counts predicted candidates of all models.
    """
    if not 0 <= options.min_confidence <= 1:
        raise UserError(
            f"{option('min_confidence')} is {options.min_confidence:g}; give a share from 0 to 1."
        )
    duplicates = DuplicateRules(options.duplicate_bits, options.duplicate_cosine)
    ensemble = Ensemble(tuple(_loaded(spec, options.classes) for spec in models))
    known = {name for model in ensemble.models for name in model.class_names}
    synonyms = [word for name in known for word in imagenet_synonyms().get(name, ())]
    parents = read_hierarchy(options.hierarchy, known, "the filter models", synonyms)
    with project.locked():
        rows = labelled_candidates(project)
        labels = {row.label for row in rows if row.label}
        for model in ensemble.models:
            check_comparable(labels, model.class_names)
        recipe = OodRecipe(
            candidates=project.candidates_digest(),
            models=ensemble.records,
            in_distribution=tuple(sorted(known)),
            min_confidence=options.min_confidence,
            duplicate_bits=duplicates.most_bits,
            duplicate_cosine=duplicates.least_cosine,
            hierarchy=named_files_digest([Path(options.hierarchy)]) if options.hierarchy else "",
        )
        if (finished := project.finished(OOD, recipe)) and all_predicted(project, OOD.name):
            project.clear_started(OOD.name)
            return finished
        project.mark_started(OOD.name)
        selection = _Selection(rows, known, parents)
        ids = selection.remaining()
        images = CandidateImages(project.folder, rows)
        predictions = ensemble.predict(project, images, ids, workers, progress)
        selection.drop_low_confidence(predictions, options.min_confidence)
        shortlist = [row for row in rows if row.id not in selection.fallen]
        pairs, features = near_duplicates(project, shortlist, rows, duplicates, ensemble.models[0].model)
        all_ids = [row.id for row in rows]
        columns = {"near_duplicates": near_column(all_ids, pairs), **predictions.columns(all_ids)}
        project.write_audit(OOD.name, selection.audit(columns))
        summary = OodSummary(
            stored=len(rows),
            outside_label_space=len(rows) - selection.count(IN_DISTRIBUTION) - selection.count(UNLABELLED),
            unrelated=len(ids),
            shortlist=len(shortlist),
            hierarchy_known=bool(parents),
            related_classes=selection.related_classes,
            filter_models=ensemble.infos,
            near_duplicates=pairs,
            features=features,
            warnings=(
                *doubtful_declarations(ensemble.models),
                *doubtful_classes(labels, known, hierarchy=bool(parents)),
                *_unknown_classes(parents, labels, "candidates"),
                *_unknown_classes(parents, known, "the filter models"),
            ),
        )
        return project.finish(OOD, recipe, summary)


def _loaded(spec: Any, classes: str | Path | None) -> FilterModel:
    """A loaded model; if a file lists classes, only they compete."""
    model, source = load_source(spec)
    plain = FilterModel(model, source, {})
    if classes is None:
        return plain
    space = model_space(plain.class_names)
    competing = tuple(sorted(listed_classes(space, Path(classes), model.name)))
    return FilterModel(model, source, {}, competing)


def _unknown_classes(parents: Parents, names: Collection[str], whose: str) -> list[str]:
    """A warning on classes that a hierarchy does not have, so that their place is not known."""
    places = ClassNames(known_names(parents))
    unknown = sorted(name for name in names if not places.find(name)) if parents else []
    if not unknown:
        return []
    quoted = listed([f"'{name}'" for name in unknown], CLASSES_NAMED)
    return [
        f"The hierarchy has no place for {counted(len(unknown), 'class', 'classes')} of {whose} ({quoted}): "
        "whether other classes are above or below is not known."
    ]


def _related(labels: Sequence[str], known: Collection[str], parents: Parents) -> dict[str, Relation]:
    """The labels above or below a known class, in whichever of its names the hierarchy has them."""
    places = ClassNames(known_names(parents))
    known_as = {place: name for name in sorted(known, reverse=True) for place in places.find(name)}
    place_of = {label: places.find(label) for label in labels}
    found = relations({place for all_ in place_of.values() for place in all_}, known_as, parents)
    return {
        label: Relation(found[place].place, known_as[found[place].other])
        for label, all_ in place_of.items()
        for place in all_
        if place in found
    }


class _Selection:
    """The stage and reason of every candidate that is dropped."""

    def __init__(self, rows: Sequence[Candidate], known: Collection[str], parents: Parents) -> None:
        self._rows = rows
        self._confidence: dict[str, str] = {}
        self.fallen: dict[str, tuple[str, str]] = {}
        labels = Counter(row.label for row in rows if row.label)
        models_names = ClassNames(known)
        same = {label: names[0] for label in labels if (names := models_names.find(label))}
        found = _related([label for label in labels if label not in same], known, parents)
        self.related_classes = tuple(
            RelatedClass(name, relation.place, relation.other, labels[name])
            for name, relation in sorted(found.items())
        )
        for row in rows:
            if not row.label:
                self.fallen[row.id] = UNLABELLED, "it has no label, so its class is not known"
            elif row.label in same:
                name = same[row.label]
                alias = "" if name == row.label else f" ('{name}')"
                self.fallen[row.id] = (
                    IN_DISTRIBUTION,
                    f"'{row.label}' is a class of the filter models{alias}",
                )
            elif relation := found.get(row.label):
                reason = f"'{row.label}' is {relation.place} the class '{relation.other}'"
                self.fallen[row.id] = RELATED, reason

    def remaining(self) -> list[str]:
        """The candidates that were not dropped so far."""
        return [row.id for row in self._rows if row.id not in self.fallen]

    def count(self, stage: str) -> int:
        """The number of candidates that left at a stage."""
        return sum(fallen == stage for fallen, _ in self.fallen.values())

    def drop_low_confidence(self, predictions: EnsemblePredictions, least: float) -> None:
        """Drop candidates that a model has no prediction of, or whose centre crop it is not sure about."""
        failures = predictions.failures()
        self.fallen |= {id_: (FAILED, reason) for id_, reason in failures.items()}
        for place, id_ in enumerate(predictions.ids):
            if id_ in failures:
                continue
            texts = []
            for model, stored in zip(predictions.models, predictions.stored, strict=True):
                confidence = stored.confidence[place, CENTRE]
                predicted = model.class_names[stored.predicted[place, CENTRE]]
                texts.append(
                    f"{model.model.name} predicts {predicted} with {float(confidence):.1%} confidence"
                )
                if confidence < np.float32(least):
                    self.fallen.setdefault(
                        id_, (LOW_CONFIDENCE, f"{texts[-1]}; at least {least:g} is needed")
                    )
            self._confidence[id_] = "; ".join(texts)

    def audit(self, columns: dict[str, Any]) -> pa.Table:
        """One row for each candidate."""
        verdicts = [
            self.fallen.get(row.id, (SHORTLISTED, self._confidence.get(row.id, ""))) for row in self._rows
        ]
        return pa.table(
            {
                "id": [row.id for row in self._rows],
                "label": [row.label for row in self._rows],
                "label_conflict": [row.reason for row in self._rows],
                "stage": [stage for stage, _ in verdicts],
                "reason": [reason for _, reason in verdicts],
                **columns,
            }
        )
