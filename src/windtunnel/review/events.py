"""Events: stored once, never changed; the present verdicts are a fold of them.

The events of a person on an item are ordered by the time at which they were made, so that of two devices the
later verdict is in force, whichever arrives first. `made_at` is that time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import ACCEPT, CONFLICT, OPEN, verdict_json
from windtunnel.review.records import DECISION, OWNER, PRACTICE, VOTE, WORK, NewEvent, Person, now_ms
from windtunnel.review.tables import events, items, present, queue
from windtunnel.review.tasks import Task

# The ids of imported events are UUIDs of this version: made from rows and not at random.
IMPORTED_VERSION = "5"
IMPORTED = func.substr(events.c.event, 15, 1) == IMPORTED_VERSION


@dataclass(frozen=True)
class Appended:
    """What became of some events.

    Attributes:
        acknowledged: ids of events that are stored, now or earlier.
        refused: by id, why an event was not stored.
        present: by public id of each item, the verdict in force after them; None for none.
    """

    acknowledged: tuple[str, ...]
    refused: Mapping[str, str]
    present: Mapping[tuple[str, str], Mapping[str, Any] | None]


def append(
    connection: Connection, tasks: Mapping[str, Task], person: Person, new: Sequence[NewEvent]
) -> Appended:
    """Store the events that are new and valid, in their order, and derive what they change.

    Args:
        connection: of a write.
        tasks: the tasks by name.
        person: who made the events.
        new: the events.
    """
    acknowledged: list[str] = []
    refused: dict[str, str] = {}
    in_force: dict[tuple[str, str], Mapping[str, Any] | None] = {}
    for event in new:
        try:
            in_force[event.task, event.item] = _append(connection, tasks, person, event)
            acknowledged.append(event.event)
        except UserError as error:
            refused[event.event] = str(error)
    return Appended(tuple(acknowledged), refused, in_force)


def _append(
    connection: Connection, tasks: Mapping[str, Task], person: Person, event: NewEvent
) -> Mapping[str, Any] | None:
    """Store one event; returns the verdict in force after it."""
    task = tasks.get(event.task)
    if task is None:
        raise UserError(f"Unknown task '{event.task[:60]}'.")
    item = connection.execute(
        select(items.c.id, items.c.role, items.c.labels, items.c.outcome, items.c.decided, queue.c.judged)
        .join(queue, and_(queue.c.item == items.c.id, queue.c.person == person.id), isouter=True)
        .where(items.c.task == task.id, items.c.code == event.item)
    ).first()
    if item is None:
        raise UserError(f"The task {task.name} has no item '{event.item[:60]}'.")
    asked = events.c.event.in_([event.event, event.target or ""])
    known = {row.event: row for row in connection.execute(select(events).where(asked))}
    stored, target = known.get(event.event), known.get(event.target or "")
    channel = _channel(event, stored or target, person)
    if stored is not None:
        if stored.person != person.id or stored.item != item.id:
            raise UserError("Another event has this id; make a new one.")
        return _present_verdict(connection, item.id, channel, person)
    verdict = _checked_verdict(task, event)
    _check_target(event, target, item.id, channel, person)
    if channel == VOTE and item.role != PRACTICE and item.judged is None:
        raise UserError("This item is not in your queue.")
    in_second_pass = item.role == WORK and (item.outcome == CONFLICT or item.decided)
    if channel == DECISION and event.action != "undo" and not in_second_pass:
        raise UserError("The second pass decides items in conflict only; this one is not.")
    text = None if verdict is None else json.dumps(verdict, ensure_ascii=False)
    connection.execute(
        insert(events).values(
            event=event.event,
            task=task.id,
            item=item.id,
            person=person.id,
            channel=channel,
            action=event.action,
            verdict=text,
            target=event.target,
            client_time=event.client_time,
            server_time=now_ms(),
            seconds=event.seconds,
        )
    )
    last = _last_vote(connection, task, item.id, person) if channel == VOTE and text is not None else None
    if last is not None and last.event == event.event:
        # A new verdict is in force whatever was before it.
        _set_present(connection, task, item.id, person, last)
        if item.judged is False:
            _set_judged(connection, item.id, person.id, judged=True)
        if item.role == WORK:
            _derive_outcome(connection, task, item.id, json.loads(item.labels))
        return verdict
    derive(connection, task, item.id, [(channel, person.id)])
    return _present_verdict(connection, item.id, channel, person)


def _channel(event: NewEvent, other: Row[Any] | None, person: Person) -> str:
    """Whether an event is a vote or a decision; that of an undo is that of the event it names."""
    if event.action in ("decide", "verdict"):
        channel = DECISION if event.action == "decide" else VOTE
    else:
        channel = VOTE if other is None else str(other.channel)
    if channel == DECISION and person.role != OWNER:
        raise UserError("Only the owner decides in the second pass.")
    return channel


def _checked_verdict(task: Task, event: NewEvent) -> Mapping[str, Any] | None:
    if event.action in ("undo", "redo"):
        if event.verdict is not None:
            raise UserError(f"The action {event.action} takes no verdict.")
        return None
    if event.target is not None:
        raise UserError(f"The action {event.action} takes no target.")
    return verdict_json(task.kind.read(event.verdict, task.class_names))


def _check_target(event: NewEvent, target: Row[Any] | None, item: int, channel: str, person: Person) -> None:
    if event.action not in ("undo", "redo"):
        return
    own = target is not None and (channel == DECISION or target.person == person.id)
    if target is None or not own or target.item != item or target.action not in ("verdict", "decide"):
        raise UserError(f"There is no verdict to {event.action}: no such event of yours on this item.")


def _present_verdict(
    connection: Connection, item: int, channel: str, person: Person
) -> Mapping[str, Any] | None:
    where = [present.c.item == item, present.c.channel == channel]
    if channel == VOTE:
        where.append(present.c.person == person.id)
    text = connection.execute(select(present.c.verdict).where(*where)).scalar()
    return None if text is None else json.loads(text)


def _set_present(connection: Connection, task: Task, item: int, person: Person, last: Row[Any]) -> None:
    """Put a vote in force in place of the person's earlier one."""
    values = {"event": last.event, "verdict": last.verdict, "time": made_at(task, last)}
    own = {"item": item, "channel": VOTE, "person": person.id}
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(
        upsert(present)
        .values(**own, **values, task=task.id)
        .on_conflict_do_update(index_elements=list(own), set_=values)
    )


def _set_judged(connection: Connection, item: int, person: int, *, judged: bool) -> None:
    own = and_(queue.c.item == item, queue.c.person == person)
    connection.execute(update(queue).where(own).values(judged=judged))


def is_imported(row: Any) -> bool:
    """Whether an event was imported from a table."""
    return bool(row.event[14:15] == IMPORTED_VERSION)


def made_at(task: Task, row: Any) -> int:
    """When an event was made, in milliseconds since 1970: the time of the person's clock, within limits.

    A time after the arrival counts as the arrival, a time before the task was created as its creation. So
    events of one device, whose times never decrease, keep their order, whatever its clock says. An imported
    event has the time of its row, which may be before the task.
    """
    earliest = 0 if is_imported(row) else task.created
    return int(max(earliest, min(row.client_time, row.server_time)))


def in_order(task: Task, rows: Iterable[Any]) -> list[Any]:
    """The votes of one person on one item in the order in which they were made; ties as they were stored."""
    return sorted(rows, key=lambda row: (made_at(task, row), row.seq))


def _last_vote(connection: Connection, task: Task, item: int, person: Person) -> Row[Any]:
    """The last event that a person made on an item, of those of votes."""
    own = (events.c.item == item, events.c.channel == VOTE, events.c.person == person.id)
    last: Row[Any] = in_order(task, connection.execute(select(events).where(*own)).all())[-1]
    return last


def fold(rows: Iterable[Any]) -> Any | None:
    """The event in force among those of one person on one item: the last verdict that is not undone.

    An undo takes back the event it names, a redo restores it; the last of both counts.

    Args:
        rows: events in their order.
    """
    undone: dict[str, bool] = {}
    verdicts = []
    for row in rows:
        if row.action in ("undo", "redo"):
            undone[row.target] = row.action == "undo"
        else:
            verdicts.append(row)
    return next((row for row in reversed(verdicts) if not undone.get(row.event)), None)


def in_force(task: Task, channel: str, rows: Sequence[Any]) -> Any | None:
    """The event in force among votes of one person on one item, or decisions on one item.

    Decisions are made jointly: those of all owners are one line of events, in the order of their arrival.
    """
    return fold(in_order(task, rows) if channel == VOTE else sorted(rows, key=lambda row: row.seq))


def derive(connection: Connection, task: Task, item: int, changed: Iterable[tuple[str, int]]) -> None:
    """Compute what depends on the events of an item: verdicts in force, its outcome, and queues.

    Args:
        connection: of a write.
        task: the task of the item.
        item: the item.
        changed: the channels and people whose events have changed.
    """
    for channel, person in changed:
        own = [events.c.item == item, events.c.channel == channel]
        place = [present.c.item == item, present.c.channel == channel]
        if channel == VOTE:
            own.append(events.c.person == person)
            place.append(present.c.person == person)
        last = in_force(task, channel, connection.execute(select(events).where(*own)).all())
        connection.execute(delete(present).where(*place))
        if last is not None:
            connection.execute(
                insert(present).values(
                    item=item,
                    channel=channel,
                    person=last.person,
                    task=task.id,
                    event=last.event,
                    verdict=last.verdict,
                    time=made_at(task, last),
                )
            )
        if channel == VOTE:
            _set_judged(connection, item, person, judged=last is not None)
    stored = connection.execute(select(items.c.role, items.c.labels).where(items.c.id == item)).one()
    if stored.role == WORK:
        _derive_outcome(connection, task, item, json.loads(stored.labels))


def _derive_outcome(connection: Connection, task: Task, item: int, labels: Sequence[str]) -> None:
    asked = select(present.c.channel, present.c.verdict).where(present.c.item == item)
    rows = [(row.channel, row.verdict) for row in connection.execute(asked)]
    connection.execute(update(items).where(items.c.id == item).values(outcome_values(task, rows, labels)))


def outcome_values(task: Task, rows: Iterable[tuple[str, str]], labels: Sequence[str]) -> dict[str, Any]:
    """The derived columns of a work item.

    Args:
        task: its task.
        rows: channel and stored verdict of everything in force on it.
        labels: the classes it is said to have.
    """
    votes, decision = [], None
    for channel, text in rows:
        verdict = task.kind.read(json.loads(text))
        if channel == DECISION:
            decision = verdict
        else:
            votes.append(verdict)
    result = outcome(task, votes, decision, labels)
    return {"verdicts": len(votes), "outcome": result, "decided": decision is not None}


def outcome(task: Task, votes: Sequence[Any], decision: Any | None, labels: Sequence[str]) -> str:
    """What votes and the decision of the second pass mean: `open`, `accept`, `reject` or `conflict`."""
    if decision is not None:
        return task.kind.decided(decision, labels)
    if len(votes) < task.recipe.overlap:
        return OPEN
    flagged = any(task.kind.vote(vote, labels) != ACCEPT for vote in votes)
    if task.recipe.second_pass == "flagged" and flagged:
        return CONFLICT
    return task.kind.outcome(votes, labels)
