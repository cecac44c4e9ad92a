"""Events: stored once, never changed; the present verdicts are a fold of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, insert, select, update

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import ACCEPT, CONFLICT, OPEN, verdict_json
from windtunnel.review.records import DECISION, OWNER, VOTE, WORK, NewEvent, Person, now_ms
from windtunnel.review.tables import events, items, present, queue
from windtunnel.review.tasks import Task

# Events of people that have no id of a browser, such as imported votes, are refused beyond these lengths.
UUID_CHARACTERS = 36


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
    task = tasks.get(event.task)
    if task is None:
        raise UserError(f"Unknown task '{event.task[:60]}'.")
    item = connection.execute(
        select(items.c.id, items.c.role, items.c.labels).where(
            items.c.task == task.id, items.c.code == event.item
        )
    ).first()
    if item is None:
        raise UserError(f"The task {task.name} has no item '{event.item[:60]}'.")
    stored = connection.execute(select(events).where(events.c.event == event.event)).first()
    channel = _channel(connection, event, stored, person)
    if stored is not None:
        if stored.person != person.id or stored.item != item.id:
            raise UserError("Another event has this id; make a new one.")
        return _in_force(connection, item.id, channel, person)
    verdict = _checked_verdict(task, event)
    _check_target(connection, event, item.id, channel, person)
    if channel == VOTE and item.role != "practice":
        _check_offered(connection, item.id, person)
    connection.execute(
        insert(events).values(
            event=event.event,
            task=task.id,
            item=item.id,
            person=person.id,
            channel=channel,
            action=event.action,
            verdict=None if verdict is None else json.dumps(verdict, ensure_ascii=False),
            target=event.target,
            client_time=event.client_time,
            server_time=now_ms(),
            seconds=event.seconds,
        )
    )
    derive(connection, task, item.id, [(channel, person.id)])
    return _in_force(connection, item.id, channel, person)


def _channel(connection: Connection, event: NewEvent, stored: Row[Any] | None, person: Person) -> str:
    """Whether an event is a vote or a decision; that of an undo is its target's."""
    if event.action == "decide":
        channel = DECISION
    elif event.action == "verdict":
        channel = VOTE
    elif stored is not None:
        channel = str(stored.channel)
    else:
        asked = select(events.c.channel).where(events.c.event == event.target)
        channel = str(connection.execute(asked).scalar() or VOTE)
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


def _check_target(connection: Connection, event: NewEvent, item: int, channel: str, person: Person) -> None:
    if event.action not in ("undo", "redo"):
        return
    target = connection.execute(select(events).where(events.c.event == event.target)).first()
    own = target is not None and (channel == DECISION or target.person == person.id)
    if target is None or not own or target.item != item or target.action not in ("verdict", "decide"):
        raise UserError(f"There is no verdict to {event.action}: no such event of yours on this item.")


def _check_offered(connection: Connection, item: int, person: Person) -> None:
    offered = select(queue.c.place).where(queue.c.item == item, queue.c.person == person.id)
    if connection.execute(offered).first() is None:
        raise UserError("This item is not in your queue.")


def _in_force(connection: Connection, item: int, channel: str, person: Person) -> Mapping[str, Any] | None:
    where = [present.c.item == item, present.c.channel == channel]
    if channel == VOTE:
        where.append(present.c.person == person.id)
    text = connection.execute(select(present.c.verdict).where(*where)).scalar()
    return None if text is None else json.loads(text)


def fold(rows: Iterable[Any]) -> Any | None:
    """The event in force among those of one person on one item: the last verdict that is not undone.

    An undo takes back the event it names, a redo restores it; the last of both counts.

    Args:
        rows: events in the order in which they were stored.
    """
    undone: dict[str, bool] = {}
    verdicts = []
    for row in rows:
        if row.action in ("undo", "redo"):
            undone[row.target] = row.action == "undo"
        else:
            verdicts.append(row)
    return next((row for row in reversed(verdicts) if not undone.get(row.event)), None)


def derive(connection: Connection, task: Task, item: int, changed: Iterable[tuple[str, int]]) -> None:
    """Compute what depends on the events of an item: verdicts in force, its outcome, and queues.

    Args:
        connection: of a write.
        task: the task of the item.
        item: the item.
        changed: the channels and people whose events have changed.
    """
    for channel, person in changed:
        # Decisions are made jointly: those of all owners are one line of events.
        own = [events.c.item == item, events.c.channel == channel]
        place = [present.c.item == item, present.c.channel == channel]
        if channel == VOTE:
            own.append(events.c.person == person)
            place.append(present.c.person == person)
        last = fold(connection.execute(select(events).where(*own).order_by(events.c.seq)).all())
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
                    time=last.server_time,
                )
            )
        if channel == VOTE:
            connection.execute(
                update(queue)
                .where(and_(queue.c.item == item, queue.c.person == person))
                .values(judged=last is not None)
            )
    _derive_outcome(connection, task, item)


def _derive_outcome(connection: Connection, task: Task, item: int) -> None:
    stored = connection.execute(select(items.c.role, items.c.labels).where(items.c.id == item)).one()
    if stored.role != WORK:
        return
    labels = json.loads(stored.labels)
    votes, decision = [], None
    for row in connection.execute(select(present.c.channel, present.c.verdict).where(present.c.item == item)):
        verdict = task.kind.read(json.loads(row.verdict))
        if row.channel == DECISION:
            decision = verdict
        else:
            votes.append(verdict)
    connection.execute(
        update(items)
        .where(items.c.id == item)
        .values(
            verdicts=len(votes),
            outcome=outcome(task, votes, decision, labels),
            decided=decision is not None,
        )
    )


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


def rebuild(connection: Connection, tasks: Mapping[str, Task]) -> None:
    """Compute everything that is derived from events again."""
    by_id = {task.id: task for task in tasks.values()}
    connection.execute(delete(present))
    connection.execute(update(queue).values(judged=False))
    connection.execute(update(items).values(verdicts=0, outcome=OPEN, decided=False))
    columns = (events.c.task, events.c.item, events.c.channel, events.c.person)
    changed: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for row in connection.execute(select(*columns).distinct()):
        changed.setdefault((row.task, row.item), []).append((row.channel, row.person))
    for (task, item), lines in changed.items():
        derive(connection, by_id[task], item, lines)
