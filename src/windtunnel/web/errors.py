"""What a request is answered with when it is refused or fails: one line of JSON, as `detail`.

Browsers that open an unknown address get a page.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from windtunnel.core.errors import UserError
from windtunnel.web.safety import Audit
from windtunnel.web.shell import page


class ErrorOut(BaseModel):
    """Why a request was refused, or that the server failed."""

    detail: str


# What the OpenAPI schema says of refusals and failures.
ERRORS: dict[int | str, dict[str, Any]] = {"4XX": {"model": ErrorOut}, "5XX": {"model": ErrorOut}}


def add_errors(app: FastAPI, audit: Audit, failure: str) -> None:
    """Answer wrong input with 400 or 422, unknown addresses with 404, failures with 500; failures are logged.

    Args:
        app: the application.
        audit: its audit log.
        failure: what people read when the server fails.
    """

    @app.exception_handler(UserError)
    def refused(_request: Request, error: UserError) -> Response:
        return JSONResponse({"detail": str(error)}, 400)

    @app.exception_handler(RequestValidationError)
    def malformed(_request: Request, error: RequestValidationError) -> Response:
        # FastAPI's own answer repeats the input, which may not be JSON again.
        found = error.errors()[0]
        where = ".".join(str(part) for part in found["loc"])
        return JSONResponse({"detail": f"{where}: {found['msg']}"[:500]}, 422)

    @app.exception_handler(404)
    async def unknown(request: Request, error: HTTPException) -> Response:
        opened = "text/html" in request.headers.get("accept", "")
        if opened and not request.url.path.startswith("/api/"):
            return page("not_found.html.j2", 404)
        return await http_exception_handler(request, error)

    @app.exception_handler(Exception)
    def failed(request: Request, error: Exception) -> Response:
        audit.write("failed", path=request.url.path[:200], error=f"{type(error).__name__}: {error}"[:500])
        return JSONResponse({"detail": failure}, 500)


def client_address(request: Request) -> str:
    """The address of who makes a request; that of a trusted proxy's client, if there is one."""
    return request.client.host[:100] if request.client else ""
