"""Progress of a task: what is decided, and how fast each person works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sqlalchemy import Connection, func, select

from windtunnel.review.events import IMPORTED
from windtunnel.review.kinds import ACCEPT, CONFLICT, OPEN, REJECT
from windtunnel.review.people import list_people
from windtunnel.review.practice import PracticeRound, practice_round
from windtunnel.review.records import PRACTICE, REVIEWER, VOTE, WORK, Person
from windtunnel.review.tables import events, items, present
from windtunnel.review.tasks import Task
from windtunnel.review.votes import check_results, outcome_counts

# A longer time between two verdicts is a pause.
PAUSE_MS = 5 * 60 * 1000
# The last verdicts of a person from which the speed is computed.
LAST = 2000


@dataclass(frozen=True)
class PersonProgress:
    """What one person has done in a task: see `web/review_models.py`."""

    person: Person
    judged: int
    per_hour: float | None
    median_seconds: float | None
    checks: int
    checks_correct: int
    practice: PracticeRound
    last: int | None


@dataclass(frozen=True)
class TaskProgress:
    """How far a task is.

    Attributes:
        task: the task.
        open: work items with fewer verdicts than the task asks for.
        accepted, rejected: decided by a strict majority or in the second pass.
        conflicts: items for the second pass.
        resolved: items that the second pass has decided.
        people: every reviewer, and owners who have judged something.
    """

    task: Task
    open: int
    accepted: int
    rejected: int
    conflicts: int
    resolved: int
    people: tuple[PersonProgress, ...]


def task_progress(connection: Connection, task: Task) -> TaskProgress:
    """How far a task is."""
    counts = outcome_counts(connection, task)
    judged = {
        row.person: int(row.votes)
        for row in connection.execute(
            select(present.c.person, func.count().label("votes"))
            .join(items, items.c.id == present.c.item)
            .where(present.c.task == task.id, present.c.channel == VOTE, items.c.role == WORK)
            .group_by(present.c.person)
        )
    }
    checks = check_results(connection, task)
    rows = [
        _of_person(connection, task, person, judged.get(person.id, 0), checks.get(person.id, (0, 0)))
        for person in list_people(connection)
        if person.role == REVIEWER or person.id in judged
    ]
    return TaskProgress(
        task, counts[OPEN], counts[ACCEPT], counts[REJECT], counts[CONFLICT], counts["resolved"], tuple(rows)
    )


def _of_person(
    connection: Connection, task: Task, person: Person, judged: int, checks: tuple[int, int]
) -> PersonProgress:
    rows = connection.execute(
        select(events.c.client_time, events.c.server_time, events.c.seconds, events.c.action)
        .join(items, items.c.id == events.c.item)
        .where(
            events.c.task == task.id,
            events.c.person == person.id,
            events.c.channel == VOTE,
            items.c.role != PRACTICE,
            ~IMPORTED,  # their times say nothing about the work here
        )
        .order_by(events.c.seq.desc())
        .limit(LAST)
    ).all()
    shown = [row.seconds for row in rows if row.seconds is not None and row.action == "verdict"]
    times = sorted(row.client_time for row in rows if row.action == "verdict")
    return PersonProgress(
        person,
        judged,
        hourly_rate(times),
        float(median(shown)) if shown else None,
        *checks,
        practice_round(connection, task, person),
        rows[0].server_time if rows else None,
    )


def hourly_rate(times: Sequence[int]) -> float | None:
    """Verdicts in an hour of work, given their times in ms; None if there are fewer than two.

    Pauses of more than five minutes do not count as work.
    """
    gaps = [later - earlier for earlier, later in pairwise(times)]
    working = [gap for gap in gaps if gap <= PAUSE_MS]
    total = sum(working)
    return 3_600_000 * len(working) / total if total else None
