"""Samples: an image of a data set, what the survey found out about it, and its place in a frame set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windtunnel.core.errors import Status
from windtunnel.core.images import UPRIGHT


@dataclass(frozen=True)
class Sample:
    """One image: an id that lasts, its class indices (empty for none), and what its reader needs."""

    id: str
    labels: tuple[int, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Surveyed:
    """What is known of one image before it is decoded."""

    sample: Sample
    content: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    orientation: int = UPRIGHT
    status: Status = "ok"
    reason: str = ""


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
