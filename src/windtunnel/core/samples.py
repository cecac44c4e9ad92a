"""Samples: an image of a dataset, the facts from its survey, and its place in a frame set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windtunnel.core.errors import Status
from windtunnel.core.images import UPRIGHT


@dataclass(frozen=True, slots=True)
class Sample:
    """One image: a stable id, its class indices (empty for none), and the data that its reader needs."""

    id: str
    labels: tuple[int, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The facts about one image.

    Attributes:
        content: hash of its bytes, or of its array.
        pixels: hash of its pixels as an array, if the survey decoded it; else "".
    """

    sample: Sample
    content: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    orientation: int = UPRIGHT
    status: Status = "ok"
    reason: str = ""
    pixels: str = ""


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One frame of one frame set; a frame may belong to two anchors.

    Attributes:
        group: the set, named by its anchor.
        sample_id: the frame.
        offset: the number of frames after the anchor; negative before it.
        role: `anchor` or `neighbour`.
    """

    group: str
    sample_id: str
    offset: int
    role: str
