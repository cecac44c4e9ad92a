"""The codecs of the published corrupted sets: the contents of `set_codecs.csv`."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

from windtunnel import published


@lru_cache(maxsize=1)
def published_codecs() -> dict[int, str]:
    """By edition, the codec that the images of the published set were stored with."""
    rows = csv.DictReader(io.StringIO(published.read_text("set_codecs.csv")))
    return {int(row["edition"]): row["codec"] for row in rows}
