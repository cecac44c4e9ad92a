"""Frame sets: an anchor frame of a video, and the frames near it that show the same."""

from __future__ import annotations

from dataclasses import dataclass

ANCHOR = "anchor"
NEIGHBOUR = "neighbour"
# What a frame's meta calls its video.
VIDEO = "video"
ONE_VIDEO = "All frames are of one video: intervals say nothing of other videos."


@dataclass(frozen=True)
class FrameRow:
    """One frame of one set; a frame may serve two anchors.

    Attributes:
        group: the set, named by its anchor.
        sample_id: the frame.
        offset: how many frames after the anchor it is; negative before it.
        role: `anchor` or `neighbour`.
    """

    group: str
    sample_id: str
    offset: int
    role: str
