"""Responses that several routes of the review app share."""

from __future__ import annotations

from windtunnel import api
from windtunnel.web import review_models as models


def events_out(appended: api.Appended) -> models.EventsOut:
    """What became of events, for the outbox."""
    return models.EventsOut(
        acknowledged=list(appended.acknowledged),
        refused=[models.Refused(event=event, reason=reason) for event, reason in appended.refused.items()],
        present=[
            models.Present(task=task, item=item, verdict=None if verdict is None else dict(verdict))
            for (task, item), verdict in appended.present.items()
        ],
    )


def practice_score(solved: api.PracticeRound) -> models.PracticeScore:
    """How a person does in a practice round."""
    return models.PracticeScore(
        items=len(solved.items),
        answered=solved.answered,
        correct=solved.correct,
        needed=solved.needed,
        passed=solved.passed,
    )
