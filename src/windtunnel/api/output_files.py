"""Checks of files that a verb writes."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.suites.suite_text import check_suite_name


def check_png(path: Path) -> None:
    """Refuse a file that is not a PNG or whose folder does not exist."""
    check_file(path, ".png")


def check_html(path: str | Path | None) -> Path | None:
    """The HTML file that a verb is to write, or None; refuses other files and folders that do not exist."""
    return None if path is None else check_file(path, ".html")


def check_suite_file(path: str | Path) -> Path:
    """The TOML file of a suite that a verb is to write, whose name is the suite's; refuses taken names."""
    file = check_file(path, ".toml")
    check_suite_name(file.stem)
    return file


def check_file(path: str | Path, suffix: str, name: str = "out") -> Path:
    """The file that a verb is to write; refuses another suffix and a folder that does not exist."""
    file = Path(path)
    if file.suffix.lower() != suffix:
        raise UserError(f"{option(name)} is {file}; give a file ending in {suffix}.")
    if not file.parent.is_dir():
        raise UserError(
            f"{option(name)} is {file}, but {file.parent} does not exist; give an existing folder."
        )
    return file
