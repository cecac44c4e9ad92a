"""Verdicts of reviewers: a table of votes, and what they decide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.csv_cells import plain_cell
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.curate.candidate_sources import csv_rows

ACCEPT, REJECT, UNSURE = VERDICTS = ("accept", "reject", "unsure")
ACCEPTED, REJECTED, NO_MAJORITY = "accepted", "rejected", "no_majority"


def decision_of(votes: Collection[str]) -> str:
    """`accepted` or `rejected` by more than half of the votes, else `no_majority`; `unsure` is a vote."""
    for vote, decision in ((ACCEPT, ACCEPTED), (REJECT, REJECTED)):
        if 2 * sum(given == vote for given in votes) > len(votes):
            return decision
    return NO_MAJORITY


@dataclass(frozen=True)
class Verdict:
    """What the reviewers of one candidate decided.

    Attributes:
        votes: the vote of each reviewer.
        notes: their notes.
    """

    votes: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def decision(self) -> str:
        """`accepted`, `rejected` or `no_majority`."""
        return decision_of(self.votes.values())

    @property
    def accepted(self) -> bool:
        """Whether more than half of them accept it."""
        return self.decision == ACCEPTED


def refuse_unnamed_votes(votes: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Refuse a vote without a reviewer on an item with several votes: it may be another person's.

    Args:
        votes: for each item, the place and the reviewer of all its votes, in any order.
    """
    for of_item in votes:
        unnamed = [where for where, reviewer in of_item if not reviewer]
        if unnamed and len(of_item) > 1:
            raise UserError(
                f"{unnamed[0]} has no reviewer, but the same item has {len(of_item):,} verdicts; name "
                "everybody in the column reviewer, so that votes can be counted."
            )


def read_verdicts(file: str | Path, labels: Mapping[str, str]) -> dict[str, Verdict]:
    """The decision on every candidate with votes, by id.

    A later vote of the same reviewer replaces the earlier one. Of several votes on a candidate, each needs a
    reviewer.
    A candidate is accepted by a strict majority of its votes; `unsure` counts as a vote. A vote on another
    label than the candidate has now is refused.

    Args:
        file: a CSV file with the columns id, verdict and optionally label, reviewer and note.
        labels: the label of every candidate of the project, by id.
    """
    rows = csv_rows(Path(file))
    if not rows:
        raise UserError(f"{option('reviewed')} is {file}, which has no verdicts; give a table with some.")
    columns = list(rows[0][1])
    if not {"id", "verdict"} <= set(columns):
        raise UserError(
            f"{option('reviewed')} is {file}, which has the columns {', '.join(columns)}; give a CSV "
            "file with the columns id and verdict, and optionally label, reviewer and note."
        )
    votes: dict[str, dict[str, str]] = {}
    notes: dict[str, dict[str, str]] = {}
    places: dict[str, list[tuple[str, str]]] = {}
    for number, row in rows:
        id_, verdict = row["id"].strip(), row["verdict"].strip().lower()
        reviewer = plain_cell(row.get("reviewer", "").strip())
        if id_ not in labels:
            raise UserError(
                f"{file}: line {number} has the id '{id_[:40]}', which is no stored candidate of the project."
            )
        if verdict not in VERDICTS:
            raise UserError(f"{file}: line {number} has the verdict '{verdict}'; give {', '.join(VERDICTS)}.")
        if row.get("label", "").strip() not in ("", labels[id_].strip()):
            raise UserError(
                f"{file}: line {number} judges the label '{row['label'].strip()}', but the candidate is "
                f"'{labels[id_]}' now; remove the line, and review the candidate again."
            )
        places.setdefault(id_, []).append((f"{file}: line {number}", reviewer))
        votes.setdefault(id_, {})[reviewer] = verdict
        notes.setdefault(id_, {})[reviewer] = plain_cell(row.get("note", "").strip())
    refuse_unnamed_votes(places.values())
    return {
        id_: Verdict(
            dict(sorted(of_candidate.items())),
            tuple(note for _, note in sorted(notes[id_].items()) if note),
        )
        for id_, of_candidate in votes.items()
    }
