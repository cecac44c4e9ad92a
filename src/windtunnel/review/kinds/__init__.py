"""Kinds of review work, one file each: what is asked, which verdicts there are, and what they decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from windtunnel.core.errors import UserError
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.core.registry import Plugin, Registry
from windtunnel.curate.verdicts import ACCEPT, REJECT, UNSURE

Layout = Literal["single", "pair", "grid"]
# What the votes on an item decide; `conflict` goes to the joint second pass.
OPEN, CONFLICT = "open", "conflict"
NOTE_CHARACTERS = 2000
LABEL_CHARACTERS = 300

V = TypeVar("V", bound="VerdictRecord")


class VerdictRecord(Record, frozen=True, kw_only=True):
    """What a person says about an item; every kind adds its own fields."""

    note: str = ""


@dataclass(frozen=True)
class Choice:
    """A verdict that one key gives.

    Attributes:
        key: the key.
        title: the words on its button.
        verdict: the fields that it sets.
        group: choices of one group exclude each other, and other fields stay; "" for a whole verdict.
    """

    key: str
    title: str
    verdict: Mapping[str, Any]
    group: str = ""


class ReviewKind(Plugin, Generic[V]):
    """One kind of work.

    Attributes:
        name: the name that `--kind` takes.
        help: what it is for, in one line.
        question: what reviewers are asked.
        layout: how items are shown.
        record: the type of its verdicts.
        blank: the verdict before anything is chosen.
        choices: verdicts of single keys.
        graded: the compared questions in which a known answer must be met.
        shows_labels: whether reviewers see the labels of an item.
        takes_classes: whether verdicts contain names of classes.
    """

    name: str
    help: str
    question: str
    layout: Layout
    record: type[V]
    blank: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    choices: tuple[Choice, ...]
    graded: tuple[str, ...]
    shows_labels = True
    takes_classes = False

    def read(self, content: object, classes: frozenset[str] = frozenset()) -> V:
        """The checked verdict in a request or table; refuses anything else, in one sentence.

        Args:
            content: the fields of the verdict.
            classes: the names of classes that it may contain; empty for any.
        """
        try:
            verdict = read_record(content, self.record)
        except RecordError as error:
            raise UserError(f"The verdict does not fit the kind {self.name}: {error}.") from error
        if len(verdict.note) > NOTE_CHARACTERS:
            raise UserError(
                f"The note has {len(verdict.note):,} characters; at most {NOTE_CHARACTERS:,} fit."
            )
        for text in (verdict.note, *self.labels(verdict)):
            refuse_unstorable(text)
        for label in self.labels(verdict):
            if not label or len(label) > LABEL_CHARACTERS or (classes and label not in classes):
                raise UserError(f"Unknown class '{label[:60]}'; choose a class of the task.")
        self.check(verdict)
        return verdict

    def check(self, verdict: V) -> None:
        """Refuse a verdict whose fields contradict each other."""

    def labels(self, _verdict: V) -> tuple[str, ...]:
        """The names of classes in a verdict."""
        return ()

    def vote(self, verdict: V, labels: Sequence[str]) -> str:
        """Whether a verdict accepts an item with these labels: `accept`, `reject` or `unsure`."""
        raise NotImplementedError

    def from_vote(self, vote: str, labels: Sequence[str]) -> dict[str, Any]:
        """The fields of a verdict that `vote` counts as this, for tables with single words."""
        raise NotImplementedError

    def from_text(self, _text: str) -> dict[str, Any]:
        """The fields of a verdict that a table gives as a text other than a vote; empty for none."""
        return {}

    def compared(self, verdict: V) -> dict[str, str]:
        """The value of a verdict for each question on which agreement is measured."""
        raise NotImplementedError

    def correct(self, verdict: V, answer: V) -> bool:
        """Whether a verdict meets a known answer."""
        given, known = self.compared(verdict), self.compared(answer)
        return all(given[question] == known[question] for question in self.graded)

    def outcome(self, verdicts: Sequence[V], labels: Sequence[str]) -> str:
        """What verdicts decide by strict majority: `accept`, `reject`, or `conflict` without one."""
        return majority([self.vote(verdict, labels) for verdict in verdicts])

    def decided(self, decision: V, labels: Sequence[str]) -> str:
        """What a decision of the joint second pass means; one that is unsure rejects."""
        return ACCEPT if self.vote(decision, labels) == ACCEPT else REJECT


def majority(votes: Sequence[str]) -> str:
    """`accept` or `reject` if more than half of the votes say so, else `conflict`."""
    for value in (ACCEPT, REJECT):
        if 2 * sum(vote == value for vote in votes) > len(votes):
            return value
    return CONFLICT


def refuse_unstorable(text: str) -> None:
    """Refuse a text that no database stores: with a null character or half of a surrogate pair."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise UserError("The text has a null character or half of a surrogate pair; remove it.")


def verdict_json(verdict: VerdictRecord) -> dict[str, Any]:
    """All fields of a verdict, those with default values included."""
    return {name: msgspec.to_builtins(getattr(verdict, name)) for name in verdict.__struct_fields__}


REGISTRY: Registry[ReviewKind[Any]] = Registry("review kind", __name__, ReviewKind, separator="-")

__all__ = ["ACCEPT", "CONFLICT", "OPEN", "REGISTRY", "REJECT", "UNSURE", "Choice", "ReviewKind"]
