"""A log for programs: one JSON object per line on standard error."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from rich.console import Console


class JsonLog(Console):
    """A console that writes events instead of text.

    Every line has `time` (UTC, ISO 8601) and `event`; what else it has depends on the event.
    """

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def event(self, name: str, **fields: Any) -> None:
        """Write one event."""
        self.file.write(event_line(name, **fields))
        self.file.flush()


def event_line(name: str, **fields: Any) -> str:
    """One event as a line; ASCII, whatever the encoding of standard error is."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "event": name, **fields}, allow_nan=False) + "\n"
