"""The audit of one candidate in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windtunnel.core.candidates import Candidate
from windtunnel.core.curation_records import FilterModelRecord
from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed
from windtunnel.curate.crop_predictions import CROP_SETS
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import Project
from windtunnel.curate.set_files import csv_text

# The crops in the audits of filtering steps.
CROPS = "ten-crop"


def audit_csv(project: Project, step: str) -> str:
    """The audit of a step as CSV, a row for each candidate; values of several crops are joined by `; `."""
    table = project.audit_table(step)
    columns = {name: [_joined(value) for value in table[name].to_pylist()] for name in table.column_names}
    return csv_text(pa.table(columns))


def _joined(value: object) -> object:
    if not isinstance(value, list):
        return value
    return "; ".join(f"{item:.6g}" if isinstance(item, float) else str(item) for item in value)


def candidate_audit(project: Project, id_: str) -> list[tuple[str, str]]:
    """Labelled lines on a candidate: where it came from, and what happened to it in every step.

    Args:
        project: the project.
        id_: the candidate's id, or the beginning of it.
    """
    candidate = _candidate(project, id_)
    lines = [
        ("candidate", candidate.id),
        ("image", f"{candidate.file}   {candidate.width}x{candidate.height} pixels"),
        (
            "label",
            "   ".join(filter(None, (candidate.label or "none", candidate.label_status, candidate.reason))),
        ),
        ("from", candidate.url),
    ]
    if candidate.licence:
        lines.append(("licence", candidate.licence))
    filters = (project.step(HARD), project.step(OOD))
    models = {step.step: step.recipe.models for step in filters if step is not None}
    for step in project.audits():
        table = project.audit_table(step)
        for row in table.filter(pc.equal(table["id"], candidate.id)).to_pylist():
            lines.append((step, f"{row['stage']}: {row['reason']}" if row["reason"] else row["stage"]))
            lines += _near(row)
            lines += _predictions(row, models.get(step, ()))
    return lines


def _candidate(project: Project, id_: str) -> Candidate:
    found = {row.id: row for row in project.stored_candidates() if id_ and row.id.startswith(id_)}
    if len(found) > 1:
        raise UserError(
            f"'{id_}' is the beginning of several ids of {project.folder}: {listed(sorted(found), 3)}; give "
            "more of one."
        )
    if not found:
        raise UserError(
            f"'{id_}' is not the id of a stored candidate of {project.folder}; give an id from its audit."
        )
    return next(iter(found.values()))


def _near(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    near = row.get("near_duplicates") or []
    return [("near-duplicate", other) for other in near]


def _predictions(row: Mapping[str, Any], models: Sequence[FilterModelRecord]) -> list[tuple[str, str]]:
    lines = []
    for number, model in enumerate(models, 1):
        predicted = row.get(f"model{number}_predicted")
        if predicted is None:
            continue
        lines.append(("model", f"{model.name}   {model.fingerprint[:12]}"))
        confidences, true = row[f"model{number}_confidence"], row[f"model{number}_true_confidence"]
        for crop, name, confidence, true_confidence in zip(
            CROP_SETS[CROPS], predicted, confidences, true, strict=True
        ):
            in_class = "" if true_confidence != true_confidence else f", true class {true_confidence:.1%}"
            lines.append((f"  {crop}", f"{name} {confidence:.1%}{in_class}"))
    return lines
