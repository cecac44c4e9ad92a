"""Small videos that tests make with PyAV, sound and damaged ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

MILLISECOND = Fraction(1, 1000)
RATE = 25
# Display matrices of QuickTime files (a, b, c, d) by what a player shows.
MATRICES = {
    "clockwise": (0, 1, -1, 0),
    "upside_down": (-1, 0, 0, -1),
    "counter_clockwise": (0, -1, 1, 0),
    "mirrored": (-1, 0, 0, 1),
}


def numbered_frames(count: int, width: int = 64, height: int = 48) -> list[np.ndarray]:
    """Frames that all differ: a bar that grows to the right, on a ground that brightens."""
    frames = []
    for number in range(count):
        frame = np.full((height, width, 3), (40 + number, 90, 160), np.uint8)
        frame[: height // 3, : (number + 1) * width // count] = (230, 30, 30)
        frame[-height // 4 :, width // 2 :] = (20, 200, 60)
        frames.append(frame)
    return frames


def write_clip(
    path: Path,
    frames: Sequence[np.ndarray],
    *,
    milliseconds: Sequence[int] | None = None,
    codec: str = "ffv1",
    pixels: str = "bgr0",
    container: str | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Write a video; FFV1 is lossless, `milliseconds` are the times of frames (25 a second without them)."""
    with av.open(str(path), "w", format=container, options=options or {}) as file:
        stream = file.add_stream(codec, rate=RATE)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = pixels
        stream.thread_count = 1
        stream.codec_context.time_base = MILLISECOND
        for number, image in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
            frame.pts = milliseconds[number] if milliseconds else number * 1000 // RATE
            frame.time_base = MILLISECOND
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return path


def write_h264(path: Path, frames: Sequence[np.ndarray], **options: str) -> Path:
    """Write an H.264 video with B-frames, as cameras and phones do."""
    return write_clip(path, frames, codec="libx264", pixels="yuv420p", options=options)


def turn(path: Path, how: str) -> Path:
    """Write a display matrix into the track header of an MP4 file."""
    content = bytearray(path.read_bytes())
    # After the type: version and flags, five numbers, two reserved ones, layer, group, volume, reserved.
    place = content.find(b"tkhd") + 4 + 4 + 20 + 8 + 8
    a, b, c, d = (value << 16 for value in MATRICES[how])
    content[place : place + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    return path


def write_audio(path: Path) -> Path:
    """Write a second of silence without a video."""
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=8000)
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        silence.sample_rate = 8000
        file.mux(stream.encode(silence))
        file.mux(stream.encode())
    return path


def write_without_frames(path: Path) -> Path:
    """Write a video file that ends after its header."""
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        file.start_encoding()
    return path


def write_bad_videos(folder: Path) -> dict[str, str]:
    """Write videos that cannot be used; returns the expected status by file name."""
    frames = numbered_frames(30)
    whole = write_h264(folder / "whole.mp4", frames).read_bytes()
    # The index is at the front, so that the first frames of a cut file can be read.
    front = write_h264(folder / "front.mp4", frames, movflags="faststart").read_bytes()
    matroska = write_clip(folder / "whole.mkv", frames).read_bytes()
    damaged = bytearray(whole)
    start = whole.find(b"mdat") + len(whole) // 4
    damaged[start : start + 60] = bytes(value ^ 0x5A for value in damaged[start : start + 60])
    for name in ("whole.mp4", "front.mp4", "whole.mkv"):
        (folder / name).unlink()
    (folder / "cut_index.mp4").write_bytes(whole[: len(whole) * 3 // 4])
    (folder / "cut_frames.mp4").write_bytes(front[: len(front) * 3 // 4])
    (folder / "cut.mkv").write_bytes(matroska[: len(matroska) * 3 // 4])
    (folder / "corrupt.mp4").write_bytes(damaged)
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("no video at all\n" * 50)
    (folder / "playlist.mp4").write_text("#EXTM3U\n#EXTINF:1,\n/etc/hostname\n")
    write_audio(folder / "sound.mp4")
    write_without_frames(folder / "header.mp4")
    write_clip(folder / "pixel.mkv", [np.zeros((1, 1, 3), np.uint8)] * 30)
    return {
        "cut_index.mp4": "truncated",
        "cut_frames.mp4": "truncated",
        "cut.mkv": "truncated",
        "corrupt.mp4": "corrupt",
        "empty.mp4": "unreadable",
        "text.mp4": "unreadable",
        "playlist.mp4": "unreadable",
        "sound.mp4": "no_video",
        "header.mp4": "no_frames",
        "pixel.mkv": "too_small",
    }
