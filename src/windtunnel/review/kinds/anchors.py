"""Anchors: every class that an image shows, and whether it is usable at all."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import (
    ACCEPT,
    CONFLICT,
    REJECT,
    UNSURE,
    Choice,
    ReviewKind,
    VerdictRecord,
    majority,
)

MOST_LABELS = 50


class AnchorVerdict(VerdictRecord, frozen=True, kw_only=True):
    """A verdict on an anchor: whether it is usable, and all classes it shows."""

    status: Literal["good", "bad", "unsure"]
    labels: tuple[str, ...] = ()


class Anchors(ReviewKind[AnchorVerdict]):
    """Label anchors with every class they show."""

    name = "anchors"
    help = "Label images with every class they show (multi-label)."
    question = "Which classes does the image show?"
    layout = "single"
    record = AnchorVerdict
    blank = MappingProxyType({"labels": []})
    choices = (
        Choice("g", "Good", {"status": "good"}, group="status"),
        Choice("b", "Bad", {"status": "bad"}, group="status"),
        Choice("u", "Unsure", {"status": "unsure"}, group="status"),
    )
    graded = ("status", "classes")
    takes_classes = True

    def check(self, verdict: AnchorVerdict) -> None:
        """Refuse repeated and too many labels, and a good anchor without any."""
        if len(set(verdict.labels)) != len(verdict.labels) or len(verdict.labels) > MOST_LABELS:
            raise UserError(f"The labels repeat, or are more than {MOST_LABELS}; give each class once.")
        if verdict.status == "good" and not verdict.labels:
            raise UserError("A good anchor has at least one class; choose one, or mark the anchor as bad.")

    def labels(self, verdict: AnchorVerdict) -> tuple[str, ...]:
        """The classes."""
        return verdict.labels

    def vote(self, verdict: AnchorVerdict, _labels: Sequence[str]) -> str:
        """`accept` for good anchors."""
        return {"good": ACCEPT, "bad": REJECT, "unsure": UNSURE}[verdict.status]

    def from_vote(self, vote: str, labels: Sequence[str]) -> dict[str, Any]:
        """Good with the labels it has, bad, or unsure."""
        status = {ACCEPT: "good", REJECT: "bad", UNSURE: "unsure"}[vote]
        return {"status": status, "labels": list(labels) if vote == ACCEPT else []}

    def compared(self, verdict: AnchorVerdict) -> dict[str, str]:
        """The status, and the set of classes."""
        return {"status": verdict.status, "classes": "; ".join(sorted(verdict.labels)) or "none"}

    def outcome(self, verdicts: Sequence[AnchorVerdict], labels: Sequence[str]) -> str:
        """The majority of the status; a class that exactly half of the people see is a conflict."""
        decided = majority([self.vote(verdict, labels) for verdict in verdicts])
        return CONFLICT if decided == ACCEPT and _halved(verdicts) else decided

    def majority_labels(self, verdicts: Sequence[AnchorVerdict]) -> tuple[str, ...]:
        """The classes that more than half of the people who accept the anchor see, sorted."""
        seen = _counts(verdicts)
        return tuple(sorted(label for label, count in seen.items() if 2 * count > _accepting(verdicts)))


def _accepting(verdicts: Sequence[AnchorVerdict]) -> int:
    return sum(verdict.status == "good" for verdict in verdicts)


def _counts(verdicts: Sequence[AnchorVerdict]) -> dict[str, int]:
    seen: dict[str, int] = {}
    for verdict in verdicts:
        for label in verdict.labels if verdict.status == "good" else ():
            seen[label] = seen.get(label, 0) + 1
    return seen


def _halved(verdicts: Sequence[AnchorVerdict]) -> bool:
    """Whether the people are divided about a class, or agree on none."""
    halves = any(2 * count == _accepting(verdicts) for count in _counts(verdicts).values())
    return halves or all(2 * count <= _accepting(verdicts) for count in _counts(verdicts).values())


anchors = Anchors()
