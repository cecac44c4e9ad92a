"""Agreement of the people of a task, and their accuracy where answers are known."""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from sqlalchemy import Connection, and_, select

from windtunnel.review.kinds import ACCEPT
from windtunnel.review.people import MAJORITY, list_people
from windtunnel.review.records import VOTE, WORK
from windtunnel.review.tables import items, people, present
from windtunnel.review.tasks import Task
from windtunnel.review.votes import check_results
from windtunnel.stats.agreement import (
    Agreement,
    cohen_kappa,
    count_table,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from windtunnel.stats.intervals import Groups, clopper_pearson

# The verdicts on an item by person, and its frame set.
_Rated = tuple[dict[Hashable, str], str | None]


@dataclass(frozen=True)
class _Judged:
    """A work item with verdicts: its labels, its frame set, and by person's name the stored verdict."""

    labels: tuple[str, ...]
    frame_set: str | None
    verdicts: Mapping[str, str]


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two people on the items that both have judged."""

    first: str
    second: str
    percent: Agreement
    cohen: Agreement


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement on one question of a task; each with its 95 % interval."""

    question: str
    percent: Agreement
    fleiss: Agreement
    krippendorff: Agreement
    pairs: tuple[PairAgreement, ...]


@dataclass(frozen=True)
class Accuracy:
    """How often verdicts are right, with the Clopper-Pearson interval.

    Attributes:
        who: a person's name, or `majority`.
        what: `classes` of blind classification, or `checks`, hidden items with a known answer.
    """

    who: str
    what: str
    items: int
    correct: int

    @property
    def share(self) -> Agreement:
        """The share of right verdicts and its interval."""
        low, high = clopper_pearson(self.correct, self.items)
        return Agreement(self.correct / self.items, low, high, self.items)


@dataclass(frozen=True)
class TaskAgreement:
    """Agreement and accuracy of the people of a task."""

    task: Task
    questions: tuple[QuestionAgreement, ...]
    accuracy: tuple[Accuracy, ...]


def task_agreement(connection: Connection, task: Task) -> TaskAgreement:
    """Agreement on every question that the kind compares, and accuracy where answers are known."""
    judged = list(_judged(connection, task))
    # Most verdicts are equal, so each is read once.
    compared = cache(lambda text: task.kind.compared(task.kind.read(json.loads(text))))
    ratings: dict[str, list[_Rated]] = {}
    for item in judged:
        by_question: dict[str, dict[Hashable, str]] = {}
        for name, text in item.verdicts.items():
            for question, value in compared(text).items():
                by_question.setdefault(question, {})[name] = value
        for question, values in by_question.items():
            rated = ratings.setdefault(question, [])
            if len(values) > 1:
                rated.append((values, item.frame_set))
    questions = tuple(_on_question(question, rows) for question, rows in ratings.items())
    return TaskAgreement(task, questions, (*_class_accuracy(task, judged), *_checks(connection, task)))


def _judged(connection: Connection, task: Task) -> Iterator[_Judged]:
    """The work items that somebody has judged, in order; only what agreement needs is read."""
    vote = and_(present.c.item == items.c.id, present.c.channel == VOTE)
    rows = connection.execute(
        select(items.c.number, items.c.labels, items.c.facts, present.c.verdict, people.c.name)
        .join(present, vote)
        .join(people, people.c.id == present.c.person)
        .where(items.c.task == task.id, items.c.role == WORK)
        .order_by(items.c.number, present.c.person)
    )
    for _, found in itertools.groupby(rows, key=lambda row: row.number):
        votes = list(found)
        frame_set = json.loads(votes[0].facts).get("set")
        labels = tuple(json.loads(votes[0].labels))
        yield _Judged(labels, frame_set, {row.name: row.verdict for row in votes})


def _on_question(question: str, rated: Sequence[_Rated]) -> QuestionAgreement:
    counts, groups = count_table([values for values, _ in rated]), _groups(rated)
    names = sorted({str(name) for values, _ in rated for name in values})
    pairs = []
    for first, second in itertools.combinations(names, 2):
        both = [(values, set_) for values, set_ in rated if first in values and second in values]
        if both:
            of_two = count_table([{1: values[first], 2: values[second]} for values, _ in both])
            one, other = ([values[name] for values, _ in both] for name in (first, second))
            kappa = cohen_kappa(one, other, _groups(both))
            pairs.append(PairAgreement(first, second, percent_agreement(of_two, _groups(both)), kappa))
    return QuestionAgreement(
        question,
        percent_agreement(counts, groups),
        fleiss_kappa(counts, groups),
        krippendorff_alpha(counts, groups),
        tuple(pairs),
    )


def _groups(rated: Sequence[_Rated]) -> Groups:
    """The frame sets of items, whose frames are alike; None for images."""
    sets = [set_ for _, set_ in rated]
    return None if None in sets else np.unique(np.array(sets, str), return_inverse=True)[1]


def _class_accuracy(task: Task, judged: Sequence[_Judged]) -> list[Accuracy]:
    """Accuracy of blind classification: of each person, and of the strict majority."""
    if task.kind.shows_labels:
        return []
    results: dict[str, list[bool]] = {}
    majority: list[bool] = []
    for item in judged:
        if not item.labels:
            continue
        verdicts = {name: task.kind.read(json.loads(text)) for name, text in item.verdicts.items()}
        for name, verdict in verdicts.items():
            results.setdefault(name, []).append(task.kind.vote(verdict, item.labels) == ACCEPT)
        if len(verdicts) >= task.recipe.overlap:
            majority.append(task.kind.outcome(list(verdicts.values()), item.labels) == ACCEPT)
    rows = [*sorted(results.items()), *([(MAJORITY, majority)] if majority else [])]
    return [Accuracy(name, "classes", len(right), sum(right)) for name, right in rows]


def _checks(connection: Connection, task: Task) -> list[Accuracy]:
    results = check_results(connection, task)
    return [
        Accuracy(person.name, "checks", *results[person.id])
        for person in list_people(connection)
        if person.id in results
    ]
