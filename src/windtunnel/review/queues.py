"""Queues: every person has an order of their own; an item is offered to at most `overlap` people at a time.

A place of a queue never changes. An offer is a lease: until it ends, the place that it takes among the
`overlap` people of the item is kept. A verdict is accepted after its end too.

An item with `overlap` verdicts is closed for everybody else, also for those who hold it.

A person who has nothing left takes over leases of other people: of each of them at most half, those that the
other person would come to last. The only item of a person is taken over if the lease is not new. If both
judge such an item, it has more than `overlap` verdicts; all count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, func, insert, select, update

from windtunnel.review.records import CHECK, VOTE, WORK, Item, Person, now_ms
from windtunnel.review.tables import cursors, items, people, present, queue
from windtunnel.review.tasks import Task, read_item

# Items that a person may hold without a verdict.
MOST_HELD = 200
WINDOW = 100
# Items of a person's order that are scanned together: at first, and at most.
STEP, LARGEST_STEP = 256, 1024
# Items of a person's order that one request scans.
MOST_SCANNED = 2048
# If no more items than this need people, they are read directly, and not in a person's order.
FEW_OPEN = 2000
# The only item that a person holds is taken over if the lease was not renewed for this long.
RENEWED_MS = 2 * 60 * 1000
ALL_TAKEN = "All items are judged, or are kept for other people at the moment."
DECIDE_FIRST = f"You hold {MOST_HELD} items without a verdict; judge or go back to earlier ones first."
NO_MORE = "You have seen all items of this task."


@dataclass(frozen=True)
class Place:
    """A place of a queue: its item, the person's verdict, and whether the item needs none any more."""

    place: int
    item: Item
    verdict: Mapping[str, Any] | None
    closed: bool


@dataclass(frozen=True)
class Window:
    """A part of a queue: see `web/review_models.py`."""

    start: int
    places: tuple[Place, ...]
    length: int
    reason: str
    first_open: int


def window(connection: Connection, task: Task, person: Person, start: int, count: int) -> Window:
    """The places from `start` on; the queue is extended and leases are renewed if need be.

    Args:
        connection: of a write.
        task: the task.
        person: whose queue.
        start: the first place.
        count: at most this many, and at most `WINDOW`.
    """
    now = now_ms()
    reason = _extend(connection, task, person, start + min(count, WINDOW), now)
    places = _places(connection, task, person, start, min(count, WINDOW), now)
    _renew(connection, task, person, places, now)
    length = _length(connection, task, person)
    return Window(start, places, length, reason, _first_open(connection, task, person, length, now))


def fresh_window(connection: Connection, task: Task, person: Person, start: int, count: int) -> Window | None:
    """The places from `start` on if nothing has to be written for them, else None."""
    now = now_ms()
    count = min(count, WINDOW)
    places = _places(connection, task, person, start, count, now)
    renew = now + task.recipe.lease * 500
    ending = select(func.count()).where(
        *_own(task, person), queue.c.place.in_(_open_places(places)), queue.c.until < renew
    )
    if len(places) < count or connection.execute(ending).scalar():
        return None
    length = _length(connection, task, person)
    return Window(start, places, length, "", _first_open(connection, task, person, length, now))


def _own(task: Task, person: Person) -> tuple[Any, Any]:
    return queue.c.task == task.id, queue.c.person == person.id


def _length(connection: Connection, task: Task, person: Person) -> int:
    last = connection.execute(select(func.max(queue.c.place)).where(*_own(task, person))).scalar()
    return 0 if last is None else int(last) + 1


def _first_open(connection: Connection, task: Task, person: Person, length: int, now: int) -> int:
    found = connection.execute(
        select(queue.c.place)
        .join(items, items.c.id == queue.c.item)
        .where(
            *_own(task, person),
            ~queue.c.judged,
            _needs_verdicts(task),
            (items.c.role == CHECK)
            | (queue.c.until > now)
            | (items.c.verdicts + _held_by_others(queue.c.item, person, now) < task.recipe.overlap),
        )
        .order_by(queue.c.place)
        .limit(1)
    ).scalar()
    return length if found is None else int(found)


def _needs_verdicts(task: Task) -> Any:
    """Whether an item has fewer verdicts than the task asks for; those on check items are not counted."""
    return (items.c.role == CHECK) | (items.c.verdicts < task.recipe.overlap)


def _held_by_others(item: Any, person: Person, now: int) -> Any:
    """The number of other people who hold an item without a verdict."""
    other = queue.alias()
    held = (other.c.item == item, other.c.person != person.id, ~other.c.judged, other.c.until > now)
    return select(func.count()).where(*held).scalar_subquery()


def _extend(connection: Connection, task: Task, person: Person, wanted: int, now: int) -> str:
    """Add places until the queue has `wanted`; returns why it has fewer, or ""."""
    length = _length(connection, task, person)
    wanted = min(wanted, length + WINDOW)
    held = connection.execute(
        select(func.count())
        .select_from(queue)
        .join(items, items.c.id == queue.c.item)
        .where(*_own(task, person), ~queue.c.judged, queue.c.until > now, _needs_verdicts(task))
    ).scalar_one()
    reason = ""
    if length < wanted and held + wanted - length > MOST_HELD:
        wanted, reason = length + max(0, MOST_HELD - held), DECIDE_FIRST
    until = now + task.recipe.lease * 1000
    checks = task.order(person.code, CHECK)
    kinds = [task.check_number(person.code, place) for place in range(length, wanted)]
    wanted_work = sum(number is None for number in kinds)
    work = _open_items(connection, task, person, wanted_work, now)
    if wanted_work and not work and _first_open(connection, task, person, length, now) == length:
        work = _take_over(connection, task, person, wanted_work, now)
    rows: list[dict[str, Any]] = []
    for number in kinds:
        if number is not None:
            item = connection.execute(
                select(items.c.id).where(
                    items.c.task == task.id, items.c.role == CHECK, items.c.number == int(checks[number])
                )
            ).scalar_one()
        elif work:
            item = work.pop(0)
        else:
            placed = length - _checks_placed(connection, task, person)
            placed += sum(number is None for number in kinds[: len(rows)])
            reason = NO_MORE if placed == task.counts.get(WORK, 0) else ALL_TAKEN
            break
        row = {"task": task.id, "person": person.id, "place": length + len(rows), "item": item}
        rows.append(row | {"until": until, "judged": False})
    if rows:
        connection.execute(insert(queue), rows)
    return reason


def _checks_placed(connection: Connection, task: Task, person: Person) -> int:
    """The number of check items in a person's queue."""
    asked = (
        select(func.count())
        .select_from(items)
        .join(queue, and_(queue.c.item == items.c.id, queue.c.person == person.id))
        .where(items.c.task == task.id, items.c.role == CHECK)
    )
    return int(connection.execute(asked).scalar_one())


def most_places(connection: Connection, task: Task, person: Person) -> int:
    """The length of a person's queue once it has every work item, and the check items among them."""
    length = _length(connection, task, person)
    work = task.counts.get(WORK, 0) - (length - _checks_placed(connection, task, person))
    return task.length_after(person.code, length, work)


def _open_items(connection: Connection, task: Task, person: Person, count: int, now: int) -> list[int]:
    """The next items of a person's order that still need people, at most `count`."""
    if not count:
        return []
    is_open = items.c.verdicts < task.recipe.overlap
    first = select(items.c.id).where(items.c.task == task.id, items.c.role == WORK, is_open)
    counted = select(func.count()).select_from(first.limit(FEW_OPEN + 1).subquery())
    few = connection.execute(counted).scalar_one() <= FEW_OPEN
    taken = [] if few else _scan(connection, task, person, count, now)
    if len(taken) < count:
        # Also items that were kept for other people when this person's order came to them.
        late = _usable(connection, task, person, now, is_open, limit=FEW_OPEN)
        order = task.order(person.code, WORK)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        known = set(taken)
        taken += [late[number] for number in sorted(late, key=rank.__getitem__) if late[number] not in known]
    return taken[:count]


def _scan(connection: Connection, task: Task, person: Person, count: int, now: int) -> list[int]:
    """The next usable items after the cursor in a person's order; the cursor moves past them."""
    order = task.order(person.code, WORK)
    own = [cursors.c.task == task.id, cursors.c.person == person.id]
    stored = connection.execute(select(cursors.c.position).where(*own)).scalar()
    position = begun = int(stored or 0)
    step = STEP
    taken: list[int] = []
    while len(taken) < count and position < min(len(order), begun + MOST_SCANNED):
        numbers = [int(number) for number in order[position : position + step]]
        usable = _usable(connection, task, person, now, items.c.number.in_(numbers))
        for number in numbers:
            if len(taken) == count:
                break
            position += 1
            if number in usable:
                taken.append(usable[number])
        step = min(2 * step, LARGEST_STEP)
    if stored is None:
        connection.execute(insert(cursors).values(task=task.id, person=person.id, position=position))
    elif position != begun:
        connection.execute(update(cursors).where(*own).values(position=position))
    return taken


def _usable(
    connection: Connection, task: Task, person: Person, now: int, which: Any, limit: int | None = None
) -> dict[int, int]:
    """Number to id of the work items among some that need people and are not in this person's queue."""
    mine = select(queue.c.place).where(queue.c.item == items.c.id, queue.c.person == person.id).exists()
    asked = select(items.c.number, items.c.id).where(
        items.c.task == task.id,
        items.c.role == WORK,
        which,
        ~mine,  # before what others hold: it is found in an index alone
        items.c.verdicts + _held_by_others(items.c.id, person, now) < task.recipe.overlap,
    )
    return {row.number: row.id for row in connection.execute(asked.limit(limit))}


def _take_over(connection: Connection, task: Task, person: Person, count: int, now: int) -> list[int]:
    """Items that other people hold and would come to last, the oldest leases first, at most `count`.

    At most half of what each person holds is taken over, or a single item whose lease is not new; these
    leases end.
    """
    others = connection.execute(select(people.c.id).where(people.c.id != person.id)).scalars().all()
    own = queue.alias()
    mine = select(own.c.place).where(own.c.item == queue.c.item, own.c.person == person.id).exists()
    rows = connection.execute(
        select(queue.c.person, queue.c.place, queue.c.item, queue.c.until, mine.label("mine"))
        .join(items, items.c.id == queue.c.item)
        .where(
            queue.c.task == task.id,
            queue.c.person.in_(others),
            ~queue.c.judged,
            queue.c.until > now,
            items.c.role == WORK,
            items.c.verdicts < task.recipe.overlap,
        )
        .order_by(queue.c.person, queue.c.place.desc())
    ).all()
    held: dict[int, list[Row[Any]]] = {}
    for row in rows:
        held.setdefault(row.person, []).append(row)
    renewed = now + task.recipe.lease * 1000 - RENEWED_MS
    last = []
    for places in held.values():
        idle = len(places) == 1 and places[0].until <= renewed
        last += [row for row in places[: 1 if idle else len(places) // 2] if not row.mine]
    taken: dict[int, Row[Any]] = {}
    for row in sorted(last, key=lambda row: (row.until, -row.place)):
        if len(taken) < count:
            taken.setdefault(row.item, row)
    for row in taken.values():
        lease = (queue.c.item == row.item, queue.c.person == row.person)
        connection.execute(update(queue).where(*lease).values(until=now))
    return list(taken)


def _places(
    connection: Connection, task: Task, person: Person, start: int, count: int, now: int
) -> tuple[Place, ...]:
    """The stored places of a part of a queue."""
    held = _held_by_others(queue.c.item, person, now)
    vote = and_(present.c.item == items.c.id, present.c.channel == VOTE, present.c.person == person.id)
    rows = connection.execute(
        select(items, queue.c.place, queue.c.until, held.label("held"), present.c.verdict.label("own"))
        .join(items, items.c.id == queue.c.item)
        .join(present, vote, isouter=True)
        .where(*_own(task, person), queue.c.place.between(start, start + count - 1))
        .order_by(queue.c.place)
    ).all()
    return tuple(
        Place(
            row.place,
            read_item(row),
            None if row.own is None else json.loads(row.own),
            row.own is None
            and row.role == WORK
            and row.verdicts + (row.held if row.until <= now else 0) >= task.recipe.overlap,
        )
        for row in rows
    )


def _open_places(places: Sequence[Place]) -> list[int]:
    """The places whose items need a verdict of the person."""
    return [place.place for place in places if place.verdict is None and not place.closed]


def _renew(connection: Connection, task: Task, person: Person, places: Sequence[Place], now: int) -> None:
    """Begin the leases of the open items of a window again."""
    numbers = _open_places(places)
    if numbers:
        until = now + task.recipe.lease * 1000
        connection.execute(
            update(queue).where(*_own(task, person), queue.c.place.in_(numbers)).values(until=until)
        )
