"""Clips: the effect of storing a sequence of frames, frame by frame or as H.264 video."""

from __future__ import annotations

import io
import platform
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from windtunnel.core.errors import ImageError
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image
from windtunnel.core.wording import counted
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.header import check_size

H264 = "h264"
VIDEO_SUFFIX = ".mp4"
CONTAINER = "mp4"
# A decoder keeps up to 17 frames.
MAX_FRAME_PIXELS = 2**22
# The quality of the published set: noise keeps its grain, the other sequences are slightly above the default.
ENCODINGS = {
    "noise": {"preset": "veryslow", "tune": "grain", "crf": "23"},
    "temporal": {"preset": "veryslow", "crf": "20"},
}
# libx264's own choice for RGB frames.
PIXELS = "yuv444p"
# With AVX-512 code libx264 gives other bytes, and other pixels, in every call; with any older instruction set
# it gives the same ones, and is not slower.
SAME_BYTES = {"x264-params": "asm=sse4"} if platform.machine() in ("x86_64", "AMD64") else {}


def clip_round_trip(frames: Iterator[Image], codec: str, type_: str) -> Iterator[Image]:
    """The frames after they have been stored with a codec and read again.

    The frames of a video depend on each other: all are encoded before the first is returned.
    """
    if codec == H264:
        yield from decode_clip(encode_clip(frames, type_))
    else:
        for frame in frames:
            yield round_trip(frame, codec)


def whole_clip(
    frames: Iterable[Image], count: int, size: tuple[int, int] | None = None, *, any_aspect: bool = False
) -> list[Image]:
    """All frames of a clip; a clip of another length or size (width, height) is unreadable.

    All frames are read first, so that no frame of a clip that fails is predicted. For clips that are not
    square only the short side is checked.
    """
    clip: list[Image] = []
    for frame in frames:
        if len(clip) == count:
            raise ImageError("unreadable", f"a clip of more frames than the usual {count}")
        height, width = frame.shape[:2]
        same = size is None or (min(width, height) == min(size) if any_aspect else (width, height) == size)
        if size is not None and not same:
            usual = f"{size[0]}x{size[1]}"
            raise ImageError("unreadable", f"a clip of {width}x{height} pixels where {usual} are usual")
        clip.append(frame)
    if len(clip) < count:
        raise ImageError("unreadable", f"a clip of {counted(len(clip), 'frame')} where {count} are usual")
    return clip


def encode_clip(frames: Iterable[Image], type_: str) -> bytes:
    """Frames as an mp4 file at one frame a second; `type_` is noise or temporal."""
    av = load_av()
    stored = io.BytesIO()
    with av.open(stored, "w", format=CONTAINER) as container:
        stream = None
        for frame in frames:
            if stream is None:
                options = ENCODINGS[type_] | SAME_BYTES
                stream = container.add_stream("libx264", rate=Fraction(1), options=options)
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
    """The frames of a video file in order, as OpenCV reads them."""
    av = load_av()
    try:
        # Probing could read the bytes as a playlist, which names other files and addresses.
        with av.open(io.BytesIO(content), format=CONTAINER, options={"protocol_whitelist": ""}) as container:
            if not container.streams.video:
                raise ImageError("unreadable", "the file holds no video")
            stream = container.streams.video[0]
            if stream.width * stream.height > MAX_FRAME_PIXELS:
                raise ImageError(
                    "too_large",
                    f"a clip of {stream.width}x{stream.height} pixels; at most {MAX_FRAME_PIXELS:,}",
                )
            check_size(stream.width, stream.height)
            # Frames can be larger than the container states.
            stream.codec_context.options = {"max_pixels": str(MAX_FRAME_PIXELS)}
            for frame in container.decode(video=0):
                yield np.ascontiguousarray(frame.to_ndarray(format="rgb24"))
    except av.FFmpegError as error:
        raise ImageError("unreadable", f"no video, or a damaged one: {error.strerror}") from error


def load_av() -> Any:
    """PyAV; if it is missing, the error gives the install command."""
    return load_extra("av", "Video")
