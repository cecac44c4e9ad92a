"""The ways things go wrong, and how each is told.

UserError      a mistake in what was asked: one line, exit 2, before any work
ImageError   one image cannot be scored: becomes a row of the run, the run goes on
RunFailed      the machinery failed (a worker died twice, a disk is full): exit 70 with the line that resumes
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

from windtunnel.core.phrasing import phrased

Status = Literal["ok", "unreadable", "too_small", "too_large", "model_error", "not_finite"]

# More names than this in one message hide the one that matters.
MAX_NAMES_SHOWN = 16


class _Phrased(Exception):
    """An error that names options as its reader passes them: see `phrasing.py`."""

    def __str__(self) -> str:
        return phrased(super().__str__())


class UserError(_Phrased):
    """What was given, what is allowed, what to do: shown as one line."""


class ImageError(Exception):
    """One image cannot be scored under one condition."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = " ".join(reason.split())


class RunFailed(_Phrased):
    """Work stopped for a reason that is not the user's; finished shards are kept."""


def first_line(error: Exception) -> str:
    """What an exception of somebody else's says, in one line that another sentence can hold."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


def unknown_name(kind: str, given: str, allowed: Iterable[str], hint: str = "") -> UserError:
    """Say that a name is not known, which one was probably meant, and what there is."""
    names = sorted(allowed)
    # Few words are misspelt in their first letter: without it in common, names must be closer.
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.66) or difflib.get_close_matches(
        given, [name for name in names if name[:1].lower() == given[:1].lower()], n=1, cutoff=0.6
    )
    meant = f" Did you mean {close[0]}?" if close else ""
    shown = ", ".join(names[:MAX_NAMES_SHOWN])
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    tail = f" ({hint})" if hint else ""
    return UserError(f"Unknown {kind} '{given}'.{meant} Known: {shown or 'none'}{more}.{tail}")
