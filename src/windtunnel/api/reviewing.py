"""Review: people judge the images and frame pairs of a curation project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.core.errors import ImageError as ImageError
from windtunnel.core.extras import load_extra
from windtunnel.curate.project import open_project
from windtunnel.imaging.codecs.png import png
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import read_header

if TYPE_CHECKING:
    from windtunnel.review.review import Review


def open_review(project: str | Path, database: str | None = None, *, create: bool = False) -> Review:
    """The review of a curation project; close it after use, or use it in a `with` statement.

    Args:
        project: the project's folder.
        database: URL of a PostgreSQL database; None for SQLite in the project.
        create: whether to create the review if there is none.
    """
    load_extra("sqlalchemy", "Review")
    from windtunnel.review.review import open_review

    return open_review(open_project(project).folder, database, create=create)


def png_of_image(content: bytes) -> bytes:
    """An image in any format that windtunnel reads, as PNG; raises `ImageError` for anything else."""
    return png.function(decode(content, read_header(content)))
