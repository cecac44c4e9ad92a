"""What all pages share: templates, and the static files of the package."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import NamedTuple

import jinja2
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
# Files of other packages: the reports' style is the base of the pages' style.
SHARED = {"page.css": ("windtunnel.report", "page.css")}


class StaticFile(NamedTuple):
    """A file that pages load: its content, media type and entity tag."""

    content: bytes
    media_type: str
    tag: str


def page(template: str, status: int = 200, **values: object) -> HTMLResponse:
    """A page from a template; all values are escaped."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def static_router() -> APIRouter:
    """The route of static files. Files are found by name in a fixed table, never by path."""
    router = APIRouter()

    @router.get("/static/{name}", include_in_schema=False)
    def static_file(name: str, request: Request) -> Response:
        file = _static_files().get(name)
        if file is None:
            raise HTTPException(404, "No such file.")
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    return router


@lru_cache(maxsize=1)
def _static_files() -> dict[str, StaticFile]:
    own = {path.name: path.read_bytes() for path in files("windtunnel.web").joinpath("static").iterdir()}
    shared = {name: files(package).joinpath(file).read_bytes() for name, (package, file) in SHARED.items()}
    return {
        name: StaticFile(
            content, TYPES[PurePosixPath(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        )
        for name, content in (own | shared).items()
    }


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("windtunnel.web", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
