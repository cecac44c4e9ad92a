"""Checks of files that a verb writes."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option


def check_png(path: Path) -> None:
    """Refuse a file that is not a PNG or whose folder does not exist."""
    if path.suffix.lower() != ".png":
        raise UserError(f"{option('out')} is {path}; give a file ending in .png.")
    if not path.parent.is_dir():
        raise UserError(
            f"{option('out')} is {path}, but {path.parent} does not exist; give an existing folder."
        )


def check_html(path: str | Path | None) -> Path | None:
    """The HTML file that a verb is to write, or None; refuses other files and folders that do not exist."""
    if path is None:
        return None
    file = Path(path)
    if file.suffix.lower() != ".html":
        raise UserError(f"{option('out')} is {file}; give a file ending in .html.")
    if not file.parent.is_dir():
        raise UserError(
            f"{option('out')} is {file}, but {file.parent} does not exist; give an existing folder."
        )
    return file
