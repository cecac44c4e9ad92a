"""The audit of one candidate in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windtunnel.core.candidates import Candidate
from windtunnel.core.curation_records import FilterModelRecord
from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed
from windtunnel.curate.crop_predictions import CROP_SETS
from windtunnel.curate.frame_text import frame_lines
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import Project
from windtunnel.curate.set_files import csv_text

# The crops in the audits of filtering steps.
CROPS = "ten-crop"
_ROW = re.compile(r"row (\d{1,12})")


def audit_csv(project: Project, step: str) -> str:
    """The audit of a step as CSV, a row for each candidate; values of several crops are joined by `; `."""
    table = project.audit_table(step)
    columns = {name: [_joined(value) for value in table[name].to_pylist()] for name in table.column_names}
    return csv_text(pa.table(columns))


def _joined(value: object) -> object:
    if not isinstance(value, list):
        return value
    return "; ".join(f"{item:.6g}" if isinstance(item, float) else str(item) for item in value)


def candidate_audit(project: Project, text: str) -> list[tuple[str, str]]:
    """Labelled lines on a candidate: where it came from, and what happened to it in every step.

    Args:
        project: the project.
        text: the candidate's id or the beginning of it; or the URL, file or file name of any row, also of one
            that is not stored; or `row N` as reasons name rows; or a frame set, or `SET#INDEX` for a frame.
    """
    stored = _candidate(project, text)
    if stored:
        return _stored_lines(project, stored)
    rows = _named_rows(project, text)
    if rows:
        return [line for row in rows for line in _row_lines(project, row)]
    lines = frame_lines(project, text)
    if lines:
        return lines
    raise UserError(
        f"'{text}' is no id, URL, file, video or frame set of {project.folder}; give an id from its audit, "
        "the URL or file of a row, 'row N', or SET#INDEX for a frame."
    )


def _stored_lines(project: Project, candidate: Candidate) -> list[tuple[str, str]]:
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


def _candidate(project: Project, id_: str) -> Candidate | None:
    """The stored candidate whose id begins with a text, or None."""
    found = {row.id: row for row in project.stored_candidates() if id_ and row.id.startswith(id_)}
    if len(found) > 1:
        raise UserError(
            f"'{id_}' is the beginning of several ids of {project.folder}: {listed(sorted(found), 3)}; give "
            "more of one."
        )
    return next(iter(found.values()), None)


def _named_rows(project: Project, text: str) -> list[Candidate]:
    """The rows with a URL, file, file name or number; refuses a file name of several files."""
    rows = project.candidates()
    if number := _ROW.fullmatch(text):
        return [row for row in rows if row.row + 1 == int(number[1])]
    same = [row for row in rows if text and row.url == text]
    if same:
        return same
    ending = [row for row in rows if text and row.url.endswith(f"/{text}")]
    names = list(dict.fromkeys(row.url for row in ending))
    if len(names) > 1:
        raise UserError(
            f"'{text}' is the end of several URLs or files of {project.folder}: {listed(names, 3)}; give "
            "more of one."
        )
    return ending


def _row_lines(project: Project, row: Candidate) -> list[tuple[str, str]]:
    """Lines on a row of a table; those of its image if it is the row that keeps it."""
    sources = {batch.batch: batch.source for batch in project.batches()}
    place = ("row", f"{row.row + 1} of {sources[row.batch]}")
    if row.status == "ok":
        return [place, *_stored_lines(project, row)]
    lines = [
        place,
        ("from", row.url or "nothing"),
        ("status", f"{row.status}: {row.reason}" if row.reason else row.status),
        ("label", row.label or "none"),
    ]
    return [*lines, ("candidate", row.id)] if row.id else lines


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
