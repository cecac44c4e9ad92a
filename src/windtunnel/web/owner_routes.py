"""Routes of owners: progress, agreement, the second pass, export."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response

from windtunnel import api
from windtunnel.web import review_models as models
from windtunnel.web.media import media_out
from windtunnel.web.responses import events_out, practice_score
from windtunnel.web.safety import Audit
from windtunnel.web.signed_in import Owner, SignedIn


def owner_routes(review: api.Review, signed_in: SignedIn, audit: Audit) -> APIRouter:
    """The routes of a review's owners."""
    router = APIRouter(prefix="/api/owner/tasks/{name}")

    @router.get("/progress")
    def progress(name: str, _owner: Owner) -> models.ProgressOut:
        return _progress(review.progress(signed_in.task(name)))

    @router.get("/agreement")
    def agreement(name: str, _owner: Owner) -> models.AgreementOut:
        return _agreement(review.agreement(signed_in.task(name)))

    @router.get("/conflicts")
    def conflicts(
        name: str,
        _owner: Owner,
        start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        count: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> models.ConflictsOut:
        task = signed_in.task(name)
        found = review.conflicts(task, start, count)
        return models.ConflictsOut(
            start=found.start,
            total=found.total,
            undecided=found.undecided,
            items=[_conflict(task, item) for item in found.items],
        )

    @router.post("/resolve")
    def resolve(name: str, body: models.DecisionsIn, owner: Owner) -> models.EventsOut:
        task = signed_in.task(name)
        new = [
            api.NewEvent(
                event=row.event.lower(),
                task=task.name,
                item=row.item,
                action=row.action,
                client_time=row.client_time,
                verdict=row.verdict,
                target=None if row.target is None else row.target.lower(),
            )
            for row in body.events
        ]
        appended = review.append(owner, new)
        audit.write("decided", person=owner.name, task=task.name, items=[row.item for row in body.events])
        return events_out(appended)

    @router.get("/export/{file}")
    def export(name: str, file: str, owner: Owner) -> Response:
        files = api.collect_export(review, [signed_in.task(name)]).files
        if file not in files:
            raise HTTPException(404, f"There is no such file; an export has {', '.join(files)}.")
        audit.write("exported", person=owner.name, task=name, file=file)
        kind = "application/json" if file.endswith(".json") else "text/csv; charset=utf-8"
        headers = {"content-disposition": f'attachment; filename="{name}-{file}"'}
        return Response(files[file], media_type=kind, headers=headers)

    return router


def _progress(found: api.TaskProgress) -> models.ProgressOut:
    task = found.task
    return models.ProgressOut(
        task=task.name,
        kind=task.kind.name,
        title=task.recipe.title,
        items=task.counts.get("work", 0),
        overlap=task.recipe.overlap,
        open=found.open,
        accepted=found.accepted,
        rejected=found.rejected,
        conflicts=found.conflicts,
        resolved=found.resolved,
        people=[
            models.PersonProgress(
                person=row.person.code,
                name=row.person.name,
                judged=row.judged,
                per_hour=row.per_hour,
                median_seconds=row.median_seconds,
                checks=row.checks,
                checks_correct=row.checks_correct,
                practice=practice_score(row.practice),
                last=row.last,
            )
            for row in found.people
        ],
    )


def _agreement(found: api.TaskAgreement) -> models.AgreementOut:
    return models.AgreementOut(
        task=found.task.name,
        questions=[
            models.QuestionAgreement(
                question=row.question,
                items=row.percent.items,
                percent=_figure(row.percent),
                fleiss_kappa=_figure(row.fleiss),
                krippendorff_alpha=_figure(row.krippendorff),
                pairs=[
                    models.PairAgreement(
                        first=pair.first,
                        second=pair.second,
                        items=pair.percent.items,
                        percent=_figure(pair.percent),
                        cohen_kappa=_figure(pair.cohen),
                    )
                    for pair in row.pairs
                ],
            )
            for row in found.questions
        ],
        accuracy=[
            models.AccuracyOut.model_validate(
                {
                    "who": row.who,
                    "what": row.what,
                    "items": row.items,
                    "correct": row.correct,
                    "accuracy": _figure(row.share),
                }
            )
            for row in found.accuracy
        ],
    )


def _figure(found: api.Agreement) -> models.Figure:
    """A number with its interval; numbers that are not defined are null."""
    return models.Figure(value=_defined(found.value), low=_defined(found.low), high=_defined(found.high))


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _conflict(task: api.Task, found: api.JudgedItem) -> models.ConflictOut:
    verdicts = [vote.verdict for vote in found.votes] + ([found.decision] if found.decision else [])
    named = [label for verdict in verdicts for label in task.kind.labels(task.kind.read(verdict))]
    return models.ConflictOut(
        item=found.item.code,
        media=media_out(task, found.item),
        labels=list(found.item.labels),
        titles=task.titles([*found.item.labels, *named]),
        facts=dict(found.item.facts),
        votes=[
            models.Vote(
                person=vote.person.code, name=vote.person.name, verdict=dict(vote.verdict), time=vote.time
            )
            for vote in found.votes
        ],
        decision=None if found.decision is None else dict(found.decision),
    )
