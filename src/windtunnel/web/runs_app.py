"""The app that browses runs: a list, comparisons, reports, images under conditions, scatter plots."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from windtunnel import api
from windtunnel.web.errors import ERRORS, add_errors, client_address
from windtunnel.web.review_models import TokenIn
from windtunnel.web.safety import Audit, Guard, Rate
from windtunnel.web.shell import page, static_router

COOKIE_SECONDS = 30 * 86_400
SIGN_IN_PER_SECOND, SIGN_IN_BURST = 0.5, 30
# Requests of one session, or of one address without sessions: a page of images has up to 200.
PER_SECOND, BURST = 60, 600
RUNS_COMPARED = 12
# Reports have their scripts and styles inside. They are shown in an origin of their own: a report cannot read
# other pages or send anything.
REPORT_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-downloads allow-popups"
}
PIXEL_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=600",
}
PAGES = {
    "/": ("runs.html.j2", "Runs"),
    "/scatter": ("scatter.html.j2", "Scatter plot"),
    "/images": ("images.html.j2", "Images"),
    "/image": ("image.html.j2", "Image"),
}

Name = Annotated[str, Query(max_length=500)]
Number = Annotated[int, Query(ge=0, le=100_000_000)]


def _cookie(request: Request) -> str:
    """The name of the cookie: browsers share cookies between the ports of a host."""
    return f"windtunnel_runs_{(request.scope.get('server') or ('', 0))[1]}"


class Access:
    """Who may see the runs: everybody without a token, else those who have exchanged it for a cookie."""

    def __init__(self, token: str, audit: Audit, rate: Rate) -> None:
        self._token, self._audit, self._rate = token, audit, rate
        self._sessions: set[str] = set()

    def begin(self, token: str) -> str | None:
        """A new session for the right token, else None."""
        if not self._token or not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        session = secrets.token_urlsafe(32)
        self._sessions.add(_digest(session))
        return session

    def allows(self, request: Request) -> bool:
        """Whether a request has a session, or needs none."""
        return not self._token or _digest(request.cookies.get(_cookie(request), "")) in self._sessions

    def __call__(self, request: Request) -> None:
        """Refuse a request without a session, and too many requests of one session or address."""
        if not self.allows(request):
            self._refused(request, 401, "not signed in")
            raise HTTPException(401, "Open the link with the token that the server printed.")
        session = request.cookies.get(_cookie(request), "") if self._token else ""
        if not self._rate.allows(_digest(session) if session else client_address(request)):
            self._refused(request, 429, "too fast")
            raise HTTPException(429, "Too many requests; wait a second.", {"retry-after": "1"})

    def _refused(self, request: Request, status: int, reason: str) -> None:
        self._audit.refused(client_address(request), request.method, request.url.path, status, reason)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def runs_app(
    browser: api.RunBrowser,
    hosts: Iterable[str],
    *,
    token: str = "",
    secure: bool = False,
    audit_file: Path | None = None,
) -> Guard:
    """The ASGI application that browses runs.

    Args:
        browser: the runs.
        hosts: the names under which the server may be addressed.
        token: the secret of the link; "" if everybody who reaches the server may see the runs.
        secure: whether it is reached through HTTPS only.
        audit_file: the file that records who signed in, what was refused and what failed; None for none.
    """
    audit = Audit(audit_file)
    access = Access(token, audit, Rate(PER_SECOND, BURST))
    app = FastAPI(title="windtunnel runs", docs_url=None, redoc_url=None, openapi_url=None, responses=ERRORS)
    _add_errors(app, audit)
    _add_session(app, access, audit, secure=secure)
    app.include_router(_pages(access))
    app.include_router(_data(browser, access))
    app.include_router(static_router())
    return Guard(app, hosts, audit)


def _add_errors(app: FastAPI, audit: Audit) -> None:
    add_errors(app, audit, "The server failed. Try again.")

    @app.exception_handler(api.NoSuchRun)
    def missing(_request: Request, error: api.NoSuchRun) -> Response:
        return JSONResponse({"detail": str(error)}, 404)


def _add_session(app: FastAPI, access: Access, audit: Audit, *, secure: bool) -> None:
    attempts = Rate(SIGN_IN_PER_SECOND, SIGN_IN_BURST)

    @app.get("/join")
    def join() -> HTMLResponse:
        return page("join.html.j2")

    @app.post("/api/session")
    def sign_in(body: TokenIn, request: Request, response: Response) -> dict[str, str]:
        address = client_address(request)
        if not attempts.allows(address):
            raise HTTPException(429, "Too many attempts; wait a minute.")
        session = access.begin(body.token)
        if session is None:
            audit.refused(address, "POST", "/api/session", 401, "unknown link")
            raise HTTPException(401, "This link is not valid; ask for the one that the server printed.")
        response.set_cookie(
            _cookie(request),
            session,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=secure,
            path="/",
        )
        audit.write("signed in", address=address)
        return {"role": "reader"}


def _pages(access: Access) -> APIRouter:
    """The pages; scripts load their data."""
    router = APIRouter(include_in_schema=False)

    def show(request: Request) -> Response:
        if not access.allows(request):
            return RedirectResponse("/join")
        template, title = PAGES[request.url.path]
        return page(template, title=title)

    for path in PAGES:
        router.add_api_route(path, show, response_model=None)
    return router


def _data(browser: api.RunBrowser, access: Access) -> APIRouter:
    """What pages load, and documents that are opened from them."""
    router = APIRouter(dependencies=[Depends(access)])

    @router.get("/api/runs")
    def runs() -> dict[str, Any]:
        return browser.listing()

    @router.get("/api/images")
    def images(
        run: Name,
        condition: Name = "",
        shown: Literal["all", "wrong", "correct"] = "all",
        query: Name = "",
        start: Number = 0,
        count: Annotated[int, Query(ge=1, le=200)] = 60,
    ) -> dict[str, Any]:
        return browser.images(run, condition, shown, query, start, count)

    @router.get("/api/image")
    def image(run: Name, row: Number, condition: Name, frame: Number = 0) -> dict[str, Any]:
        return browser.image(run, row, condition, frame)

    @router.get("/pixels")
    def pixels(run: Name, row: Number, condition: Name, frame: Number = 0) -> Response:
        content = browser.pixels(run, row, condition, frame)
        return Response(content, media_type="image/png", headers=PIXEL_HEADERS)

    @router.get("/report")
    def report(run: Name) -> Response:
        return HTMLResponse(browser.report(run), headers=REPORT_HEADERS)

    @router.get("/compare")
    def compare(run: Annotated[list[str], Query(max_length=RUNS_COMPARED)]) -> Response:
        return HTMLResponse(browser.comparison(run), headers=REPORT_HEADERS)

    return router
