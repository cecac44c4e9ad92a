"""The kinds of errors, and how each is reported.

UserError    a mistake in the input: one line, exit 2, before any work
ImageError   one image cannot be scored: becomes a row of the run, and the run continues
RunFailed    the execution failed (a worker died twice, a disk is full): exit 70 with the command that resumes

ImplausibleScores is a warning: the run is finished, and its numbers may be wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

from windtunnel.core.option_names import spelled

Status = Literal["ok", "unreadable", "too_small", "too_large", "model_error", "not_finite"]

# The most names in one message; more would hide the relevant one.
MAX_NAMES_SHOWN = 16


class _Spelled(Exception):
    """An error that names options as its reader passes them: see `option_names.py`."""

    def __str__(self) -> str:
        return spelled(super().__str__())


class UserError(_Spelled):
    """A mistake in the input, shown as one line: what was given, what is allowed, what to do."""


class ImplausibleScores(UserWarning):
    """The numbers of a run cannot be right, or may be wrong: an error near chance, nothing declared."""


class ImageError(Exception):
    """One image cannot be scored under one condition."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = " ".join(reason.split())

    def __reduce__(self) -> tuple[type[ImageError], tuple[Status, str]]:
        """Pickle both arguments: pixel workers send failures to the process that predicts."""
        return type(self), (self.status, self.reason)


class RunFailed(_Spelled):
    """Work stopped for a reason other than the user's input; completed shards are kept."""


def first_line(error: Exception) -> str:
    """The first line of another library's exception, shortened, for use inside a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


def unknown_name(kind: str, given: str, allowed: Iterable[str], hint: str = "") -> UserError:
    """The error for an unknown name, with the most similar known name and the list of known names."""
    names = sorted(allowed)
    # Few words are misspelt in their first letter: names with another first letter must be more similar.
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.66) or difflib.get_close_matches(
        given, [name for name in names if name[:1].lower() == given[:1].lower()], n=1, cutoff=0.6
    )
    if len(given) > 1:  # an abbreviation
        close = [name for name in names if name.lower().startswith(given.lower())][:1] or close
    meant = f" Did you mean {close[0]}?" if close else ""
    shown = ", ".join(names[:MAX_NAMES_SHOWN])
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    tail = f" ({hint})" if hint else ""
    return UserError(f"Unknown {kind} '{given}'.{meant} Known: {shown or 'none'}{more}.{tail}")
