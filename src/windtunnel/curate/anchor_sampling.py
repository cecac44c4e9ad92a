"""Anchors of frame sets: which frames are drawn, and which frames are around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.seeding import Draws
from windtunnel.core.wording import counted
from windtunnel.curate.video_labels import FrameLabels, nearest_frame

CutOff = Literal["", "start", "end", "both"]


@dataclass(frozen=True)
class Sampling:
    """How anchors are drawn.

    Attributes:
        anchors: how many for each video, if they fit.
        gap: the smallest distance of two anchors, in seconds.
        frames: how many frames on each side of an anchor; 0 if `seconds` is given.
        seconds: how many seconds on each side, up to the frame that is shown nearest to that time.
        seed: seed of the draws.
    """

    anchors: int = 1
    gap: float = 2.0
    frames: int = 10
    seconds: float = 0.0
    seed: int = 0

    def describe(self) -> str:
        """How anchors are drawn, for readers."""
        sides = f"{self.seconds:g} s" if self.seconds else counted(self.frames, "frame")
        gap = f", at least {self.gap:g} s apart" if self.anchors > 1 else ""
        return f"up to {counted(self.anchors, 'anchor')}{gap}, {sides} on each side, seed {self.seed}"


@dataclass(frozen=True)
class FrameWindow:
    """The frames of one set: indices of the anchor, the first and the last frame.

    Attributes:
        cut_off: where the video ends before the set does.
        inside: whether every frame has the labels of the anchor in the table.
    """

    anchor: int
    first: int
    last: int
    cut_off: CutOff
    inside: bool


def sample_windows(
    times: NDArray[np.float64],
    labels: Mapping[int, FrameLabels] | None,
    sampling: Sampling,
    video: str,
    *,
    truncated: bool = False,
) -> list[FrameWindow]:
    """Draw the anchors of one video at random, in the order of time.

    Anchors whose set is complete and lies inside one labelled segment come first, then those whose set is
    complete, then the others. Within each group every frame is equally likely.

    Args:
        times: when each frame is shown, in seconds.
        labels: by index of a frame, what the table says; None without a table, when any frame may be drawn.
        sampling: how many anchors, at which distance, and how many frames around them.
        video: the id of the video, which the draws depend on.
        truncated: whether frames are missing after the last one; sets that need them are not made.
    """
    anchors = np.arange(len(times)) if labels is None else np.array(sorted(labels), np.int64)
    if truncated and len(anchors):
        anchors = anchors[~_cut_off(times, anchors, sampling)[1]]
    if not len(anchors):
        return []
    first, last = _bounds(times, anchors, sampling)
    at_start, at_end = _cut_off(times, anchors, sampling)
    inside = _inside(len(times), labels, first, last)
    rank = np.where(at_start | at_end, 2, np.where(inside, 0, 1))
    draws = Draws(sampling.seed, video, "curate/anchors", 0)
    order = np.array(draws.permutation("anchors", len(anchors)), np.int64)
    order = order[np.argsort(rank[order], kind="stable")]
    chosen: list[int] = []
    for place in order.tolist():
        time = times[anchors[place]]
        if all(abs(time - times[anchors[other]]) >= sampling.gap for other in chosen):
            chosen.append(place)
        if len(chosen) == sampling.anchors:
            break
    return [
        FrameWindow(
            int(anchors[place]),
            int(first[place]),
            int(last[place]),
            _cut_off_name(bool(at_start[place]), bool(at_end[place])),
            bool(inside[place]),
        )
        for place in sorted(chosen)
    ]


def _bounds(
    times: NDArray[np.float64], anchors: NDArray[np.int64], sampling: Sampling
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last frame of the set of each anchor."""
    if not sampling.seconds:
        return (
            np.maximum(anchors - sampling.frames, 0),
            np.minimum(anchors + sampling.frames, len(times) - 1),
        )
    first = nearest_frame(times, times[anchors] - sampling.seconds)
    last = nearest_frame(times, times[anchors] + sampling.seconds)
    return np.minimum(first, anchors), np.maximum(last, anchors)


def _cut_off(
    times: NDArray[np.float64], anchors: NDArray[np.int64], sampling: Sampling
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the video begins after, or ends before, the set of each anchor."""
    if not sampling.seconds:
        return anchors - sampling.frames < 0, anchors + sampling.frames > len(times) - 1
    if len(times) == 1:
        return np.ones(len(anchors), bool), np.ones(len(anchors), bool)
    # Half a frame interval further than the first and the last frame, these are still the nearest frames.
    start = times[0] - (times[1] - times[0]) / 2
    end = times[-1] + (times[-1] - times[-2]) / 2
    return times[anchors] - sampling.seconds < start, times[anchors] + sampling.seconds > end


def _inside(
    frames: int,
    labels: Mapping[int, FrameLabels] | None,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether all frames of each set have the same labels in the table."""
    if labels is None:
        return np.ones(len(first), bool)
    numbers: dict[tuple[str, ...], int] = {}
    code = np.zeros(frames, np.int64)
    for index, frame in labels.items():
        code[index] = numbers.setdefault(frame.labels, len(numbers) + 1)
    run = np.concatenate([[0], np.cumsum(code[1:] != code[:-1])])
    return np.asarray(run[first] == run[last])


def _cut_off_name(at_start: bool, at_end: bool) -> CutOff:
    if at_start:
        return "both" if at_end else "start"
    return "end" if at_end else ""
