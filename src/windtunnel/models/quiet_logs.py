"""Without the log messages of a library while it loads a model."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_log(name: str) -> Iterator[None]:
    """Leave out a logger's warnings: what matters of them becomes one line of an error."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
