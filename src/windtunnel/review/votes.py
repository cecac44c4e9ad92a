"""Votes in force: of every person on every item, and what they decide."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, func, select

from windtunnel.review.kinds import ACCEPT, CONFLICT, REJECT
from windtunnel.review.practice import is_correct
from windtunnel.review.records import CHECK, DECISION, VOTE, WORK, Item, Person
from windtunnel.review.tables import items, people, present
from windtunnel.review.tasks import Task, read_item

# Items that are read together.
STEP = 1000


@dataclass(frozen=True)
class Vote:
    """The verdict in force of one person."""

    person: Person
    verdict: Mapping[str, Any]
    time: int


@dataclass(frozen=True)
class JudgedItem:
    """An item with all votes in force, and the decision of the second pass, if there is one."""

    item: Item
    votes: tuple[Vote, ...]
    decision: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ConflictWindow:
    """A part of the items of the second pass.

    Attributes:
        start: number of the first.
        total: all items of the second pass.
        undecided: those that are still to be decided.
        items: the items.
    """

    start: int
    total: int
    undecided: int
    items: tuple[JudgedItem, ...] = field(default=())


def judged_items(connection: Connection, task: Task, roles: Sequence[str] = (WORK,)) -> Iterator[JudgedItem]:
    """Every item of some roles with its votes, in order; read in parts."""
    for role in roles:
        for start in range(0, task.counts.get(role, 0), STEP):
            within = and_(
                items.c.task == task.id,
                items.c.role == role,
                items.c.number.between(start, start + STEP - 1),
            )
            rows = connection.execute(select(items).where(within).order_by(items.c.number)).all()
            yield from _with_votes(connection, [read_item(row) for row in rows])


def conflicts(connection: Connection, task: Task, start: int, count: int) -> ConflictWindow:
    """Items of the second pass: those in conflict, then those that it has decided."""
    work = and_(items.c.task == task.id, items.c.role == WORK)
    undecided = connection.execute(
        select(func.count()).where(work, items.c.outcome == CONFLICT, ~items.c.decided)
    ).scalar_one()
    decided = connection.execute(select(func.count()).where(work, items.c.decided)).scalar_one()
    rows = connection.execute(
        select(items)
        .where(work, (items.c.outcome == CONFLICT) | items.c.decided)
        .order_by(items.c.decided, items.c.number)
        .offset(start)
        .limit(count)
    ).all()
    found = tuple(_with_votes(connection, [read_item(row) for row in rows]))
    return ConflictWindow(start, undecided + decided, undecided, found)


def _with_votes(connection: Connection, read: Sequence[Item]) -> Iterator[JudgedItem]:
    votes: dict[int, list[Vote]] = {}
    decisions: dict[int, Mapping[str, Any]] = {}
    rows = connection.execute(
        select(present, people.c.code, people.c.name, people.c.role)
        .join(people, people.c.id == present.c.person)
        .where(present.c.item.in_([item.id for item in read]))
        .order_by(present.c.person)
    )
    for row in rows:
        verdict = json.loads(row.verdict)
        if row.channel == DECISION:
            decisions[row.item] = verdict
        else:
            person = Person(row.person, row.code, row.name, row.role)
            votes.setdefault(row.item, []).append(Vote(person, verdict, row.time))
    for item in read:
        yield JudgedItem(item, tuple(votes.get(item.id, ())), decisions.get(item.id))


def outcome_counts(connection: Connection, task: Task) -> dict[str, int]:
    """How many work items are open, accepted, rejected, in conflict, and decided in the second pass."""
    asked = (
        select(items.c.outcome, items.c.decided, func.count())
        .where(items.c.task == task.id, items.c.role == WORK)
        .group_by(items.c.outcome, items.c.decided)
    )
    counts = {"open": 0, ACCEPT: 0, REJECT: 0, CONFLICT: 0, "resolved": 0}
    for outcome, decided, count in connection.execute(asked):
        counts[outcome] += count
        counts["resolved"] += count if decided else 0
    return counts


def check_results(connection: Connection, task: Task) -> dict[int, tuple[int, int]]:
    """By person, how many hidden check items have a verdict, and how many a right one."""
    results: dict[int, tuple[int, int]] = {}
    asked = (
        select(present.c.person, present.c.verdict, items.c.answer)
        .join(items, items.c.id == present.c.item)
        .where(items.c.task == task.id, items.c.role == CHECK, present.c.channel == VOTE)
    )
    for row in connection.execute(asked):
        done, right = results.get(row.person, (0, 0))
        met = is_correct(task, json.loads(row.verdict), json.loads(row.answer))
        results[row.person] = (done + 1, right + met)
    return results
