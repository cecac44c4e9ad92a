"""Rebuild: everything that is derived from events is computed again, and what differs is corrected."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from windtunnel.review.events import in_force, made_at, outcome_values
from windtunnel.review.kinds import OPEN
from windtunnel.review.records import VOTE, WORK
from windtunnel.review.tables import events, facts, items, present, queue
from windtunnel.review.tasks import Task

# Items that are computed in one transaction; people save their verdicts between two of them.
PART = 500
# The fact that identifies the last rebuild.
REBUILT = "rebuilt"
# Item, channel and person of a verdict in force.
_Line = tuple[int, str, int]


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild has read and corrected.

    Attributes:
        items: items of all tasks.
        events: their events.
        verdicts: verdicts in force that were missing, wrong, or there without an event.
        outcomes: items whose outcome or number of verdicts was wrong.
        places: places of queues that were wrongly marked as judged or not judged.
    """

    items: int = 0
    events: int = 0
    verdicts: int = 0
    outcomes: int = 0
    places: int = 0

    def __add__(self, other: Rebuilt) -> Rebuilt:
        """The sum of two parts."""
        return Rebuilt(
            self.items + other.items,
            self.events + other.events,
            self.verdicts + other.verdicts,
            self.outcomes + other.outcomes,
            self.places + other.places,
        )

    @property
    def changed(self) -> bool:
        """Whether anything was corrected."""
        return bool(self.verdicts or self.outcomes or self.places)


def last_rebuild(connection: Connection) -> str:
    """What identifies the last rebuild that corrected something; "" for none."""
    return str(connection.execute(select(facts.c.value).where(facts.c.name == REBUILT)).scalar() or "")


def record_rebuild(connection: Connection) -> None:
    """Record that a rebuild has corrected something, so that servers compute again what they keep."""
    connection.execute(delete(facts).where(facts.c.name == REBUILT))
    connection.execute(insert(facts).values(name=REBUILT, value=str(uuid.uuid4())))


def item_parts(connection: Connection, task: Task) -> list[tuple[int, int]]:
    """The first and last ids of parts of a task's items."""
    first, last = connection.execute(
        select(func.min(items.c.id), func.max(items.c.id)).where(items.c.task == task.id)
    ).one()
    if first is None:
        return []
    return [(begin, min(begin + PART - 1, last)) for begin in range(first, last + 1, PART)]


def rebuild_part(connection: Connection, task: Task, first: int, last: int) -> Rebuilt:
    """Compute what depends on the events of some items again, and correct what differs.

    Args:
        connection: of a write.
        task: the task of the items.
        first, last: the ids of the first and last item.
    """
    stored = connection.execute(
        select(items).where(items.c.task == task.id, items.c.id.between(first, last))
    ).all()
    found = connection.execute(select(events).where(events.c.item.between(first, last)))
    rows = [row for row in found if row.task == task.id]
    expected = _in_force(task, rows)
    return Rebuilt(
        items=len(stored),
        events=len(rows),
        verdicts=_correct_present(connection, task, first, last, expected),
        outcomes=_correct_items(connection, task, stored, expected),
        places=_correct_queue(connection, task, first, last, expected),
    )


def _in_force(task: Task, rows: Sequence[Row[Any]]) -> dict[_Line, Row[Any]]:
    """The events in force."""
    lines: dict[_Line, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        lines[row.item, row.channel, row.person if row.channel == VOTE else 0].append(row)
    found = {}
    for (item, channel, _), line in lines.items():
        last = in_force(task, channel, line)
        if last is not None:
            found[item, channel, last.person] = last
    return found


def _correct_present(
    connection: Connection, task: Task, first: int, last: int, expected: dict[_Line, Row[Any]]
) -> int:
    wanted = {line: (row.event, row.verdict, made_at(task, row)) for line, row in expected.items()}
    stored = {
        (row.item, row.channel, row.person): (row.event, row.verdict, row.time)
        for row in connection.execute(select(present).where(present.c.item.between(first, last)))
        if row.task == task.id
    }
    differing = {line for line in wanted.keys() | stored.keys() if wanted.get(line) != stored.get(line)}
    for item, channel, person in differing:
        own = and_(present.c.item == item, present.c.channel == channel, present.c.person == person)
        connection.execute(delete(present).where(own))
        if (item, channel, person) in wanted:
            event, verdict, time = wanted[item, channel, person]
            values = {"item": item, "channel": channel, "person": person, "task": task.id}
            connection.execute(
                insert(present).values(values | {"event": event, "verdict": verdict, "time": time})
            )
    return len(differing)


def _correct_items(
    connection: Connection, task: Task, stored: Sequence[Row[Any]], expected: dict[_Line, Row[Any]]
) -> int:
    verdicts: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for (item, channel, _), row in expected.items():
        verdicts[item].append((channel, row.verdict))
    corrected = 0
    for row in stored:
        values = {"verdicts": 0, "outcome": OPEN, "decided": False}
        if row.role == WORK:
            values = outcome_values(task, verdicts[row.id], json.loads(row.labels))
        if values != {name: getattr(row, name) for name in values}:
            connection.execute(update(items).where(items.c.id == row.id).values(values))
            corrected += 1
    return corrected


def _correct_queue(
    connection: Connection, task: Task, first: int, last: int, expected: dict[_Line, Row[Any]]
) -> int:
    places = connection.execute(select(queue).where(queue.c.item.between(first, last))).all()
    wrong = [
        row
        for row in places
        if row.task == task.id and row.judged != ((row.item, VOTE, row.person) in expected)
    ]
    for row in wrong:
        own = and_(queue.c.item == row.item, queue.c.person == row.person)
        connection.execute(update(queue).where(own).values(judged=not row.judged))
    return len(wrong)
