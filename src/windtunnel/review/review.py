"""The review of a project: everything that commands and pages ask of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress, silent
from windtunnel.review import agreement, events, people, practice, progress, queues, votes
from windtunnel.review.database import AUDIT_FILE, Database, open_database
from windtunnel.review.import_votes import ImportedPart, ImportedVotes, import_part, read_votes
from windtunnel.review.rebuild import Rebuilt, item_parts, last_rebuild, rebuild_part, record_rebuild
from windtunnel.review.records import EXAMPLE, Item, NewEvent, NewItem, Person, TaskRecipe
from windtunnel.review.tables import events as events_table
from windtunnel.review.tables import items as items_table
from windtunnel.review.tables import people as people_table
from windtunnel.review.tables import queue, tasks
from windtunnel.review.tasks import Task, create_task, find_task, read_item, read_tasks
from windtunnel.review.verdict_tables import VerdictRow

# Tasks are read again after this many seconds.
TASKS_SECONDS = 1.0


class PracticeFirst(UserError):
    """The practice round is not passed yet."""


class Review:
    """Tasks, people and verdicts of one project; a context manager that closes the database.

    Attributes:
        folder: the project's folder; media are files in it.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self._database = database
        self._lock = threading.Lock()
        self._tasks: tuple[tuple[int, int], dict[str, Task]] = ((0, 0), {})
        self._current_until = 0.0
        self._agreement: dict[int, tuple[tuple[int, str], agreement.TaskAgreement]] = {}

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish writing and close the database."""
        self._database.close()

    def one_state(self) -> AbstractContextManager[None]:
        """Let everything that this thread reads see one state, whatever is stored meanwhile."""
        return self._database.one_state()

    @property
    def audit_file(self) -> Path:
        """The file that records who signed in, decided, exported and was refused."""
        return self.folder / AUDIT_FILE

    # Tasks

    def tasks(self) -> dict[str, Task]:
        """Every task, by name; those that another process creates are found after a second."""
        if time.monotonic() < self._current_until:
            return self._tasks[1]
        with self._lock, self._database.reading() as connection:
            count, last = connection.execute(select(func.count(), func.max(tasks.c.id))).one()
            state = (int(count), int(last or 0))
            if state != self._tasks[0]:
                self._tasks = (state, read_tasks(connection))
            self._current_until = time.monotonic() + TASKS_SECONDS
            return self._tasks[1]

    def task(self, name: str) -> Task:
        """The task of that name; refuses an unknown one."""
        return find_task(self.tasks(), name)

    def create_task(self, name: str, kind: str, recipe: TaskRecipe, new: Sequence[NewItem]) -> Task:
        """Store a task with its items."""
        self._database.write(lambda connection: create_task(connection, name, kind, recipe, new))
        self._current_until = 0.0
        return self.task(name)

    def item(self, task: str, code: str) -> Item | None:
        """An item by its public id, or None."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(items_table).where(
                    items_table.c.task == self.task(task).id, items_table.c.code == code
                )
            ).first()
        return None if row is None else read_item(row)

    # People

    def add_person(self, name: str, role: str) -> tuple[Person, str]:
        """Add a person; returns the secret of the link, which is not stored."""
        return self._database.write(lambda connection: people.add_person(connection, name, role))

    def renew_link(self, name: str) -> tuple[Person, str]:
        """Give a person a new link; the old one and all sessions end."""
        return self._database.write(lambda connection: people.renew_link(connection, name))

    def revoke_link(self, name: str) -> Person:
        """End a person's link and sessions; the verdicts stay."""
        return self._database.write(lambda connection: people.revoke_link(connection, name))

    def people(self) -> list[Person]:
        """Everybody, in the order in which they were added."""
        with self._database.reading() as connection:
            return people.list_people(connection)

    def link_person(self, token: str) -> Person | None:
        """The person of the secret of a link; None if no person has it."""
        with self._database.reading() as connection:
            return people.link_person(connection, token)

    def begin_session(self, token: str) -> tuple[Person, str] | None:
        """Exchange the secret of a link for that of a session; None if no person has it."""
        return self._database.write(lambda connection: people.begin_session(connection, token))

    def session_person(self, session: str) -> Person | None:
        """The person of a session; None for an unknown or ended one."""
        with self._database.reading() as connection:
            return people.session_person(connection, session)

    def end_session(self, session: str) -> None:
        """End a session."""
        self._database.write(lambda connection: people.end_session(connection, session))

    # Work

    def append(self, person: Person, new: Sequence[NewEvent]) -> events.Appended:
        """Store events; what is acknowledged is on the disk."""
        known = self.tasks()
        return self._database.write(lambda connection: events.append(connection, known, person, new))

    def window(self, task: Task, person: Person, start: int, count: int) -> queues.Window:
        """A part of a person's queue; refuses before the practice round is passed."""
        with self._database.reading() as connection:
            if not practice.practice_round(connection, task, person).passed:
                raise PracticeFirst("The practice round comes first; solve it, then the work begins.")
            found = queues.fresh_window(connection, task, person, start, count)
        if found is not None:
            return found
        return self._database.write(lambda connection: queues.window(connection, task, person, start, count))

    def practice(self, task: Task, person: Person) -> practice.PracticeRound:
        """The practice round of a person."""
        with self._database.reading() as connection:
            return practice.practice_round(connection, task, person)

    def examples(self, task: Task) -> list[Item]:
        """The solved examples of the instructions."""
        with self._database.reading() as connection:
            asked = select(items_table).where(items_table.c.task == task.id, items_table.c.role == EXAMPLE)
            return [read_item(row) for row in connection.execute(asked.order_by(items_table.c.number))]

    def judged(self, task: Task, person: Person) -> int:
        """How many items a person has judged; hidden checks count, as they look like other items."""
        with self._database.reading() as connection:
            asked = select(func.count()).where(
                queue.c.task == task.id, queue.c.person == person.id, queue.c.judged
            )
            return int(connection.execute(asked).scalar_one())

    def most_places(self, task: Task, person: Person) -> int:
        """How many items a person can judge at most; of spare check items, only those that have a place."""
        with self._database.reading() as connection:
            return queues.most_places(connection, task, person)

    def finished(self, task: Task) -> int:
        """How many work items have as many verdicts as the task asks for."""
        with self._database.reading() as connection:
            asked = select(func.count()).where(
                items_table.c.task == task.id,
                items_table.c.role == "work",
                items_table.c.verdicts >= task.recipe.overlap,
            )
            return int(connection.execute(asked).scalar_one())

    # Owners

    def progress(self, task: Task) -> progress.TaskProgress:
        """What is decided, and how fast each person works."""
        with self._database.reading() as connection:
            return progress.task_progress(connection, task)

    def agreement(self, task: Task) -> agreement.TaskAgreement:
        """Agreement of the people, and their accuracy where answers are known; kept until events come."""
        with self._database.reading() as connection:
            counted = select(func.count()).where(events_table.c.task == task.id)
            state = (int(connection.execute(counted).scalar_one()), last_rebuild(connection))
            known = self._agreement.get(task.id)
            if known is None or known[0] != state:
                known = self._agreement[task.id] = (state, agreement.task_agreement(connection, task))
            return known[1]

    def conflicts(self, task: Task, start: int, count: int) -> votes.ConflictWindow:
        """A part of the items of the second pass; undecided ones first."""
        with self._database.reading() as connection:
            return votes.conflicts(connection, task, start, count)

    def judged_items(self, task: Task, roles: Sequence[str] = ("work",)) -> Iterator[votes.JudgedItem]:
        """Every item of some roles with its votes."""
        with self._database.reading() as connection:
            yield from votes.judged_items(connection, task, roles)

    def event_rows(self, task: Task) -> Iterator[dict[str, Any]]:
        """Every event of a task in the order in which it was stored, for export."""
        with self._database.reading() as connection:
            asked = (
                select(events_table, items_table.c.code, items_table.c.role, people_table.c.name)
                .join(items_table, items_table.c.id == events_table.c.item)
                .join(people_table, people_table.c.id == events_table.c.person)
                .where(events_table.c.task == task.id)
                .order_by(events_table.c.seq)
            )
            for row in connection.execute(asked):
                yield {
                    "event": row.event,
                    "task": task.name,
                    "item": row.code,
                    "role": row.role,
                    "reviewer": row.name,
                    "action": row.action,
                    "verdict": row.verdict,
                    "target": row.target,
                    "client_time": row.client_time,
                    "server_time": row.server_time,
                    "seconds": row.seconds,
                }

    def import_votes(
        self, task: Task, rows: Sequence[VerdictRow], progress: Progress = silent
    ) -> ImportedVotes:
        """Store the votes of a table as events: all rows are checked first, then stored in parts."""
        known = self.tasks()
        with self._database.reading() as connection:
            table = read_votes(connection, task, rows)
        others = len(rows) - len(table.votes) - table.replaced
        imported = ImportedVotes(len(rows), 0, table.people, 0, others, table.replaced)
        handled = 0

        def operations() -> Iterator[Callable[[Connection], ImportedPart]]:
            while handled < len(table.votes):
                yield partial(import_part, tasks=known, task=task, votes=table.votes, begin=handled)

        for part in self._database.write_parts(operations()):
            handled += part.votes
            added, outdated = imported.added + part.added, imported.outdated + part.outdated
            imported = replace(imported, added=added, outdated=outdated)
            progress(part.votes, len(table.votes))
        return imported

    def rebuild(self, progress: Progress = silent) -> Rebuilt:
        """Compute everything that is derived from events again, in parts; returns what was corrected."""
        with self._database.reading() as connection:
            parts = [(task, *part) for task in self.tasks().values() for part in item_parts(connection, task)]
        total = sum(sum(task.counts.values()) for task in self.tasks().values())
        rebuilt = Rebuilt()
        operations = (partial(rebuild_part, task=task, first=first, last=last) for task, first, last in parts)
        for done in self._database.write_parts(operations):
            progress(done.items, total)
            rebuilt += done
        if rebuilt.changed:
            self._database.write(record_rebuild)
        return rebuilt


def open_review(folder: Path, url: str | None = None, *, create: bool = False) -> Review:
    """The review of a project."""
    return Review(folder, open_database(folder, url, create=create))
