"""The times of the frames of a video, from its timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise


@dataclass(frozen=True)
class FrameTime:
    """When a frame is shown.

    Attributes:
        index: its place among all frames of the video, from 0.
        pts: its timestamp in units of the time base; None if the file has none.
        time: seconds since the start of the container.
        estimated: whether the time was computed otherwise than from the timestamp, because the timestamps are
            missing or out of order.
    """

    index: int
    pts: int | None
    time: float
    estimated: bool


def frame_times(
    stamps: Sequence[tuple[int | None, int | None]],
    time_base: Fraction,
    start: Fraction | None,
    rate: Fraction,
) -> list[FrameTime]:
    """The times of frames in the order of presentation, always increasing.

    Args:
        stamps: presentation and decoding timestamps of every frame, in units of `time_base`.
        time_base: seconds per unit.
        start: the start of the container in seconds; None for the first frame's time.
        rate: frames per second, where timestamps cannot be used.
    """
    shown = [pts for pts, _ in stamps]
    decoded = [dts for _, dts in stamps]
    usable: Sequence[int | None] = shown
    if not _increasing(shown) and _increasing(decoded):
        # Containers without presentation timestamps: decoders return frames at the rate of decoding.
        first = decoded[0] or 0
        usable = [None if dts is None else dts - first + (shown[0] or 0) for dts in decoded]
    times: list[FrameTime] = []
    last: Fraction | None = None
    for index, (pts, stamp) in enumerate(zip(shown, usable, strict=True)):
        time = None if stamp is None else stamp * time_base
        if start is None:
            start = time or Fraction(0)
        time = None if time is None else time - start
        if time is None or (last is not None and time <= last):
            time = Fraction(0) if last is None else last + 1 / rate
        last = time
        stated = pts is not None and time == pts * time_base - start
        times.append(FrameTime(index, pts, float(time), not stated))
    return times


def _increasing(stamps: Sequence[int | None]) -> bool:
    known = [stamp for stamp in stamps if stamp is not None]
    return len(known) == len(stamps) and all(a < b for a, b in pairwise(known))
