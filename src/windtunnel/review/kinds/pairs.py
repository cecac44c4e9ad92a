"""Frame pairs: does a neighbouring frame show the same, with the same label, as its anchor?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from windtunnel.core.errors import UserError
from windtunnel.review.kinds import ACCEPT, REJECT, UNSURE, Choice, ReviewKind, VerdictRecord

Reason = Literal["", "motion", "background", "blur", "occlusion", "deformation", "other"]


class PairVerdict(VerdictRecord, frozen=True, kw_only=True):
    """A verdict on a pair.

    Attributes:
        label: whether the label is right for both frames; "" if not answered.
        similar: whether the frames are similar; "" if not answered.
        reason: why they are not.
        bad_anchor: the anchor itself is unusable, and its set with it.
        rejected: the pair is rejected without a word on the questions, as tables of single words do.
    """

    label: Literal["right", "wrong", "unsure", ""] = ""
    similar: Literal["yes", "no", "unsure", ""] = ""
    reason: Reason = ""
    bad_anchor: bool = False
    rejected: bool = False


class Pairs(ReviewKind[PairVerdict]):
    """Judge pairs of an anchor and a neighbouring frame."""

    name = "pairs"
    help = "Judge whether a frame shows the same as its anchor, with the right label."
    question = "Is the label right for both frames, and are they similar?"
    layout = "pair"
    record = PairVerdict
    choices = (
        Choice("s", "Similar, label right", {"label": "right", "similar": "yes"}),
        Choice("m", "Not similar: motion", {"label": "right", "similar": "no", "reason": "motion"}),
        Choice("b", "Not similar: background", {"label": "right", "similar": "no", "reason": "background"}),
        Choice("l", "Not similar: blur", {"label": "right", "similar": "no", "reason": "blur"}),
        Choice("o", "Not similar: occlusion", {"label": "right", "similar": "no", "reason": "occlusion"}),
        Choice("d", "Not similar: deformation", {"label": "right", "similar": "no", "reason": "deformation"}),
        Choice("x", "Not similar: other", {"label": "right", "similar": "no", "reason": "other"}),
        Choice("w", "Wrong label", {"label": "wrong"}),
        Choice("a", "Bad anchor", {"bad_anchor": True}),
        Choice("u", "Unsure", {"label": "unsure", "similar": "unsure"}),
    )
    graded = ("accepted",)

    def check(self, verdict: PairVerdict) -> None:
        """Refuse a reason for similar frames, and a verdict that says nothing."""
        if verdict.reason and verdict.similar != "no":
            raise UserError(f"The reason '{verdict.reason}' needs similar to be no.")
        if not (verdict.label or verdict.similar or verdict.bad_anchor or verdict.rejected):
            raise UserError("The verdict is empty; give label, similar or bad_anchor.")
        if verdict.rejected and (verdict.label, verdict.similar) == ("right", "yes"):
            raise UserError("A rejected pair is not similar with the right label; give one of both.")

    def vote(self, verdict: PairVerdict, _labels: Sequence[str]) -> str:
        """`accept` if the label is right and the frames are similar."""
        if verdict.bad_anchor or verdict.rejected or verdict.label == "wrong" or verdict.similar == "no":
            return REJECT
        return ACCEPT if (verdict.label, verdict.similar) == ("right", "yes") else UNSURE

    def from_vote(self, vote: str, _labels: Sequence[str]) -> dict[str, Any]:
        """Similar with the right label, or unsure; a rejection does not say which of both is wrong."""
        if vote == ACCEPT:
            return {"label": "right", "similar": "yes"}
        if vote == REJECT:
            return {"rejected": True}
        return {"label": "unsure", "similar": "unsure"}

    def compared(self, verdict: PairVerdict) -> dict[str, str]:
        """Acceptance, and the label, similarity and reason where they are given."""
        answers = {"label": verdict.label, "similar": verdict.similar, "reason": verdict.reason}
        given = {question: answer for question, answer in answers.items() if answer}
        return {"accepted": self.vote(verdict, ()), **given}


pairs = Pairs()
