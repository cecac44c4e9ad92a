"""The practice round: known answers that a person meets before the work begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from windtunnel.review.records import PRACTICE, VOTE, Item, Person
from windtunnel.review.tables import items, present
from windtunnel.review.tasks import Task, read_item


@dataclass(frozen=True)
class PracticeItem:
    """A practice item with the person's verdict in force, and whether it is right; None without a verdict."""

    item: Item
    verdict: Mapping[str, Any] | None
    correct: bool | None


@dataclass(frozen=True)
class PracticeRound:
    """The practice round of a person in a task.

    Attributes:
        items: the practice items in order.
        needed: right verdicts that are needed.
    """

    items: tuple[PracticeItem, ...]
    needed: int

    @property
    def answered(self) -> int:
        """How many have a verdict."""
        return sum(item.verdict is not None for item in self.items)

    @property
    def correct(self) -> int:
        """How many have a right verdict."""
        return sum(item.correct is True for item in self.items)

    @property
    def passed(self) -> bool:
        """Whether work may begin: all are answered, and sufficiently many are right."""
        return self.answered == len(self.items) and self.correct >= self.needed


def practice_round(connection: Connection, task: Task, person: Person) -> PracticeRound:
    """The practice round of a person."""
    if not task.counts.get(PRACTICE):
        return PracticeRound((), 0)
    vote = and_(present.c.item == items.c.id, present.c.channel == VOTE, present.c.person == person.id)
    rows = connection.execute(
        select(items, present.c.verdict.label("own"))
        .join(present, vote, isouter=True)
        .where(items.c.task == task.id, items.c.role == PRACTICE)
        .order_by(items.c.number)
    ).all()
    return PracticeRound(tuple(_solved(task, row) for row in rows), task.practice_needed)


def _solved(task: Task, row: Any) -> PracticeItem:
    item = read_item(row)
    if row.own is None:
        return PracticeItem(item, None, None)
    verdict = json.loads(row.own)
    return PracticeItem(item, verdict, is_correct(task, verdict, item.answer))


def is_correct(task: Task, verdict: Mapping[str, Any], answer: Mapping[str, Any] | None) -> bool:
    """Whether a stored verdict meets a stored answer."""
    return answer is not None and task.kind.correct(task.kind.read(verdict), task.kind.read(answer))
