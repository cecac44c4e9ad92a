"""Pages of the review app: sign in, tasks, work, and the owner's pages."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from windtunnel.web.shell import page


def review_pages() -> APIRouter:
    """The routes of the pages. Pages have no data of their own; scripts load it from the API."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/join")
    def join() -> HTMLResponse:
        return page("join.html.j2")

    @router.get("/")
    def tasks() -> HTMLResponse:
        return page("tasks.html.j2")

    @router.get("/tasks/{task}")
    def work(task: str) -> HTMLResponse:
        return page("work.html.j2", title=task)

    @router.get("/owner")
    def owner() -> HTMLResponse:
        return page("owner.html.j2")

    @router.get("/owner/{task}/second-pass")
    def second_pass(task: str) -> HTMLResponse:
        return page("second_pass.html.j2", title=task)

    return router
