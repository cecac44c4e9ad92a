"""What unit tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from windtunnel.review.review import Review, open_review


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review in SQLite without tasks."""
    with open_review(tmp_path, create=True) as opened:
        yield opened
