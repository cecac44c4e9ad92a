"""Import of earlier votes: each row becomes an event of a person of that name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from windtunnel.core.errors import UserError
from windtunnel.review import events, people
from windtunnel.review.records import REVIEWER, WORK, Item, NewEvent, NewItem, Person, now_ms
from windtunnel.review.tables import events as events_table
from windtunnel.review.tables import items, queue
from windtunnel.review.tables import people as people_table
from windtunnel.review.tasks import Task, read_item
from windtunnel.review.verdict_tables import VerdictRow, lookup

# The reviewer of rows that name none.
UNNAMED = "earlier review"
# The namespace of the ids of imported events: the same row has the same id, and is stored once.
NAMESPACE = uuid.UUID("5f0c0a52-3f0c-4f5e-9d0a-6d4c3f1f7a10")


@dataclass(frozen=True)
class ImportedVotes:
    """What an import has stored.

    Attributes:
        rows: rows of the table.
        added: votes that are new.
        people: names that occur; those without a link get one with `review people --renew`.
    """

    rows: int
    added: int
    people: tuple[str, ...]


def import_votes(
    connection: Connection, tasks: Mapping[str, Task], task: Task, rows: Sequence[VerdictRow]
) -> ImportedVotes:
    """Store the votes of a table; the same table is not stored twice.

    Args:
        connection: of a write.
        tasks: all tasks by name.
        task: the task whose items were judged.
        rows: the votes; a later one of the same person on the same item replaces the earlier.
    """
    stored = connection.execute(
        select(items).where(items.c.task == task.id, items.c.role == WORK).order_by(items.c.number)
    ).all()
    found = [read_item(row) for row in stored]
    by_key = {_key(item): item for item in found}
    find = lookup([NewItem(_key(item), item.media, item.labels, item.facts) for item in found])
    before = connection.execute(select(func.count()).select_from(events_table)).scalar_one()
    named: dict[str, Person] = {}
    for number, row in enumerate(rows):
        name = row.cells.get("reviewer", "").strip() or UNNAMED
        person = named.get(name) or _person(connection, name)
        named[name] = person
        item = by_key[find(row).key]
        verdict = row.verdict(task.kind, item.labels, task.class_names)
        _offer(connection, task, item, person)
        id_ = uuid.uuid5(NAMESPACE, f"{task.name}\0{item.code}\0{name}\0{number}\0{sorted(verdict.items())}")
        event = NewEvent(str(id_), task.name, item.code, "verdict", _time(row), verdict)
        appended = events.append(connection, tasks, person, [event])
        for reason in appended.refused.values():
            raise UserError(f"{row.where}: {reason}")
    after = connection.execute(select(func.count()).select_from(events_table)).scalar_one()
    return ImportedVotes(len(rows), after - before, tuple(sorted(named)))


def _key(item: Item) -> str:
    """What an item is in its source."""
    facts = item.facts
    return str(facts["id"]) if "id" in facts else f"{facts['set']}#{facts['frame']}"


def _time(row: VerdictRow) -> int:
    text = row.cells.get("time", "").strip()
    return int(text) if text.isdigit() and len(text) < 15 else 0


def _person(connection: Connection, name: str) -> Person:
    """The person of that name; a new one has no link."""
    row = connection.execute(select(people_table).where(people_table.c.name == name)).first()
    if row is not None:
        return people.find_person(connection, name)
    person, _ = people.add_person(connection, name, REVIEWER)
    return people.revoke_link(connection, person.name)


def _offer(connection: Connection, task: Task, item: Item, person: Person) -> None:
    """Put an item into a person's queue, if it is not there."""
    own = (queue.c.task == task.id, queue.c.person == person.id)
    if connection.execute(select(queue.c.place).where(queue.c.item == item.id, *own)).first() is not None:
        return
    last = connection.execute(select(func.max(queue.c.place)).where(*own)).scalar()
    place = 0 if last is None else last + 1
    row = {"task": task.id, "person": person.id, "place": place, "item": item.id}
    connection.execute(insert(queue).values(row | {"until": now_ms(), "judged": False}))
