"""Transfer: accuracy of models that did not filter, on the shortlist and on two sets to compare it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED
from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import (
    FilterModelRecord,
    GroupAccuracy,
    TransferRecipe,
    TransferSummary,
)
from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import FilterModelInfo
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.crop_store import StoredPredictions
from windtunnel.curate.ensemble import FAILED, Ensemble, labelled_candidates
from windtunnel.curate.filter_models import FilterModel, load_filter_models
from windtunnel.curate.fine_tuning import fine_tuned_from
from windtunnel.curate.hard import HARD, OTHER_CLASS
from windtunnel.curate.implausible_models import doubtful_declarations, near_chance
from windtunnel.curate.project import Project
from windtunnel.curate.steps import FinishedStep, StepKind
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE
from windtunnel.options.curation import TransferOptions
from windtunnel.stats.intervals import wilson

TRANSFER = StepKind("transfer", TransferRecipe, TransferSummary)
GROUPS = {
    "shortlist": "the shortlist",
    "random": "as many random candidates of all that were filtered, also of the shortlist",
    "plain_errors": "candidates whose centre crop every filter model misclassifies; contains the shortlist",
    "other_errors": "the plain errors that are not in the shortlist",
}
FILTER_NOTE = "filter model"
# The filter models misclassify all candidates of these groups.
BY_CONSTRUCTION = ("shortlist", "plain_errors", "other_errors")


def measure_transfer(
    project: Project,
    models: Sequence[Any],
    options: TransferOptions = TransferOptions(),  # noqa: B008 (frozen)
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> FinishedStep[TransferRecipe, TransferSummary]:
    """Measure held-out models on the shortlist of `hard`, on random candidates and on plain errors.

    Args:
        project: a project whose step `hard` is finished.
        models: the held-out models; a filter model is refused.
        options: the seed of the random candidates.
        workers: how many, and where.
        progress: counts predicted candidates of all models.
    """
    with project.locked():
        hard = project.step(HARD)
        if hard is None:
            raise UserError(
                f"{project.folder} has no shortlist of windtunnel curate hard; run it before transfer."
            )
        project.refuse_stale(HARD.name)
        if not hard.summary.shortlist:
            raise UserError(
                f"The shortlist of {project.folder} is empty; filter with other thresholds or more "
                "candidates."
            )
        rows = labelled_candidates(project)
        classes = hard.recipe.classes
        images = CandidateImages(project.folder, rows, classes)
        index = {name: place for place, name in enumerate(images.label_space.classes)}
        chosen = [index[name] for name in classes] or sorted({index[row.label] for row in rows})
        ensemble = Ensemble(load_filter_models(models, images, chosen, masked=bool(classes)))
        tuned = fine_tuned_from(project)
        bases = [tuned[used.weights] for used in hard.recipe.models if used.weights in tuned]
        notes = [_held_out_note(held_out, hard.recipe.models, bases) for held_out in ensemble.records]
        recipe = TransferRecipe(digest(hard.recipe.to_json()), ensemble.records, options.seed)
        if finished := project.finished(TRANSFER, recipe):
            return finished
        audit = project.audit_table(HARD.name)
        groups = chosen_groups(audit, len(hard.recipe.models), options.seed)
        ids = sorted({id_ for members in groups.values() for id_ in members})
        predictions = ensemble.predict(project, images, ids, workers, progress, "centre")
        failures = predictions.failures()
        groups = {name: [id_ for id_ in ids if id_ not in failures] for name, ids in groups.items()}
        results: list[GroupAccuracy] = []
        warnings = doubtful_declarations(ensemble.models)
        if failures:
            first = next(iter(failures.values()))
            warnings.append(f"{counted(len(failures), 'candidate')} left out of all groups: {first}.")
        for held_out, note, stored in zip(ensemble.models, notes, predictions.stored, strict=True):
            centre = _Centre(held_out, images, predictions.ids, stored)
            results += _accuracies(held_out.record.info, note, groups, centre.right)
            warnings += centre.warnings(groups["random"])
        results += _filter_accuracies(audit, hard.recipe.models, groups)
        return project.finish(TRANSFER, recipe, TransferSummary(GROUPS, tuple(results), tuple(warnings)))


def chosen_groups(audit: pa.Table, models: int, seed: int) -> dict[str, list[str]]:
    """The ids of the candidates of each group of `GROUPS`.

    Random candidates are those with the lowest keyed hashes of their ids, among all that were filtered.
    """
    columns = ["id", "label", "stage", *(f"model{number}_predicted" for number in range(1, models + 1))]
    rows = [row for row in audit.select(columns).to_pylist() if row["stage"] not in (OTHER_CLASS, FAILED)]
    shortlist = [row["id"] for row in rows if row["stage"] == SHORTLISTED]
    hashed = sorted((digest64("transfer", seed, row["id"]), row["id"]) for row in rows)
    errors = [row["id"] for row in rows if all(row[name][CENTRE] != row["label"] for name in columns[3:])]
    return {
        "shortlist": sorted(shortlist),
        "random": sorted(id_ for _, id_ in hashed[: len(shortlist)]),
        "plain_errors": sorted(errors),
        "other_errors": sorted(set(errors) - set(shortlist)),
    }


def _held_out_note(
    held_out: FilterModelRecord, filters: Sequence[FilterModelRecord], bases: Sequence[FilterModelRecord]
) -> str:
    """Refuse a filter model; a note on a model that is the base of one, or has the name or family of one."""
    for used in filters:
        if used.weights == held_out.weights:
            exact = used.fingerprint == held_out.fingerprint
            form, accuracy = ("", "0") if exact else (" in other wrappers", "low")
            raise UserError(
                f"{held_out.name} is a filter model of this project ({used.name}){form}; its accuracy on the "
                f"shortlist is {accuracy} by construction. Give a model with other weights."
            )
    if any(base.weights == held_out.weights for base in bases):
        return "a filter model was fine-tuned from it: not independent of the selection"
    for used in filters:
        # The fingerprint of a file has the same first part with any preprocessing.
        if used.weights.split("-")[0] == held_out.weights.split("-")[0]:
            return "same file as a filter model, in other preprocessing: not held out"
        if used.name == held_out.name:
            return "same name as a filter model: perhaps the same network, trained again or changed"
        if held_out.family and used.family == held_out.family:
            return f"same family as a filter model ({held_out.family}): not independent of the selection"
    return ""


class _Centre:
    """A model's predictions of centre crops; candidates without prediction are left out."""

    def __init__(
        self, model: FilterModel, images: CandidateImages, ids: Sequence[str], stored: StoredPredictions
    ) -> None:
        self._model = model
        label_of = {row.id: row.label for row in images.rows}
        usable = [place for place, status in enumerate(stored.status) if status == "ok"]
        self._place = {ids[row]: place for place, row in enumerate(usable)}
        self._predicted = stored.predicted[usable, 0]
        self._outputs = np.array([model.output_of[label_of[ids[row]]] for row in usable], np.int64)

    @property
    def right(self) -> dict[str, bool]:
        """Whether each candidate is classified correctly."""
        correct = self._predicted == self._outputs
        return {id_: bool(correct[place]) for id_, place in self._place.items()}

    def warnings(self, ids: Sequence[str]) -> list[str]:
        """A warning if the model is near chance on some candidates."""
        rows = [self._place[id_] for id_ in ids if id_ in self._place]
        return near_chance(self._model, self._predicted[rows], self._outputs[rows])


def _filter_accuracies(
    audit: pa.Table, models: Sequence[FilterModelRecord], groups: Mapping[str, Sequence[str]]
) -> list[GroupAccuracy]:
    """The same accuracies of the filter models, from their stored centre crops, with a note."""
    results = []
    for number, model in enumerate(models, 1):
        name = f"model{number}_predicted"
        rows = audit.select(["id", "label", name]).to_pylist()
        right = {row["id"]: row[name][CENTRE] == row["label"] for row in rows if row[name] is not None}
        results += [
            msgspec.structs.replace(
                result,
                held_out=False,
                note=f"{FILTER_NOTE}: 0 by construction" if result.group in BY_CONSTRUCTION else FILTER_NOTE,
            )
            for result in _accuracies(model.info, "", groups, right)
        ]
    return results


def _accuracies(
    model: FilterModelInfo, note: str, groups: Mapping[str, Sequence[str]], right: Mapping[str, bool]
) -> list[GroupAccuracy]:
    results = []
    for group, ids in groups.items():
        hits = [right[id_] for id_ in ids]
        low, high = wilson(sum(hits), len(hits)) if hits else (None, None)
        results.append(
            GroupAccuracy(
                model=model.name,
                fingerprint=model.fingerprint,
                group=group,
                n=len(hits),
                correct=sum(hits),
                accuracy=sum(hits) / len(hits) if hits else None,
                low=low,
                high=high,
                held_out=True,
                note=note,
            )
        )
    return results
