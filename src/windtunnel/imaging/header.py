"""The header of an image, read before any decoder allocates memory for it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import ExifTags, TiffImagePlugin, UnidentifiedImageError
from PIL import Image as PillowImage

from windtunnel.core.errors import ImageError
from windtunnel.core.images import UPRIGHT, Image, Stage
from windtunnel.imaging.files import MIB
from windtunnel.imaging.formats import Layout, examine
from windtunnel.imaging.memory import MemoryGate

# Pillow's own threshold for a suspicious image (2**30 / 12 pixels): 268 MB once decoded.
MAX_PIXELS = 89_478_485
# Encoded bytes and everything that a decoder allocates for them: the limit for one decode.
MAX_DECODE_BYTES = 576 * MIB
# Threads of one process that decode share the memory limit of one decode.
DECODES = MemoryGate(MAX_DECODE_BYTES)
# The limit for a resized or corrupted image: corruptions take up to 24 bytes per pixel.
MAX_CANVAS_PIXELS = 24 * MIB
# The limits for units by stage: sequences that act on the decoded image take up to 11 bytes per pixel.
UNIT_PIXELS: dict[Stage, int] = {
    "source": 48 * MIB,
    "resized": MAX_CANVAS_PIXELS,
    "canvas": MAX_CANVAS_PIXELS,
}
# The smallest side; enlarging less would invent most of the canvas (MNIST is 28, the digits are 8).
MIN_SIDE_PX = 8


@contextmanager
def pillow_quiet() -> Iterator[None]:
    """Silence Pillow's warnings about big images and unusual metadata; sizes are checked here.

    Warning filters apply to the whole process, so use this around the work, never inside threads.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        warnings.filterwarnings("ignore", category=PillowImage.DecompressionBombWarning)
        yield


@dataclass(frozen=True)
class Header:
    """Format, size as stored, EXIF orientation (1 is upright), and the memory limit for decoding."""

    format: str
    width: int
    height: int
    orientation: int = UPRIGHT
    decode_bytes: int = 0


def open_by_pillow(data: bytes, format_: str) -> PillowImage.Image:
    """Open an image with Pillow's plug-in for its format; no other plug-in reads the bytes."""
    # Pillow recognises by the content that a JPEG is an MPO.
    return PillowImage.open(io.BytesIO(data), formats=["JPEG" if format_ == "MPO" else format_])


def read_header(data: bytes) -> Header:
    """Read an image's header; refuses images that no decoder should open."""
    if not data:
        raise ImageError("unreadable", "the file is empty")
    layout = examine(data)
    try:
        with open_by_pillow(data, layout.format) as image:
            width, height = _stored_size(image)
            name = image.format or "unknown"
            needed = _check_decode(len(data), layout, width, height)
            orientation = _orientation(image, layout, needed)
    except ImageError:
        raise
    except PillowImage.DecompressionBombError as error:
        pixels = "".join(filter(str.isdecimal, str(error).partition("pixels")[0]))
        raise ImageError("too_large", f"{int(pixels or 0):,} pixels; at most {MAX_PIXELS:,}") from error
    except UnidentifiedImageError as error:
        raise ImageError("unreadable", f"a damaged {layout.format} header") from error
    except MemoryError as error:
        raise ImageError("too_large", "there is not enough memory to read the header") from error
    except Exception as error:  # damaged headers raise many kinds of errors
        raise ImageError("unreadable", f"{type(error).__name__}: {error}") from error
    return Header(name, width, height, orientation, needed)


def _check_decode(count_bytes: int, layout: Layout, width: int, height: int) -> int:
    """The memory that decoding takes at most; refuses images beyond the limit."""
    check_size(width, height)
    needed = count_bytes + layout.extra_bytes + width * height * layout.pixel_bytes
    if needed > MAX_DECODE_BYTES:
        raise ImageError(
            "too_large",
            f"{width}x{height} pixels of this {layout.format} take up to {needed:,} bytes to decode; at most "
            f"{MAX_DECODE_BYTES:,}",
        )
    return needed


def check_size(width: int, height: int) -> None:
    """Refuse images that are too large to decode safely, or too small to be meaningful."""
    if width * height > MAX_PIXELS:
        raise ImageError("too_large", f"{width}x{height} pixels; at most {MAX_PIXELS:,} in all")
    if min(width, height) < MIN_SIDE_PX:
        raise ImageError("too_small", f"{width}x{height} pixels; at least {MIN_SIDE_PX} on each side")


def check_unit_size(image: Image, stage: Stage) -> None:
    """Refuse an image that is too large to be corrupted at a stage in bounded memory."""
    height, width = image.shape[:2]
    if width * height > UNIT_PIXELS[stage]:
        raise ImageError(
            "too_large", f"{width}x{height} pixels to corrupt; at most {UNIT_PIXELS[stage]:,} in all"
        )


def _stored_size(image: PillowImage.Image) -> tuple[int, int]:
    """Width and height before any rotation; for a rotated TIFF, Pillow returns those after it."""
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        tags = image.tag_v2
        return int(tags[TiffImagePlugin.IMAGEWIDTH]), int(tags[TiffImagePlugin.IMAGELENGTH])
    return image.size


def _orientation(image: PillowImage.Image, layout: Layout, decode_bytes: int) -> int:
    try:
        # Pillow decodes a whole PNG to find metadata after the pixels.
        if layout.format == "PNG" and layout.metadata_last:
            with DECODES.holding(decode_bytes):
                exif = image.getexif()
        else:
            exif = PillowImage.Image.getexif(image)
        value = exif.get(ExifTags.Base.Orientation, UPRIGHT)
    except Exception:  # damaged EXIF does not make an image unreadable
        return UPRIGHT
    return int(value) if value in range(1, 9) else UPRIGHT
