"""Transfer: accuracy of models that did not filter, on the shortlist and on two sets to compare it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED
from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress, silent
from windtunnel.core.seeding import digest64
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.filter_models import FilterModel, load_filter_models
from windtunnel.curate.hard import FAILED, OTHER_CLASS, labelled_candidates, predict_all, refuse_repeated
from windtunnel.curate.hard import STEP as HARD
from windtunnel.curate.project import Project, StepRecord
from windtunnel.engine.executors import Workers
from windtunnel.imaging.ten_crops import CENTRE
from windtunnel.options.curation import TransferOptions
from windtunnel.stats.intervals import wilson

STEP = "transfer"
GROUPS = {
    "shortlist": "the shortlist",
    "random": "as many random candidates",
    "plain_errors": "candidates whose centre crop every filter model misclassifies",
}
FILTER_NOTE = "filter model"
# The filter models misclassify all candidates of these groups.
BY_CONSTRUCTION = ("shortlist", "plain_errors")


@dataclass(frozen=True)
class GroupAccuracy:
    """The accuracy of a model on some candidates.

    Attributes:
        model: the model's name.
        group: `shortlist`, `random` or `plain_errors`.
        n: candidates with a prediction.
        correct: those whose centre crop is classified correctly.
        accuracy: correct / n.
        low, high: Wilson's 95 % interval.
        held_out: whether the model did not filter.
        note: what the reader must know of the model, or "".
    """

    model: str
    group: str
    n: int
    correct: int
    accuracy: float
    low: float
    high: float
    held_out: bool = True
    note: str = ""


def measure_transfer(
    project: Project,
    models: Sequence[Any],
    options: TransferOptions = TransferOptions(),  # noqa: B008 (frozen)
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> StepRecord:
    """Measure held-out models on the shortlist of `hard`, on random candidates and on plain errors.

    Args:
        project: a project whose step `hard` is finished.
        models: the held-out models; a filter model is refused.
        options: the seed of the random candidates.
        workers: how many, and where.
        progress: counts predicted candidates of all models.
    """
    hard = project.steps().get(HARD)
    if hard is None:
        raise UserError(f"{project.folder} is not filtered yet; run windtunnel curate hard first.")
    if not hard.summary["shortlist"]:
        raise UserError(
            f"The shortlist of {project.folder} is empty; filter with other thresholds or more candidates."
        )
    rows = labelled_candidates(project)
    classes = hard.recipe["classes"]
    images = CandidateImages(project.folder, rows, classes)
    index = {name: place for place, name in enumerate(images.label_space.classes)}
    chosen = [index[name] for name in classes] or sorted({index[row.label] for row in rows})
    loaded = load_filter_models(models, images, chosen, masked=bool(classes))
    refuse_repeated(loaded)
    notes = [_held_out_note(model, hard.recipe["models"]) for model in loaded]
    recipe = {
        "hard": digest(hard.recipe),
        "models": [msgspec.to_builtins(model.record) for model in loaded],
        "seed": options.seed,
    }
    with project.locked():
        if finished := project.finished(STEP, recipe):
            return finished
        audit = project.audit_table(HARD)
        groups = chosen_groups(audit, len(hard.recipe["models"]), options.seed)
        ids = sorted({id_ for members in groups.values() for id_ in members})
        correct = _correct(project, images, ids, loaded, workers, progress)
        results = [
            accuracy
            for model, note, right in zip(loaded, notes, correct, strict=True)
            for accuracy in _accuracies(model.model.name, note, groups, right)
        ]
        results += _filter_accuracies(audit, hard.recipe["models"], groups)
        summary = {"groups": GROUPS, "accuracies": [msgspec.to_builtins(result) for result in results]}
        return project.finish(STEP, recipe, summary)


def chosen_groups(audit: pa.Table, models: int, seed: int) -> dict[str, list[str]]:
    """The ids of the shortlist, of as many random candidates, and of the filter models' plain errors.

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
    }


def _held_out_note(model: FilterModel, filters: Sequence[Mapping[str, Any]]) -> str:
    """Refuse a filter model; a note on a model that has the name or the family of one."""
    held_out = model.record
    for used in filters:
        if used["model"]["fingerprint"] == held_out.fingerprint:
            raise UserError(
                f"{held_out.name} is a filter model of this project ({used['name']}); its accuracy on the "
                "shortlist is 0 by construction. Give a model with other weights."
            )
        if used["name"] == held_out.name:
            return "same name as a filter model: perhaps the same network, trained again or changed"
        if held_out.family and used.get("family", "") == held_out.family:
            return f"same family as a filter model ({held_out.family}): not independent of the selection"
    return ""


def _correct(
    project: Project,
    images: CandidateImages,
    ids: Sequence[str],
    models: Sequence[FilterModel],
    workers: Workers,
    progress: Progress,
) -> list[dict[str, bool]]:
    """Whether each model classifies each candidate correctly; candidates without prediction are absent."""
    label_of = {row.id: row.label for row in images.rows}
    results = []
    predictions = predict_all(project, images, ids, models, workers, progress, "centre")
    for model, stored in zip(models, predictions, strict=True):
        wanted = np.array([model.output_of[label_of[id_]] for id_ in ids], np.int64)
        right = stored.predicted[:, 0] == wanted
        usable = zip(ids, stored.status, right, strict=True)
        results.append({id_: bool(hit) for id_, status, hit in usable if status == "ok"})
    return results


def _filter_accuracies(
    audit: pa.Table, models: Sequence[Mapping[str, Any]], groups: Mapping[str, Sequence[str]]
) -> list[GroupAccuracy]:
    """The same accuracies of the filter models, from their stored centre crops, with a note."""
    results = []
    for number, model in enumerate(models, 1):
        name = f"model{number}_predicted"
        rows = audit.select(["id", "label", name]).to_pylist()
        right = {row["id"]: row[name][CENTRE] == row["label"] for row in rows if row[name] is not None}
        results += [
            replace(
                result,
                held_out=False,
                note=f"{FILTER_NOTE}: 0 by construction" if result.group in BY_CONSTRUCTION else FILTER_NOTE,
            )
            for result in _accuracies(model["name"], "", groups, right)
        ]
    return results


def _accuracies(
    model: str, note: str, groups: Mapping[str, Sequence[str]], right: Mapping[str, bool]
) -> list[GroupAccuracy]:
    results = []
    for group, ids in groups.items():
        hits = [right[id_] for id_ in ids if id_ in right]
        low, high = wilson(sum(hits), len(hits))
        share = sum(hits) / len(hits) if hits else 0.0
        results.append(GroupAccuracy(model, group, len(hits), sum(hits), share, low, high, note=note))
    return results
