"""The review app: routes for reviewers; those of owners are in `owner_routes.py`.

`POST /api/session` exchanges the secret of a personal link for a cookie; all other routes need it.
Posts of events and decisions may name the person of the page in the header `X-Windtunnel-Person`: the code
that `GET /api/session` returns as `person`. If somebody else is signed in by now, the answer is 409 and
nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse

from windtunnel import api
from windtunnel.web import review_models as models
from windtunnel.web.errors import ERRORS, add_errors, client_address
from windtunnel.web.media import image_response, media_out
from windtunnel.web.owner_routes import owner_routes
from windtunnel.web.responses import events_out, practice_score
from windtunnel.web.review_pages import review_pages
from windtunnel.web.safety import Audit, Guard, Rate
from windtunnel.web.shell import static_router
from windtunnel.web.signed_in import Reviewer, SignedIn, cookie_name

COOKIE_SECONDS = 30 * 86_400
# Requests of one person: two verdicts a second need two requests and some images.
PER_SECOND, BURST = 40, 400
# Attempts to sign in with unknown links from one address; more are not logged.
SIGN_IN_PER_SECOND, SIGN_IN_BURST = 0.5, 30


def review_app(review: api.Review, hosts: Iterable[str], *, secure: bool = False) -> Guard:
    """The ASGI application of a review.

    Args:
        review: the review; the caller closes it.
        hosts: the names under which the server may be addressed.
        secure: whether it is reached through HTTPS only.
    """
    audit = Audit(review.audit_file)
    app = FastAPI(
        title="windtunnel review", docs_url=None, redoc_url=None, openapi_url=None, responses=ERRORS
    )
    signed_in = SignedIn(review, audit, Rate(PER_SECOND, BURST))
    app.state.signed_in = signed_in
    _add_errors(app, audit)
    _add_session(app, review, signed_in, audit, secure=secure)
    _add_work(app, review, signed_in)
    app.include_router(owner_routes(review, signed_in, audit))
    app.include_router(review_pages())
    app.include_router(static_router())
    return Guard(app, hosts, audit)


def _add_errors(app: FastAPI, audit: Audit) -> None:
    add_errors(app, audit, "The server failed; your work is kept. Try again.")

    @app.exception_handler(api.PracticeFirst)
    def practice_first(_request: Request, error: api.PracticeFirst) -> Response:
        return JSONResponse({"detail": str(error)}, 403)

    @app.exception_handler(api.DatabaseLost)
    def lost(request: Request, error: api.DatabaseLost) -> Response:
        audit.write("failed", path=request.url.path[:200], error=str(error)[:500])
        detail = "The review database is missing on the server; your work is kept here. Tell the owner."
        return JSONResponse({"detail": detail}, 503)


def _add_session(
    app: FastAPI, review: api.Review, signed_in: SignedIn, audit: Audit, *, secure: bool
) -> None:
    attempts = Rate(SIGN_IN_PER_SECOND, SIGN_IN_BURST)

    @app.post("/api/session")
    def sign_in(body: models.TokenIn, request: Request, response: Response) -> models.PersonOut:
        address = client_address(request)
        # Unknown links are refused without a write, which others would wait for.
        known = review.link_person(body.token)
        if known is not None:
            signed_in.check_rate(request, known)
        begun = None if known is None else review.begin_session(body.token)
        if begun is None:
            if not attempts.allows(address):
                raise HTTPException(429, "Too many attempts; wait a minute.")
            audit.refused(address, "POST", "/api/session", 401, "unknown link")
            raise HTTPException(401, "This link is not valid any more; ask the owner for a new one.")
        person, session = begun
        response.set_cookie(
            cookie_name(request),
            session,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=secure,
            path="/",
        )
        audit.write("signed in", person=person.name, address=address)
        return _person(person)

    @app.get("/api/session")
    def who(person: Reviewer) -> models.PersonOut:
        return _person(person)

    @app.post("/api/session/end")
    def sign_out(request: Request, response: Response) -> dict[str, bool]:
        review.end_session(request.cookies.get(cookie_name(request), ""))
        response.delete_cookie(cookie_name(request), path="/")
        return {"ended": True}


def _add_work(app: FastAPI, review: api.Review, signed_in: SignedIn) -> None:
    @app.get("/api/tasks")
    def tasks(person: Reviewer) -> list[models.TaskOut]:
        return [models.TaskOut(**_task(review, task, person)) for task in review.tasks().values()]

    @app.get("/api/tasks/{name}")
    def task(name: str, person: Reviewer) -> models.TaskDetail:
        found = signed_in.task(name)
        kind, recipe = found.kind, found.recipe
        return models.TaskDetail(
            **_task(review, found, person),
            question=kind.question,
            instructions=recipe.instructions,
            examples=[
                models.ExampleOut(
                    text=item.explanation,
                    media=media_out(found, item),
                    verdict=None if item.answer is None else dict(item.answer),
                )
                for item in review.examples(found)
            ],
            choices=[
                models.ChoiceOut(key=row.key, title=row.title, verdict=dict(row.verdict), group=row.group)
                for row in kind.choices
            ],
            classes=len(recipe.classes) if kind.takes_classes else 0,
            layout=kind.layout,
            blank=dict(kind.blank),
        )

    @app.get("/api/tasks/{name}/classes")
    def classes(name: str, _person: Reviewer) -> list[models.ClassOut]:
        rows = signed_in.task(name).recipe.classes
        return [models.ClassOut(name=row.name, title=row.title or row.name) for row in rows]

    @app.get("/api/tasks/{name}/practice")
    def practice(name: str, person: Reviewer) -> models.PracticeOut:
        found = signed_in.task(name)
        solved = review.practice(found, person)
        return models.PracticeOut(
            score=practice_score(solved),
            items=[
                models.PracticeItem(
                    **_item(found, row.item, place, row.verdict),
                    closed=False,
                    correct=row.correct,
                    answer=None if row.verdict is None or row.item.answer is None else dict(row.item.answer),
                    explanation="" if row.verdict is None else row.item.explanation,
                )
                for place, row in enumerate(solved.items)
            ],
        )

    @app.get("/api/tasks/{name}/items")
    def queue(
        name: str,
        person: Reviewer,
        start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        count: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> models.QueueOut:
        found = signed_in.task(name)
        window = review.window(found, person, start, count)
        return models.QueueOut(
            start=window.start,
            items=[
                models.ItemOut(**_item(found, row.item, row.place, row.verdict), closed=row.closed)
                for row in window.places
            ],
            length=window.length,
            ended=bool(window.reason),
            reason=window.reason,
            first_open=window.first_open,
        )

    @app.post("/api/events")
    def events(body: models.EventsIn, person: Reviewer) -> models.EventsOut:
        new = [
            api.NewEvent(
                event=row.event.lower(),
                task=row.task,
                item=row.item,
                action=row.action,
                client_time=row.client_time,
                verdict=row.verdict,
                target=None if row.target is None else row.target.lower(),
                seconds=row.seconds,
            )
            for row in body.events
        ]
        return events_out(review.append(person, new))

    @app.get("/media/{task}/{item}/{role}")
    def media(task: str, item: str, role: str, _person: Reviewer) -> Response:
        found = review.item(signed_in.task(task).name, item)
        files = [] if found is None else [file for file in found.media if file.role == role]
        if not files:
            raise HTTPException(404, "There is no such image.")
        return image_response(review.folder, files[0].file)


def _person(person: api.Person) -> models.PersonOut:
    return models.PersonOut.model_validate({"person": person.code, "name": person.name, "role": person.role})


def _task(review: api.Review, task: api.Task, person: api.Person) -> dict[str, Any]:
    return {
        "task": task.name,
        "kind": task.kind.name,
        "title": task.recipe.title,
        "items": review.most_places(task, person),
        "judged": review.judged(task, person),
        "finished": review.finished(task),
        "overlap": task.recipe.overlap,
        "practice": practice_score(review.practice(task, person)),
    }


def _item(task: api.Task, item: api.Item, place: int, verdict: Any) -> dict[str, Any]:
    labels = list(item.labels) if task.kind.shows_labels else []
    return {
        "item": item.code,
        "place": place,
        "media": media_out(task, item),
        "labels": labels,
        "titles": task.titles(labels),
        "verdict": None if verdict is None else dict(verdict),
    }
