"""FFmpeg through PyAV."""

from __future__ import annotations

from typing import Any

from windtunnel.core.errors import ImageError
from windtunnel.imaging.decoders import Size, decoder
from windtunnel.imaging.header import MAX_PIXELS, Header

# FFmpeg's names of decoders by Pillow's names of formats. It reads half a GIF as a complete one. Of TIFFs it
# refuses intact ones with an unknown tag, and returns black images for damaged strips.
FFMPEG_CODECS = {
    "JPEG": "mjpeg",
    "MPO": "mjpeg",
    "PNG": "png",
    "WEBP": "webp",
    "BMP": "bmp",
}


@decoder(
    help="FFmpeg through PyAV, as video pipelines decode.",
    formats=tuple(FFMPEG_CODECS),
    library="av",
    needs="av",
    rank=3,
)
def ffmpeg(data: bytes, header: Header, _at_least: Size) -> Any:
    """Decode by FFmpeg's decoder of the format and convert to RGB."""
    import av

    codec: Any = av.CodecContext.create(FFMPEG_CODECS[header.format], "r")
    codec.thread_count = 1  # workers are processes already
    # A truncated image is refused, as by every other decoder.
    codec.options = {"err_detect": "explode", "max_pixels": str(MAX_PIXELS)}
    # Some decoders return an image only after the end of the data is signalled.
    frames = codec.decode(av.Packet(data)) or codec.decode(None)
    if not frames:
        raise ImageError("unreadable", "ffmpeg: no image comes out")
    return frames[0].to_ndarray(format="rgb24")
