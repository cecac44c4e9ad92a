"""Images of items: served by item and role, from files of the project only."""

from __future__ import annotations

from pathlib import Path

from fastapi import HTTPException, Response

from windtunnel import api
from windtunnel.web.review_models import MediaOut

# What browsers show, by the first bytes of the file; a file's name says nothing about it.
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
HEADERS = {
    # The URL names the content, which never changes; only this person's browser may keep it.
    "cache-control": "private, max-age=31536000, immutable",
    "content-security-policy": "default-src 'none'; sandbox",
    "content-disposition": "inline",
}


def media_out(task: api.Task, item: api.Item) -> list[MediaOut]:
    """The images of an item, with their addresses."""
    return [
        MediaOut(
            role=file.role,
            url=f"/media/{task.name}/{item.code}/{file.role}",
            width=file.width,
            height=file.height,
        )
        for file in item.media
    ]


def image_response(folder: Path, file: str) -> Response:
    """An image of the project; refuses links, other folders, and what is no image."""
    content = _content(folder, file)
    for signature, media_type in SIGNATURES:
        if content.startswith(signature):
            return Response(content, media_type=media_type, headers=HEADERS)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Response(content, media_type="image/webp", headers=HEADERS)
    try:
        return Response(api.png_of_image(content), media_type="image/png", headers=HEADERS)
    except api.ImageError:
        raise HTTPException(415, "The file is no image.") from None


def _content(folder: Path, file: str) -> bytes:
    root = folder.resolve()
    path = root / file
    try:
        inside = path.resolve(strict=True) == path and path.is_relative_to(root) and path.is_file()
        if inside:
            return path.read_bytes()
    except (OSError, ValueError):
        pass
    raise HTTPException(404, "There is no such image.")
