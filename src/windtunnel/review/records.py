"""What a review stores: tasks, items, people and events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from windtunnel.core.records import Record

# Items are judged by people, solved in a practice round, or hidden among others with a known answer; solved
# examples belong to the instructions.
WORK, PRACTICE, CHECK, EXAMPLE = ROLES = ("work", "practice", "check", "example")
REVIEWER, OWNER = PERSON_ROLES = ("reviewer", "owner")
# Which channel of events an action belongs to: people vote, and the joint second pass decides.
VOTE, DECISION = "vote", "decision"
Action = Literal["verdict", "decide", "undo", "redo"]


class ClassName(Record, frozen=True):
    """A class that verdicts may name, and its words for people."""

    name: str
    title: str = ""


class MediaFile(Record, frozen=True):
    """An image of an item: its part in it, and its file relative to the project."""

    role: str
    file: str
    width: int = 0
    height: int = 0


class TaskRecipe(Record, frozen=True):
    """The settings of a task, fixed when it is created.

    Attributes:
        title: its name for people.
        instructions: plain text; empty lines separate paragraphs.
        source: where its items come from: a step of the project, or a folder.
        overlap: how many people judge each item.
        seed: of every person's order.
        second_pass: `conflicts` (items without a strict majority) or `flagged` (every item that somebody did
            not accept).
        lease: seconds for which an item is kept for the person it was offered to.
        check_every: one hidden check item in that many places; 0 for none.
        practice_pass: share of practice items that must be right.
        classes: what verdicts may name; empty for anything.
    """

    title: str
    source: str
    instructions: str = ""
    overlap: int = 3
    seed: int = 0
    second_pass: Literal["conflicts", "flagged"] = "conflicts"
    lease: int = 1800
    check_every: int = 20
    practice_pass: float = 0.8
    classes: tuple[ClassName, ...] = ()


@dataclass(frozen=True)
class NewItem:
    """An item to be stored.

    Attributes:
        key: what it is in its source; the digest of it is its id.
        media: its images.
        labels: the classes it is said to have.
        facts: what export and the owner need to know.
        role: `work`, `practice`, `check` or `example`.
        answer: the known verdict of all but work items.
        explanation: shown with an example, and after a practice verdict.
    """

    key: str
    media: tuple[MediaFile, ...]
    labels: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None
    role: str = WORK
    answer: Mapping[str, Any] | None = None
    explanation: str = ""


@dataclass(frozen=True)
class Item:
    """A stored item: see `NewItem`; `id` is internal, `code` is its public id."""

    id: int
    code: str
    role: str
    number: int
    media: tuple[MediaFile, ...]
    labels: tuple[str, ...]
    facts: Mapping[str, Any]
    answer: Mapping[str, Any] | None
    explanation: str
    verdicts: int
    outcome: str
    decided: bool


@dataclass(frozen=True)
class Person:
    """Somebody with a personal link: a reviewer or an owner."""

    id: int
    code: str
    name: str
    role: str


@dataclass(frozen=True)
class NewEvent:
    """An event as it arrives.

    Attributes:
        event: its UUID.
        item: the public id of the item.
        action: `verdict` or `decide` with a verdict; `undo` or `redo` of the event `target`.
        client_time: milliseconds since 1970 on the person's clock.
        seconds: how long the item was on screen; None if unknown.
    """

    event: str
    task: str
    item: str
    action: Action
    client_time: int
    verdict: Mapping[str, Any] | None = None
    target: str | None = None
    seconds: float | None = None


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
