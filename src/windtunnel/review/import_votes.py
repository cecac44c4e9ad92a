"""Import of earlier votes: each row becomes an event of a person of that name.

All rows are checked before the first is stored. They are stored in parts, so that people can save their
verdicts meanwhile. An import that is interrupted is completed by repeating it.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select

from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed
from windtunnel.review import events, people
from windtunnel.review.records import REVIEWER, VOTE, WORK, Item, NewEvent, NewItem, Person, now_ms
from windtunnel.review.tables import events as events_table
from windtunnel.review.tables import items, queue
from windtunnel.review.tables import people as people_table
from windtunnel.review.tasks import Task, read_item
from windtunnel.review.verdict_tables import VerdictRow, lookup

# Seconds of one transaction; people who save their verdicts meanwhile wait for as long.
PART_SECONDS = 0.2
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
        outdated: rows that are left out because the person has judged the item later.
        other_tasks: rows that are left out because they are of other tasks.
        replaced: rows that are left out because the same person has a later row on the same item.
        people: names that occur; those without a link get one with `review people --renew`.
    """

    rows: int
    added: int
    people: tuple[str, ...]
    outdated: int = 0
    other_tasks: int = 0
    replaced: int = 0


@dataclass(frozen=True)
class TableVote:
    """A row that is checked: the item, the person's name and the event."""

    item: Item
    person: str
    event: NewEvent
    where: str


@dataclass(frozen=True)
class VoteTable:
    """The checked votes of one task, one of each person on an item, and the names that occur.

    Attributes:
        replaced: rows that a later one of the same person on the same item replaces.
    """

    votes: tuple[TableVote, ...]
    people: tuple[str, ...]
    replaced: int


@dataclass(frozen=True)
class ImportedPart:
    """How many votes of a part are handled, new, and left out because of later ones."""

    votes: int
    added: int
    outdated: int


def read_votes(connection: Connection, task: Task, rows: Sequence[VerdictRow]) -> VoteTable:
    """Check the votes of a table against a task; nothing is stored.

    Args:
        connection: of a read.
        task: the task whose items were judged.
        rows: the votes. Of a table of several tasks, only the rows of this one are taken.
    """
    stored = connection.execute(
        select(items).where(items.c.task == task.id, items.c.role == WORK).order_by(items.c.number)
    ).all()
    found = [read_item(row) for row in stored]
    by_key = {_key(item): item for item in found}
    find = lookup([NewItem(_key(item), item.media, item.labels, item.facts) for item in found])
    names: set[str] = set()
    occurrences: Counter[tuple[str, str]] = Counter()
    votes: dict[tuple[str, str], TableVote] = {}
    own = _of_task(task, rows)
    for row in own:
        given = people.plain_name(row.cells.get("reviewer", ""))
        name = given or UNNAMED
        if name not in names:
            _refuse_name(name, row.where)
            names.add(name)
        item = by_key[find(row).key]
        verdict = row.verdict(task.kind, item.labels, task.class_names)
        when = _time(row)
        number = occurrences[item.code, name]
        if number and not given:
            raise UserError(
                f"{row.where} is another vote on the item {row.key} without a reviewer; "
                "name the people in the column reviewer."
            )
        occurrences[item.code, name] += 1
        facts = (task.name, item.code, name, sorted(verdict.items()), when, number)
        event = NewEvent(
            str(uuid.uuid5(NAMESPACE, repr(facts))), task.name, item.code, "verdict", when, verdict
        )
        earlier = votes.get((item.code, name))
        if earlier is None or when >= earlier.event.client_time:
            votes[item.code, name] = TableVote(item, name, event, row.where)
    return VoteTable(tuple(votes.values()), tuple(sorted(names)), len(own) - len(votes))


def import_part(
    connection: Connection, tasks: Mapping[str, Task], task: Task, votes: Sequence[TableVote], begin: int
) -> ImportedPart:
    """Store the next checked votes, for `PART_SECONDS`; those that are stored already are not stored again.

    Args:
        connection: of a write.
        tasks: all tasks by name.
        task: the task whose items were judged.
        votes: the checked votes of the table.
        begin: the first one to store.
    """
    named: dict[str, Person] = {}
    added = outdated = 0
    end = time.monotonic() + PART_SECONDS
    handled = 0
    while begin + handled < len(votes) and (not handled or time.monotonic() < end):
        vote = votes[begin + handled]
        handled += 1
        person = named.get(vote.person) or _person(connection, vote.person)
        named[vote.person] = person
        earlier = _events(connection, vote.item, person)
        known = any(row.event == vote.event.event for row in earlier)
        if known or _is_in_force(task, earlier, vote.event.verdict):
            continue
        if any(_is_later(task, row, vote.event) for row in earlier):
            outdated += 1
            continue
        _offer(connection, task, vote.item, person)
        appended = events.append(connection, tasks, person, [vote.event])
        for reason in appended.refused.values():
            raise UserError(f"{vote.where}: {reason}")
        added += 1
    return ImportedPart(handled, added, outdated)


def _of_task(task: Task, rows: Sequence[VerdictRow]) -> Sequence[VerdictRow]:
    """The rows of a task; a table of a single task, whatever its name, is taken whole."""
    names = {row.cells.get("task", "").strip() for row in rows}
    if len(names) < 2:
        return rows
    if task.name not in names:
        raise UserError(
            f"The table has the tasks {listed(sorted(names))}, not {task.name}; give a table of one task."
        )
    return [row for row in rows if row.cells.get("task", "").strip() == task.name]


def _events(connection: Connection, item: Item, person: Person) -> Sequence[Row[Any]]:
    """The events of a person's votes on an item."""
    own = (events_table.c.item == item.id, events_table.c.person == person.id, events_table.c.channel == VOTE)
    return connection.execute(select(events_table).where(*own)).all()


def _is_in_force(task: Task, earlier: Sequence[Row[Any]], verdict: Mapping[str, Any] | None) -> bool:
    last = events.in_force(task, VOTE, earlier)
    # JSON has lists where records have tuples.
    return last is not None and json.loads(last.verdict) == json.loads(json.dumps(verdict))


def _is_later(task: Task, row: Row[Any], vote: NewEvent) -> bool:
    """Whether a stored event was made after an imported vote.

    At the same time, an event of the review itself is the later one: the table may be an earlier export.
    """
    made = events.made_at(task, row)
    return made > vote.client_time or (made == vote.client_time and not events.is_imported(row))


def _key(item: Item) -> str:
    """What an item is in its source."""
    facts = item.facts
    return str(facts["id"]) if "id" in facts else f"{facts['set']}#{facts['frame']}"


def _time(row: VerdictRow) -> int:
    text = row.cells.get("time", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else 0


def _refuse_name(name: str, where: str) -> None:
    try:
        people.refuse_name(name)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


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
