"""Tasks: a kind of work on items; created once and never changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.core.records import RecordError, read_record
from windtunnel.core.seeding import digest64, words
from windtunnel.published.imagenet import imagenet_synonyms
from windtunnel.review.kinds import REGISTRY, ReviewKind, verdict_json
from windtunnel.review.records import (
    CHECK,
    PRACTICE,
    ROLES,
    WORK,
    Item,
    MediaFile,
    NewItem,
    TaskRecipe,
    now_ms,
)
from windtunnel.review.tables import items, tasks

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
CODE_BYTES = 10
# Orders of people that are kept in memory.
ORDERS_KEPT = 32


@dataclass(frozen=True)
class Task:
    """A stored task.

    Attributes:
        id: internal.
        name: what commands and pages call it.
        kind: its kind of work.
        recipe: its settings.
        counts: the number of items in each role.
        created: when it was created, in milliseconds since 1970.
    """

    id: int
    name: str
    kind: ReviewKind[Any]
    recipe: TaskRecipe
    counts: Mapping[str, int]
    created: int

    @cached_property
    def class_names(self) -> frozenset[str]:
        """The names of classes that verdicts may contain; empty for any."""
        return frozenset(name.name for name in self.recipe.classes)

    def titles(self, names: Iterable[str]) -> dict[str, str]:
        """The words for names of classes: those of the task, else of ImageNet-1k, else the names."""
        synonyms = imagenet_synonyms()
        return {name: self._titles.get(name) or ", ".join(synonyms.get(name, ())) or name for name in names}

    @cached_property
    def _titles(self) -> dict[str, str]:
        return {row.name: row.title for row in self.recipe.classes}

    def order(self, person: str, role: str) -> NDArray[np.int32]:
        """The order in which a person sees the items of a role, as their numbers."""
        key = digest64("review order", self.recipe.seed, self.name, person, role)
        return _shuffled(key, self.counts.get(role, 0))

    def check_number(self, person: str, place: int) -> int | None:
        """The place among a person's check items that belongs at this place of the queue; None for work."""
        every = self.recipe.check_every
        if not every or not self.counts.get(CHECK):
            return None
        block, within = divmod(place, every)
        return block if block < self.counts[CHECK] and within == self._hidden(person, block) else None

    def _hidden(self, person: str, block: int) -> int:
        """The place of the check item among the `check_every` places of a block."""
        digest = digest64("review check", self.recipe.seed, self.name, person, block)
        return int(digest % self.recipe.check_every)

    def length_after(self, person: str, length: int, work: int) -> int:
        """The length of a queue that is extended by some work items, and by the check items among them."""
        every = self.recipe.check_every
        checks = self.counts.get(CHECK, 0) if every else 0
        while length < checks * every:
            block, within = divmod(length, every)
            if not within:  # whole blocks have one check item each
                whole = min(work // (every - 1), checks - block)
                length, work, block = length + whole * every, work - whole * (every - 1), block + whole
                if block == checks:
                    break
            hidden = self._hidden(person, block)
            free = every - within - (hidden >= within)
            if work < free:
                return length + work + (within <= hidden <= within + work)
            length, work = (block + 1) * every, work - free
        return length + work

    @property
    def practice_needed(self) -> int:
        """How many practice items must be right before work begins."""
        return int(np.ceil(self.recipe.practice_pass * self.counts.get(PRACTICE, 0) - 1e-9))


@lru_cache(maxsize=ORDERS_KEPT)
def _shuffled(key: int, count: int) -> NDArray[np.int32]:
    return np.argsort(words(key, count), kind="stable").astype(np.int32)


def item_code(task: str, key: str) -> str:
    """The public id of an item: says nothing about it."""
    return hashlib.blake2b(f"{task}\0{key}".encode(), digest_size=CODE_BYTES).hexdigest()


def read_tasks(connection: Connection) -> dict[str, Task]:
    """Every task, by name."""
    counts: dict[int, dict[str, int]] = {}
    counted = select(items.c.task, items.c.role, func.count()).group_by(items.c.task, items.c.role)
    for task, role, count in connection.execute(counted):
        counts.setdefault(task, {})[role] = count
    found = {}
    for row in connection.execute(select(tasks).order_by(tasks.c.id)):
        try:
            recipe = read_record(json.loads(row.recipe), TaskRecipe)
        except (RecordError, ValueError) as error:
            raise UserError(f"The task {row.name} is damaged ({error}); restore the database.") from error
        kind = REGISTRY.get(row.kind)
        found[row.name] = Task(row.id, row.name, kind, recipe, counts.get(row.id, {}), row.created)
    return found


def create_task(
    connection: Connection, name: str, kind: str, recipe: TaskRecipe, new: Sequence[NewItem]
) -> None:
    """Store a task with its items.

    Args:
        connection: of a write.
        name: lower-case letters, digits, `-` and `_`.
        kind: the kind's name.
        recipe: its settings.
        new: its items; the answers of practice and check items are checked.
    """
    check_new_task(name, recipe, new)
    plugin = REGISTRY.get(kind)
    if connection.execute(select(tasks.c.id).where(tasks.c.name == name)).first():
        raise UserError(f"There is a task {name} already; choose another name. Tasks are never changed.")
    classes = frozenset(row.name for row in recipe.classes)
    made = connection.execute(
        insert(tasks).values(
            name=name, kind=kind, recipe=json.dumps(recipe.to_json(), ensure_ascii=False), created=now_ms()
        )
    )
    (task,) = made.inserted_primary_key or (None,)
    rows: dict[str, dict[str, Any]] = {}
    numbers = dict.fromkeys(ROLES, 0)
    for item in new:
        code = item_code(name, item.key)
        if code in rows:
            raise UserError(f"The item '{item.key}' is there twice; give every item once.")
        answer = item.answer
        if answer is not None:
            answer = verdict_json(plugin.read(answer, classes))
        rows[code] = {
            "task": task,
            "code": code,
            "role": item.role,
            "number": numbers[item.role],
            "media": json.dumps([file.to_json() for file in item.media]),
            "labels": json.dumps(item.labels, ensure_ascii=False),
            "facts": json.dumps(item.facts or {}, ensure_ascii=False),
            "answer": None if answer is None else json.dumps(answer, ensure_ascii=False),
            "explanation": item.explanation,
            "verdicts": 0,
            "outcome": "open",
            "decided": False,
        }
        numbers[item.role] += 1
    connection.execute(insert(items), list(rows.values()))


def check_new_task(name: str, recipe: TaskRecipe, new: Sequence[NewItem]) -> None:
    """Refuse a name, settings or items that make no task; nothing is stored."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"The task's name is '{name}'; give lower-case letters, digits, - and _, such as pairs-1."
        )
    if not any(item.role == WORK for item in new):
        raise UserError(f"There is no item for the task {name}; nothing was created.")
    if recipe.overlap < 1:
        raise UserError(f"{option('overlap')} is {recipe.overlap}; give at least 1.")
    if not 0 <= recipe.practice_pass <= 1:
        raise UserError(f"{option('practice_pass')} is {recipe.practice_pass}; give a share from 0 to 1.")
    if recipe.check_every and recipe.check_every < 2:
        raise UserError(f"{option('check_every')} is {recipe.check_every}; give 0, or at least 2.")


def find_task(found: Mapping[str, Task], name: str) -> Task:
    """The task of that name; refuses an unknown one."""
    if name not in found:
        raise unknown_name("task", name, found, "windtunnel review status PROJECT")
    return found[name]


def read_item(row: Any) -> Item:
    """An item from its row."""
    return Item(
        id=row.id,
        code=row.code,
        role=row.role,
        number=row.number,
        media=tuple(read_record(file, MediaFile) for file in json.loads(row.media)),
        labels=tuple(json.loads(row.labels)),
        facts=json.loads(row.facts),
        answer=None if row.answer is None else json.loads(row.answer),
        explanation=row.explanation,
        verdicts=row.verdicts,
        outcome=row.outcome,
        decided=row.decided,
    )
