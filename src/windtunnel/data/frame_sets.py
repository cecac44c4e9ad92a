"""Frame sets: an anchor frame of a video and nearby frames that show the same objects."""

from __future__ import annotations

from collections.abc import Iterable

from windtunnel.core.samples import Sample

ANCHOR = "anchor"
NEIGHBOUR = "neighbour"
# The key of a frame's video in `Sample.meta`.
VIDEO = "video"
ONE_VIDEO = "All frames come from one video: confidence intervals do not cover other videos."
# Column names for a frame's set in tables that also have `offset`; any table may have groups.
SET_COLUMNS = ("set", "anchor")


def set_column(columns: Iterable[str]) -> str:
    """The column of a table of frames that names their set; "" for tables of other images."""
    there = set(columns)
    return next((name for name in SET_COLUMNS if name in there and "offset" in there), "")


def video_column(samples: Iterable[Sample]) -> str:
    """The key in the samples' meta that names their video, or else their frame set; "" for neither."""
    columns = {name for sample in samples for name in sample.meta}
    return VIDEO if VIDEO in columns else set_column(columns)
