"""Tables of verdicts: known answers, and votes of earlier reviews.

A row names an item by `id`, or by `set` and `frame`. Its verdict is a word (`accept`, `reject`, `unsure`; for
blind classification also a class), a JSON object as exports have it, or the columns of the kind's own fields.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from windtunnel.core.csv_cells import plain_cell
from windtunnel.core.errors import UserError
from windtunnel.curate.candidate_sources import csv_rows
from windtunnel.curate.frame_verdicts import frame_index, set_name
from windtunnel.curate.verdicts import VERDICTS
from windtunnel.review.kinds import ReviewKind, verdict_json
from windtunnel.review.records import CHECK, EXAMPLE, PRACTICE, ROLES, WORK, NewItem

# Separates several classes in a cell.
SEPARATOR = ";"
# The columns that people type, which exports guard against spreadsheets.
TYPED = ("reviewer", "note")
TRUE = ("true", "yes", "1")


@dataclass(frozen=True)
class VerdictRow:
    """A row of a table of verdicts.

    Attributes:
        key: the item, as its source names it.
        cells: all cells, by lower-case column name.
        where: the file and line, for messages.
    """

    key: str
    cells: Mapping[str, str]
    where: str

    def verdict(
        self, kind: ReviewKind[Any], labels: Sequence[str], classes: frozenset[str]
    ) -> dict[str, Any]:
        """The verdict of the row; refuses one that does not fit the kind."""
        try:
            verdict = kind.read(self._fields(kind, labels), classes)
            word, vote = self.cells.get("verdict", "").strip().lower(), kind.vote(verdict, labels)
            if word in VERDICTS and word != vote:
                raise UserError(
                    f"the verdict is {word}, but the other columns mean {vote}; remove one of both."
                )
        except UserError as error:
            raise UserError(f"{self.where}: {error}") from error
        return verdict_json(verdict)

    def _fields(self, kind: ReviewKind[Any], labels: Sequence[str]) -> dict[str, Any]:
        given = self.cells.get("verdict", "").strip()
        own = self._own_fields(kind)
        fields: dict[str, Any] = {}
        if given.startswith("{"):
            try:
                fields = json.loads(given)
            except ValueError as error:
                raise UserError(f"the verdict is not JSON ({error}).") from error
        elif given.lower() in VERDICTS and not set(own) - {"note"}:
            fields = kind.from_vote(given.lower(), labels)
        elif given and given.lower() not in VERDICTS:
            fields = kind.from_text(given)
            if not fields:
                raise UserError(f"the verdict is '{given[:40]}'; give {', '.join(VERDICTS)}, or JSON.")
            for name, value in fields.items():
                if own.get(name, value) != value:
                    raise UserError(
                        f"the verdict is '{given[:40]}', but the column {name} has '{str(own[name])[:40]}'; "
                        "remove one of both."
                    )
        return {**fields, **own}

    def _own_fields(self, kind: ReviewKind[Any]) -> dict[str, Any]:
        """The cells that are named like fields of the kind's verdicts."""
        found: dict[str, Any] = {}
        for field in msgspec.structs.fields(kind.record):
            cell = self.cells.get(field.name, "").strip()
            if not cell:
                continue
            if field.type is bool:
                found[field.name] = cell.lower() in TRUE
            elif typing.get_origin(field.type) is tuple:
                found[field.name] = [part.strip() for part in cell.split(SEPARATOR) if part.strip()]
            else:
                found[field.name] = cell
        return found


def read_rows(file: str | Path) -> list[VerdictRow]:
    """The rows of a CSV file with the columns id, or set and frame."""
    rows = csv_rows(Path(file))
    if not rows:
        raise UserError(f"{file} has no rows; give a row with a verdict for each item.")
    columns = set(rows[0][1])
    by_frame = {"set", "frame"} <= columns
    if not by_frame and "id" not in columns:
        raise UserError(f"{file} needs the column id, or the columns set and frame.")
    read = []
    for number, cells in rows:
        where = f"{file}: line {number}"
        key = cells.get("id", "").strip()
        if by_frame and not key:
            key = frame_item_key(set_name(cells["set"]), frame_index(cells["frame"], where))
        typed = {name: plain_cell(cells[name]) for name in TYPED if name in cells}
        read.append(VerdictRow(key, cells | typed, where))
    return read


def frame_item_key(set_: str, frame: int) -> str:
    """The name of a pair in tables: its set, and the index of its frame."""
    return f"{set_}#{frame}"


def with_answers(
    items: Sequence[NewItem], kind: ReviewKind[Any], classes: frozenset[str], rows: Iterable[VerdictRow]
) -> list[NewItem]:
    """The items, those in a table of answers with their role, answer and explanation."""
    known = lookup(items)
    answered: dict[str, NewItem] = {}
    for row in rows:
        item = known(row)
        if "role" not in row.cells:
            raise UserError(
                f"{row.where}: the column role is missing; give {PRACTICE}, {CHECK} or {EXAMPLE}."
            )
        role = row.cells.get("role", "").strip().lower()
        if role not in ROLES or role == WORK:
            raise UserError(f"{row.where} has the role '{role}'; give {PRACTICE}, {CHECK} or {EXAMPLE}.")
        if item.key in answered:
            raise UserError(f"{row.where} repeats the item {row.key}; give each once.")
        answered[item.key] = NewItem(
            key=item.key,
            media=item.media,
            labels=item.labels,
            facts=item.facts,
            role=role,
            answer=row.verdict(kind, item.labels, classes),
            explanation=row.cells.get("explanation", "").strip(),
        )
    return [answered.get(item.key, item) for item in items]


def lookup(items: Iterable[NewItem]) -> Callable[[VerdictRow], NewItem]:
    """A function that returns the item of a row; refuses an unknown one."""
    by_key: dict[str, NewItem] = {}
    for item in items:
        by_key[item.key] = item
        facts = item.facts or {}
        if "set" in facts:  # an anchor is named by its set, and by its frame
            by_key[frame_item_key(facts["set"], facts["frame"])] = item

    def find(row: VerdictRow) -> NewItem:
        if row.key not in by_key:
            raise UserError(f"{row.where} has the item '{row.key[:60]}', which the task does not have.")
        return by_key[row.key]

    return find
