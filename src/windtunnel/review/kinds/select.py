"""Selection: is an image a valid example of its class, alone and of good quality?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import Choice, ReviewKind, VerdictRecord

Reason = Literal["not_valid", "several_classes", "poor_quality"]


class SelectVerdict(VerdictRecord, frozen=True, kw_only=True):
    """A verdict on an image: whether it is chosen, and if not, why."""

    choice: Literal["accept", "reject", "unsure"]
    reasons: tuple[Reason, ...] = ()


class Select(ReviewKind[SelectVerdict]):
    """Choose valid images of a single class and of good quality, as the authors of ImageNet-A did."""

    name = "select"
    help = "Choose images that are valid, of a single class and of good quality, in a grid."
    question = "Is this a valid image of the class, of that class alone, and of good quality?"
    layout = "grid"
    record = SelectVerdict
    choices = (
        Choice("a", "Accept", {"choice": "accept"}),
        Choice("v", "Not valid", {"choice": "reject", "reasons": ["not_valid"]}),
        Choice("m", "Several classes", {"choice": "reject", "reasons": ["several_classes"]}),
        Choice("q", "Poor quality", {"choice": "reject", "reasons": ["poor_quality"]}),
        Choice("u", "Unsure", {"choice": "unsure"}),
    )
    graded = ("accepted",)

    def check(self, verdict: SelectVerdict) -> None:
        """Refuse reasons without a rejection."""
        if verdict.reasons and verdict.choice != "reject":
            raise UserError(f"The reason '{verdict.reasons[0]}' needs the choice reject.")

    def vote(self, verdict: SelectVerdict, _labels: Sequence[str]) -> str:
        """The choice itself."""
        return verdict.choice

    def from_vote(self, vote: str, _labels: Sequence[str]) -> dict[str, Any]:
        """The choice."""
        return {"choice": vote}

    def compared(self, verdict: SelectVerdict) -> dict[str, str]:
        """The choice."""
        return {"accepted": verdict.choice}


select = Select()
