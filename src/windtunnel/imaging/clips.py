"""Clips: what storing a sequence of frames does to them, frame by frame or as H.264 video."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from windtunnel.errors import UserError
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import round_trip

H264 = "h264"
# As the published set was made: noise keeps its grain, everything else is a little finer than the default.
ENCODINGS = {
    "noise": {"preset": "veryslow", "tune": "grain", "crf": "23"},
    "temporal": {"preset": "veryslow", "crf": "20"},
}
# libx264's own choice for RGB frames.
PIXELS = "yuv444p"


def clip_round_trip(frames: Iterator[Image], codec: str, type_: str) -> Iterator[Image]:
    """The frames after they have been stored with a codec and read again.

    A video's frames depend on each other: all of them are encoded before the first comes back.
    """
    if codec == H264:
        yield from decode_clip(encode_clip(frames, type_))
    else:
        for frame in frames:
            yield round_trip(frame, codec)


def encode_clip(frames: Iterable[Image], type_: str) -> bytes:
    """Frames as an mp4 file at one frame a second; `type_` is noise or temporal."""
    av = load_av()
    stored = io.BytesIO()
    with av.open(stored, "w", format="mp4") as container:
        stream = None
        for frame in frames:
            if stream is None:
                stream = container.add_stream("libx264", rate=Fraction(1), options=ENCODINGS[type_])
                stream.height, stream.width = frame.shape[:2]
                stream.pix_fmt = PIXELS
                stream.thread_count = 1  # the same bytes on any machine
            container.mux(
                stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24"))
            )
        if stream is not None:
            container.mux(stream.encode())
    return stored.getvalue()


def decode_clip(content: bytes) -> Iterator[Image]:
    """The frames of a video file, one after the other."""
    av = load_av()
    with av.open(io.BytesIO(content)) as container:
        for frame in container.decode(video=0):
            yield np.ascontiguousarray(frame.to_ndarray(format="rgb24"))


def load_av() -> Any:
    """PyAV, or the cure where it is missing."""
    try:
        import av
    except ImportError as error:
        raise UserError("Video needs PyAV; pip install 'windtunnel[video]'.") from error
    return av
