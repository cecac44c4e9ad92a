"""Videos decoded frame by frame with FFmpeg through PyAV, in the order of presentation.

A file is read from its beginning every time: seeking by key frames is not exact in many containers. One frame
is in memory at a time, besides those that the decoder keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from windtunnel.core.images import Image
from windtunnel.core.wording import counted
from windtunnel.imaging.clips import load_av
from windtunnel.imaging.container_sizes import missing_bytes
from windtunnel.imaging.display_matrix import display_matrix, is_right_angle, oriented, rotation_of
from windtunnel.imaging.frame_times import FrameTime, frame_times
from windtunnel.imaging.header import MIN_SIDE_PX

VideoStatus = Literal[
    "ok", "unreadable", "no_video", "no_frames", "truncated", "corrupt", "too_small", "too_large"
]
# Containers that hold frames themselves. Playlists, which name other files and addresses, are not among them.
CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,m4v,mjpeg,ivf,obu,av1,ogg,flv,"
    "asf,gif,apng,dv,mxf,gxf,nut,rm,wtv,y4m,yuv4mpegpipe"
)
# A decoder keeps up to 17 frames, of 1.5 bytes per pixel in most videos: 430 MB at this size.
MAX_FRAME_PIXELS = 2**24
# The times of this many frames take about 1 GB.
MAX_FRAMES = 2**23
# Frames per second where neither timestamps nor the container give any.
ASSUMED_RATE = Fraction(25)
# A file is truncated if it ends earlier than its container declares by more than this many frames.
MISSING_FRAMES = 3
# The container whose declared number of frames counts frames; others count ticks, or nothing.
COUNTED_CONTAINER = "mp4"
MICROSECONDS = 1_000_000
# FFmpeg's numbers of colour matrices and ranges (ISO/IEC 23091-2).
MATRICES = {0: "rgb", 1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 9: "bt2020nc"}
RANGES = {1: "limited", 2: "full"}


class VideoError(Exception):
    """A video cannot be used; `status` says which kind of damage, `reason` what was found."""

    def __init__(self, status: VideoStatus, reason: str) -> None:
        super().__init__(reason)
        self.status: VideoStatus = status
        self.reason = " ".join(reason.split())


@dataclass(frozen=True)
class VideoFacts:
    """What the container and the decoder state about the video stream that is decoded.

    Attributes:
        container, codec, pixel_format: FFmpeg's names.
        stream: the index of the stream.
        video_streams: how many video streams the file has, without cover images.
        width, height: the size of upright frames, in pixels.
        time_base: seconds per unit of a timestamp, as a fraction.
        pixel_aspect: width of a pixel divided by its height, as a fraction; frames are not rescaled.
    """

    container: str
    codec: str
    pixel_format: str
    stream: int
    video_streams: int
    width: int
    height: int
    time_base: str
    pixel_aspect: str


@dataclass(frozen=True)
class VideoTimes:
    """A video: its facts and the time of every frame.

    Attributes:
        facts: of the container and the stream.
        frames: every frame in the order of presentation; of a truncated video, those before its end.
        matrix: colour matrix of the first frame; "" if not declared.
        colour_range: `limited` or `full`; "" if not declared.
        rotation: clockwise rotation in degrees that makes frames upright; it is applied.
        notes: what is unusual.
        truncated: what is missing at the end; "" for a whole video.
    """

    facts: VideoFacts
    frames: tuple[FrameTime, ...]
    matrix: str
    colour_range: str
    rotation: int
    notes: tuple[str, ...]
    truncated: str = ""


def video_times(path: Path) -> VideoTimes:
    """Decode a whole video and return the time of every frame; no frame is kept.

    Of a truncated video these are the frames that the decoder returned before the end of the file. What it
    returns afterwards may have gaps, because frames are stored in another order than they are shown.

    Raises:
        VideoError: there is no video, a part of it is damaged, or no frame is before the end of the file.
    """
    with _opened(path) as video:
        stamps: list[tuple[int | None, int | None]] = []
        first: _FirstFrame | None = None
        before_end, truncated = 0, ""
        try:
            for frame in video.frames():
                if frame.is_corrupt:
                    raise VideoError("corrupt", f"frame {len(stamps)} is damaged")
                if len(stamps) == MAX_FRAMES:
                    raise VideoError("too_large", f"more than {MAX_FRAMES:,} frames")
                stamps.append((frame.pts, frame.dts))
                first = first or _FirstFrame.of(frame)
                before_end = before_end if video.at_end else len(stamps)
            if first is None:
                raise VideoError("no_frames", "the video stream has no frames")
            video.check_complete()
        except VideoError as error:
            if error.status != "truncated" or first is None or not before_end:
                raise
            truncated = error.reason
            del stamps[before_end:]
        places = video.decoding_times
        if places and (len(places) == len(stamps) or (truncated and len(places) > len(stamps))):
            stamps = [(place, place) for place in places[: len(stamps)]]
        frames = frame_times(stamps, video.time_base, video.start, video.rate)
        estimated = sum(frame.estimated for frame in frames)
        notes = list(first.notes)
        if estimated:
            notes.append(
                f"{counted(estimated, 'frame')} without a usable timestamp: times follow from the frame rate"
            )
        if video.video_streams > 1:
            notes.append(f"stream {video.stream.index} of {video.video_streams} video streams")
        facts = video.facts(first.width, first.height)
    return VideoTimes(
        facts, tuple(frames), first.matrix, first.colour_range, first.rotation, tuple(notes), truncated
    )


def decode_frames(path: Path, wanted: Sequence[int]) -> Iterator[tuple[int, Image]]:
    """The upright RGB frames of these indices, in order; decoding ends after the last of them."""
    indices = sorted(set(wanted))
    if not indices:
        return
    with _opened(path) as video:
        place = 0
        for index, frame in enumerate(video.frames()):
            if index == indices[place]:
                yield index, oriented(video.rgb(frame), display_matrix(frame))
                place += 1
                if place == len(indices):
                    return
    raise VideoError("corrupt", f"frame {indices[place]} was not decoded again")


@dataclass(frozen=True)
class _FirstFrame:
    """Facts that only a decoded frame has."""

    width: int
    height: int
    matrix: str
    colour_range: str
    rotation: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, frame: Any) -> _FirstFrame:
        matrix = display_matrix(frame)
        turned = matrix is not None and is_right_angle(matrix) and not matrix[0]
        width, height = (frame.height, frame.width) if turned else (frame.width, frame.height)
        _check_size(width, height)
        odd = matrix is not None and not is_right_angle(matrix)
        return cls(
            width,
            height,
            MATRICES.get(int(frame.colorspace), ""),
            RANGES.get(int(frame.color_range), ""),
            rotation_of(matrix),
            ("the rotation is not a multiple of 90 degrees and is not applied",) if odd else (),
        )


def _check_size(width: int, height: int) -> None:
    if min(width, height) < MIN_SIDE_PX:
        raise VideoError("too_small", f"{width}x{height} pixels; the smallest side is {MIN_SIDE_PX}")
    if width * height > MAX_FRAME_PIXELS:
        raise VideoError("too_large", f"{width}x{height} pixels; at most {MAX_FRAME_PIXELS:,}")


class _Video:
    """An open video: its best stream, and how far all streams were read.

    Attributes:
        at_end: whether the file was read to its end, and the decoder returns what it has kept.
        decoding_times: timestamps of all packets, if the container states no times of presentation. Every
            packet of AVI has one frame and lasts as long as any other, so frame n is shown at time n.
    """

    def __init__(self, container: Any, av: Any, missing: int) -> None:
        self._container, self._av, self._missing_bytes = container, av, missing
        streams = [stream for stream in container.streams.video if not _is_cover(stream)]
        kinds = sorted({stream.type for stream in container.streams})
        if not kinds:
            raise VideoError("no_frames", "the file has no stream and no frames")
        if not streams:
            raise VideoError("no_video", f"the file has no video, only {', '.join(kinds)}")
        best = container.streams.best("video")
        self.stream = best if best in streams else streams[0]
        self.video_streams = len(streams)
        context = self.stream.codec_context
        if context is None:
            raise VideoError("unreadable", "the codec of the video is unknown")
        self.time_base = Fraction(self.stream.time_base or Fraction(1, MICROSECONDS))
        self.rate = Fraction(self.stream.guessed_rate or self.stream.average_rate or ASSUMED_RATE)
        start = container.start_time
        self.start = None if start is None else Fraction(start, MICROSECONDS)
        if self.stream.width and self.stream.height:
            _check_size(self.stream.width, self.stream.height)
        context.thread_count = 1  # workers are processes already, and threads keep more frames
        # Damaged data is an error instead of a frame that the decoder has made up.
        context.options = {"err_detect": "explode", "max_pixels": str(MAX_FRAME_PIXELS)}
        self._graph: Any = None
        self._layout: tuple[object, ...] = ()
        self._packets = 0
        self._end = Fraction(0)
        self.at_end = False
        self.decoding_times: list[int] = []

    def frames(self) -> Iterator[Any]:
        """Every frame in the order of presentation."""
        count = 0
        try:
            for packet in self._demuxed():
                if packet.size and packet.dts is not None:
                    stop = max(packet.dts, packet.pts or packet.dts) + (packet.duration or 0)
                    self._end = max(self._end, stop * Fraction(packet.time_base))
                if packet.stream.index != self.stream.index:
                    continue
                self._packets += bool(packet.size)
                self.at_end = not packet.size
                if packet.size and packet.dts is not None and self._container.format.name == "avi":
                    self.decoding_times.append(packet.dts)
                if packet.is_corrupt:
                    raise VideoError(*self._damage(f"a damaged packet after {counted(count, 'frame')}"))
                for frame in packet.decode():
                    yield frame
                    count += 1
        except self._av.FFmpegError as error:
            reason = f"an error after {counted(count, 'frame')}: {error.strerror}"
            raise VideoError(*self._damage(reason)) from error

    def _demuxed(self) -> Iterator[Any]:
        """Every packet of every stream."""
        try:
            yield from self._container.demux()
        except IndexError:
            # At the end PyAV flushes all streams, and has no object for one that appeared while reading. The
            # streams that it knows are flushed by then.
            return

    def rgb(self, frame: Any) -> Image:
        """A frame as RGB by FFmpeg's filter for pixel formats, as the command `ffmpeg` converts frames.

        It takes the positions of colour samples into account, which PyAV's own conversion does not.
        """
        layout = (frame.width, frame.height, frame.format.name, frame.colorspace, frame.color_range)
        if layout != self._layout:
            self._graph = self._av.filter.Graph()
            source = self._graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=self.time_base
            )
            converter = self._graph.add("format", "rgb24")
            source.link_to(converter)
            converter.link_to(self._graph.add("buffersink"))
            self._graph.configure()
            self._layout = layout
        self._graph.push(frame)
        image: Image = self._graph.pull().to_ndarray()
        return image

    def _damage(self, reason: str) -> tuple[VideoStatus, str]:
        """Truncated if the damage is at the end of the file, else corrupt."""
        try:
            rest = sum(1 for packet in self._demuxed() if packet.size)
        except self._av.FFmpegError:
            rest = 0
        missing = "" if rest else self._missing()
        return ("truncated", f"{reason}; {missing}") if missing else ("corrupt", reason)

    def check_complete(self) -> None:
        """Refuse a file that ends before its container says."""
        if missing := self._missing():
            raise VideoError("truncated", missing)

    def _missing(self) -> str:
        """What the container declares and the file does not have; "" if nothing is known to be missing."""
        counts = COUNTED_CONTAINER in self._container.format.name
        declared = int(self.stream.frames) if counts else 0
        if self._packets < declared:
            return f"{self._packets} of {declared} frames are in the file"
        if self._missing_bytes:
            return _bytes_text(self._missing_bytes)
        duration = self._container.duration
        if declared or not duration:
            return ""
        end = Fraction(duration, MICROSECONDS) + (self.start or 0)
        if end - self._end > MISSING_FRAMES / self.rate:
            return f"the file ends at {float(self._end):.3f} s of {float(end):.3f} s declared"
        return ""

    def facts(self, width: int, height: int) -> VideoFacts:
        """The facts of the stream; the size is that of upright frames."""
        context = self.stream.codec_context
        return VideoFacts(
            container=self._container.format.name,
            codec=context.name,
            pixel_format=context.pix_fmt or "",
            stream=self.stream.index,
            video_streams=self.video_streams,
            width=width,
            height=height,
            time_base=str(self.time_base),
            pixel_aspect=str(self.stream.sample_aspect_ratio or 1),
        )


@contextmanager
def _opened(path: Path) -> Iterator[_Video]:
    av = load_av()
    if path.is_file() and not path.stat().st_size:
        raise VideoError("unreadable", "the file is empty")
    options = {"protocol_whitelist": "", "format_whitelist": CONTAINERS}
    missing = 0
    try:
        missing = missing_bytes(path)
        with path.open("rb") as file, av.open(file, options=options, metadata_errors="replace") as container:
            yield _Video(container, av, missing)
    except av.FFmpegError as error:
        if missing:
            raise VideoError("truncated", f"{_bytes_text(missing)}: {error.strerror}") from error
        raise VideoError(
            "unreadable", f"no known video container, or a damaged one: {error.strerror}"
        ) from error
    except OSError as error:
        raise VideoError("unreadable", f"{error.strerror or error}") from error
    except VideoError as error:
        if missing and error.status in ("unreadable", "no_frames", "no_video"):
            raise VideoError("truncated", f"{_bytes_text(missing)}: {error.reason}") from error
        raise


def _bytes_text(missing: int) -> str:
    return f"{missing:,} bytes are missing at the end of the file"


def _is_cover(stream: Any) -> bool:
    """Whether a stream is the cover image of an audio file."""
    return "attached_pic" in str(getattr(stream, "disposition", "")).lower()
