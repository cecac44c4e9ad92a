"""Blind classification: people name the class without seeing the label; gives human accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import ACCEPT, REJECT, UNSURE, Choice, ReviewKind, VerdictRecord


class BlindVerdict(VerdictRecord, frozen=True, kw_only=True):
    """The class that a person sees; "" if it cannot be told."""

    label: str


class Blind(ReviewKind[BlindVerdict]):
    """Classify images without seeing their labels."""

    name = "blind"
    help = "Classify images without seeing their labels; gives human accuracy."
    question = "Which class does the image show?"
    layout = "single"
    record = BlindVerdict
    blank = MappingProxyType({"label": ""})
    choices = (Choice("u", "Cannot tell", {"label": ""}),)
    graded = ("class",)
    shows_labels = False
    takes_classes = True

    def labels(self, verdict: BlindVerdict) -> tuple[str, ...]:
        """The class, if one is named."""
        return (verdict.label,) if verdict.label else ()

    def vote(self, verdict: BlindVerdict, labels: Sequence[str]) -> str:
        """`accept` if the class is one of the item's labels."""
        if not verdict.label:
            return UNSURE
        return ACCEPT if verdict.label in labels else REJECT

    def from_vote(self, vote: str, labels: Sequence[str]) -> dict[str, Any]:
        """The label of an accepted item; a rejection does not say which class was seen."""
        if vote == ACCEPT and labels:
            return {"label": labels[0]}
        if vote == UNSURE:
            return {"label": ""}
        raise UserError(f"The verdict '{vote}' names no class; give the class instead, or a column label.")

    def from_text(self, text: str) -> dict[str, Any]:
        """The class of that name."""
        return {"label": text}

    def compared(self, verdict: BlindVerdict) -> dict[str, str]:
        """The class."""
        return {"class": verdict.label or "cannot tell"}


blind = Blind()
