"""Frame sets: an anchor frame of a video, and the frames near it that show the same."""

from __future__ import annotations

from collections.abc import Iterable

from windtunnel.core.samples import Sample

ANCHOR = "anchor"
NEIGHBOUR = "neighbour"
# What a frame's meta calls its video.
VIDEO = "video"
ONE_VIDEO = "All frames are of one video: intervals say nothing of other videos."
# What tables call a frame's set, beside `offset`; any table may have groups.
SET_COLUMNS = ("set", "anchor")


def set_column(columns: Iterable[str]) -> str:
    """The column of a table of frames that names their set; "" for tables of other images."""
    there = set(columns)
    return next((name for name in SET_COLUMNS if name in there and "offset" in there), "")


def video_column(samples: Iterable[Sample]) -> str:
    """What says in the images' meta of which video each is, or else of which set of frames; "" for none."""
    columns = {name for sample in samples for name in sample.meta}
    return VIDEO if VIDEO in columns else set_column(columns)
