"""Bodies of requests and responses of the review app."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Field(min_length=1, max_length=100)
# A random UUID, which is one of version 4: ids of other versions belong to imported events.
EventId = Field(
    pattern=r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
)
EVENTS_AT_ONCE = 200


class Model(BaseModel):
    """A body whose unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class TokenIn(Model):
    """The secret of a personal link, from the fragment of `/join#TOKEN`."""

    token: str = Field(min_length=1, max_length=200)


class PersonOut(Model):
    """The person who is signed in."""

    person: str
    name: str
    role: Literal["reviewer", "owner"]


class PracticeScore(Model):
    """How a person does in the practice round.

    Attributes:
        items: the number of practice items; 0 if the task has no practice round.
        answered, correct: how many have a verdict, and a right one.
        needed: right verdicts that are needed to begin.
        passed: whether the person may begin.
    """

    items: int
    answered: int
    correct: int
    needed: int
    passed: bool


class TaskOut(Model):
    """A task in the list of a person.

    Attributes:
        items: items that this person can judge at most; hidden check items count, as they look like others.
        judged: items on which this person has a verdict.
        finished: work items that have as many verdicts as the task asks for.
    """

    task: str
    kind: str
    title: str
    items: int
    judged: int
    finished: int
    overlap: int
    practice: PracticeScore


class ChoiceOut(Model):
    """One verdict that a single key gives.

    Attributes:
        key: the key, as `KeyboardEvent.key` has it.
        title: the words on its button.
        verdict: the verdict it gives, or the part of it that it sets.
        group: choices of one group exclude each other; "" for a complete verdict.
    """

    key: str
    title: str
    verdict: dict[str, Any]
    group: str = ""


class ExampleOut(Model):
    """An example in the instructions."""

    text: str
    media: list[MediaOut]
    verdict: dict[str, Any] | None


class TaskDetail(TaskOut):
    """A task with everything that its page needs.

    Attributes:
        question: what is asked, in one sentence.
        instructions: plain text; paragraphs are separated by empty lines.
        examples: solved examples.
        choices: the verdicts of single keys.
        classes: the number of classes that `/api/tasks/{name}/classes` lists.
        layout: `single`, `pair` or `grid`.
        blank: the verdict before anything is chosen.
    """

    question: str
    instructions: str
    examples: list[ExampleOut]
    choices: list[ChoiceOut]
    classes: int
    layout: Literal["single", "pair", "grid"]
    blank: dict[str, Any]


class MediaOut(Model):
    """One image of an item: `image`, or `anchor` and `frame` of a pair."""

    role: str
    url: str
    width: int
    height: int


class ItemOut(Model):
    """One item in the queue of a person.

    Attributes:
        item: its id.
        place: its place in the person's queue, from 0; places never change.
        media: its images, in the order in which they are shown.
        labels: the classes it is said to have; empty if the kind hides them.
        titles: the words for them, by name.
        verdict: the present verdict of this person; null for none.
        closed: others have judged it meanwhile; it needs no verdict any more.
    """

    item: str
    place: int
    media: list[MediaOut]
    labels: list[str]
    titles: dict[str, str]
    verdict: dict[str, Any] | None
    closed: bool


class QueueOut(Model):
    """A window of a person's queue.

    Attributes:
        start: place of the first item.
        items: the items from there on.
        length: places that the queue has so far; it grows while there is work.
        ended: whether no further place can be added now.
        reason: why, in words, if `ended`.
        first_open: the first place without a verdict that is not closed; `length` if there is none.
    """

    start: int
    items: list[ItemOut]
    length: int
    ended: bool
    reason: str
    first_open: int


class PracticeItem(ItemOut):
    """A practice item; the right answer is there once the person has given a verdict."""

    correct: bool | None
    answer: dict[str, Any] | None
    explanation: str


class PracticeOut(Model):
    """The practice round of a task."""

    score: PracticeScore
    items: list[PracticeItem]


class EventIn(Model):
    """One event of a person.

    Attributes:
        event: a random UUID made in the browser; the same event may be sent again.
        action: `verdict` with a verdict; `undo` or `redo` with the id of a verdict event in `target`.
        client_time: milliseconds since 1970 on the person's clock.
        seconds: how long the item was on screen before the verdict; null if unknown.
    """

    event: str = EventId
    task: str = Name
    item: str = Name
    action: Literal["verdict", "undo", "redo"]
    verdict: dict[str, Any] | None = None
    target: str | None = Field(default=None, max_length=36)
    client_time: int = Field(ge=0, le=10**14)
    seconds: float | None = Field(default=None, ge=0, le=86_400)


class EventsIn(Model):
    """Events in the order in which they were made."""

    events: list[EventIn] = Field(min_length=1, max_length=EVENTS_AT_ONCE)


class Refused(Model):
    """An event that was not stored and never will be: the outbox drops it and shows the reason."""

    event: str
    reason: str


class Present(Model):
    """The present verdict of the person on an item after the events."""

    task: str
    item: str
    verdict: dict[str, Any] | None


class EventsOut(Model):
    """The events that are stored for good, and those that are refused."""

    acknowledged: list[str]
    refused: list[Refused]
    present: list[Present]


class ClassOut(Model):
    """A class that verdicts may contain, and the words for it; its name if it has none."""

    name: str
    title: str


class PersonProgress(Model):
    """What one person has done in a task.

    Attributes:
        judged: work items with a present verdict.
        per_hour: verdicts in an hour of work; pauses over five minutes do not count. null if unknown.
        median_seconds: median time on screen before a verdict; null if unknown.
        checks, checks_correct: hidden check items with a verdict, and with a right one.
        last: when the last event came, in milliseconds since 1970; null if none has.
    """

    person: str
    name: str
    judged: int
    per_hour: float | None
    median_seconds: float | None
    checks: int
    checks_correct: int
    practice: PracticeScore
    last: int | None


class ProgressOut(Model):
    """How far a task is.

    Attributes:
        open: items with fewer verdicts than the task asks for.
        accepted, rejected: decided by a strict majority or in the second pass.
        conflicts: items for the second pass.
        resolved: items that the second pass has decided.
    """

    task: str
    kind: str
    title: str
    items: int
    overlap: int
    open: int
    accepted: int
    rejected: int
    conflicts: int
    resolved: int
    people: list[PersonProgress]


class Figure(Model):
    """A number with its 95 % interval; null if it is not defined."""

    value: float | None
    low: float | None
    high: float | None


class PairAgreement(Model):
    """Agreement of two people on the items that both have judged."""

    first: str
    second: str
    items: int
    percent: Figure
    cohen_kappa: Figure


class QuestionAgreement(Model):
    """Agreement on one question of a task.

    Attributes:
        items: items with at least two verdicts.
    """

    question: str
    items: int
    percent: Figure
    fleiss_kappa: Figure
    krippendorff_alpha: Figure
    pairs: list[PairAgreement]


class AgreementOut(Model):
    """Agreement on every question of a task, and human accuracy where answers are known."""

    task: str
    questions: list[QuestionAgreement]
    accuracy: list[AccuracyOut]


class AccuracyOut(Model):
    """Accuracy of one person, or of the majority, with its Clopper-Pearson interval.

    Attributes:
        who: the name of a person, or `majority`.
        what: `classes` for blind classification, `checks` for hidden check items.
    """

    who: str
    what: Literal["classes", "checks"]
    items: int
    correct: int
    accuracy: Figure


class Vote(Model):
    """The present verdict of one person."""

    person: str
    name: str
    verdict: dict[str, Any]
    time: int


class ConflictOut(Model):
    """An item of the second pass, with all votes.

    Attributes:
        titles: the words for all classes of its labels, votes and decision, by name.
        facts: what is known about the item, for the owner only.
        decision: the decision of the second pass; null if it is still to be made.
    """

    item: str
    media: list[MediaOut]
    labels: list[str]
    titles: dict[str, str]
    facts: dict[str, Any]
    votes: list[Vote]
    decision: dict[str, Any] | None


class ConflictsOut(Model):
    """A window of the items of the second pass; undecided ones first."""

    start: int
    total: int
    undecided: int
    items: list[ConflictOut]


class DecisionIn(Model):
    """A decision of the joint second pass, or its undo or redo; an event like those of reviewers."""

    event: str = EventId
    item: str = Name
    action: Literal["decide", "undo", "redo"] = "decide"
    verdict: dict[str, Any] | None = None
    target: str | None = Field(default=None, max_length=36)
    client_time: int = Field(ge=0, le=10**14)


class DecisionsIn(Model):
    """Decisions in the order in which they were made."""

    events: list[DecisionIn] = Field(min_length=1, max_length=EVENTS_AT_ONCE)


ExampleOut.model_rebuild()
AgreementOut.model_rebuild()
