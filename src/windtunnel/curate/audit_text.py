"""The audit of one candidate in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from windtunnel.core.candidates import Candidate
from windtunnel.core.errors import UserError
from windtunnel.curate.crop_predictions import CROP_SETS
from windtunnel.curate.project import Project, StepRecord

# Steps that write predictions into their audits, and their crops.
FILTER_STEPS = {"hard": "ten-crop", "ood": "ten-crop"}


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
        ("label", f"{candidate.label or 'none'}   {candidate.label_status}"),
        ("from", candidate.url),
    ]
    if candidate.licence:
        lines.append(("licence", candidate.licence))
    steps = project.steps()
    for step in project.audits():
        table = project.audit_table(step)
        for row in table.filter(pc.equal(table["id"], candidate.id)).to_pylist():
            lines.append((step, f"{row['stage']}: {row['reason']}" if row["reason"] else row["stage"]))
            lines += _near(row)
            if step in FILTER_STEPS and step in steps:
                lines += _predictions(row, steps[step], FILTER_STEPS[step])
    return lines


def _candidate(project: Project, id_: str) -> Candidate:
    found = {row.id: row for row in project.stored_candidates() if id_ and row.id.startswith(id_)}
    if len(found) != 1:
        how = "is the beginning of several ids" if found else "is not the id of a stored candidate"
        raise UserError(f"'{id_}' {how} of {project.folder}; give an id from its audit.")
    return next(iter(found.values()))


def _near(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    near = row.get("near_duplicates") or []
    return [("near-duplicate", other) for other in near]


def _predictions(row: Mapping[str, Any], step: StepRecord, crops: str) -> list[tuple[str, str]]:
    lines = []
    for number, model in enumerate(step.recipe["models"], 1):
        predicted = row.get(f"model{number}_predicted")
        if predicted is None:
            continue
        lines.append(("model", f"{model['name']}   {model['model']['fingerprint'][:12]}"))
        confidences, true = row[f"model{number}_confidence"], row[f"model{number}_true_confidence"]
        for crop, name, confidence, true_confidence in zip(
            CROP_SETS[crops], predicted, confidences, true, strict=True
        ):
            in_class = "" if true_confidence != true_confidence else f", true class {true_confidence:.1%}"
            lines.append((f"  {crop}", f"{name} {confidence:.1%}{in_class}"))
    return lines
