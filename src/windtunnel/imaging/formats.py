"""Supported image formats: their signatures, and the facts in their structure, read before any library.

The encoded bytes are untrusted. `examine` recognises the format by its first bytes, limits the metadata, and
returns the memory that the most expensive of our decoders needs. Libraries see the bytes only after that.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from windtunnel.core.errors import ImageError
from windtunnel.imaging.files import MIB

# All metadata of a file together: text, colour profiles, EXIF, XMP.
MAX_METADATA_BYTES = 16 * MIB
# Values of one numeric tag: the number of offsets for 67 million pixels in tiles of 16x16.
MAX_TAG_VALUES = 2**18
# Tags that a library reads one by one in Python. Real files have some hundred tags, and damaged EXIF of one
# JPEG segment has at most 5,461 in a directory.
MAX_TAGS = 2**14
MAX_JPEG_SEGMENTS = 2**10
# Libraries copy all EXIF so far for every further segment. This many full segments are MAX_METADATA_BYTES.
MAX_EXIF_SEGMENTS = 2**8
# Bytes of a JPEG before its first scan that belong to no segment.
MAX_FILL_BYTES = 2**17

# Bytes by TIFF field type; for TEXT_TYPES a library keeps the bytes and does not convert them.
TAG_BYTES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
TEXT_TYPES = (1, 2, 6, 7)
SHORT, LONG, LONG8 = 3, 4, 16
BITS_PER_SAMPLE, SAMPLES_PER_PIXEL, TILE_WIDTH, TILE_LENGTH = 258, 277, 322, 323
# EXIF, GPS and interoperability: directories that a tag of another directory points to.
SUBDIRECTORIES = (34665, 34853, 40965)

JPEG_SCAN = 0xDA
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
JPEG_SEQUENTIAL = (0xC0, 0xC1)
# A marker of a segment. Pillow continues its search right after any other: fill bytes, stuffed zeros,
# restarts, start and end of an image, reserved extensions.
_SEGMENT = re.compile(rb"\xff[^\xff\x00\x01\xc8\xd0-\xd9\xf0-\xfd]")


@dataclass(frozen=True)
class Layout:
    """The format of an encoded image and the memory needed to decode it.

    Attributes:
        format: the name by which Pillow opens it.
        pixel_bytes: memory per pixel at the peak of decoding, over all decoders, including the result.
        extra_bytes: memory that does not depend on the number of pixels.
        metadata_last: whether a PNG has text or EXIF after its first pixels.
    """

    format: str
    pixel_bytes: int
    extra_bytes: int = 0
    metadata_last: bool = False


def examine(data: bytes) -> Layout:
    """Return the layout of an encoded image.

    Raises:
        ImageError: the format is not supported, or the metadata exceeds a limit.
    """
    for format_, examined in FORMATS.items():
        if examined.matches(data):
            return examined.layout(format_, data)
    known = ", ".join(FORMATS)
    raise ImageError("unreadable", f"not an image in a supported format ({known})")


@dataclass
class _Counted:
    """Counts of a file's metadata so far; every count has a limit."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, limit: int, what: str, number: int = 1) -> None:
        self.numbers[what] = self.numbers.get(what, 0) + number
        if self.numbers[what] > limit:
            raise ImageError("too_large", f"more than {limit:,} {what}")

    def metadata(self, count_bytes: int) -> None:
        self.add(MAX_METADATA_BYTES, "bytes of metadata", count_bytes)


def _jpeg(format_: str, data: bytes) -> Layout:
    """Coefficients of images in several scans are kept until the last: two bytes per component."""
    components, sequential, counted = 0, True, _Counted()
    layout, exif = Layout(format_, 16), []
    for marker, segment in _jpeg_segments(data, counted):
        if marker in JPEG_FRAMES and len(segment) > 5:
            components, sequential = segment[5], marker in JPEG_SEQUENTIAL
        elif marker == JPEG_SCAN:
            one_scan = sequential and len(segment) > 0 and segment[0] == components
            layout = Layout(format_, 9 if one_scan else 4 + 3 * max(components, 1))
        else:
            counted.metadata(len(segment))
            if segment[:6] == b"Exif\0\0":
                counted.add(MAX_EXIF_SEGMENTS, "segments of EXIF")
                exif.append(segment[6:])
            elif segment[:4] == b"MPF\0":
                _check_tags(segment[4:], counted)
    _check_tags(b"".join(exif), counted)  # libraries join the EXIF of several segments
    return layout


def _jpeg_segments(data: bytes, counted: _Counted) -> Iterator[tuple[int, bytes]]:
    """Marker and content of every segment before the first scan, as Pillow finds them."""
    place = 2
    while True:
        segment = _SEGMENT.search(data, place, place + MAX_FILL_BYTES + 2)
        start = segment.start() if segment else len(data)
        counted.add(MAX_FILL_BYTES, "bytes outside the segments of a JPEG", start - place)
        if start + 4 > len(data):
            return
        counted.add(MAX_JPEG_SEGMENTS, "segments of a JPEG")
        marker = data[start + 1]
        (length,) = struct.unpack_from(">H", data, start + 2)
        yield marker, data[start + 4 : start + 2 + length]
        if marker == JPEG_SCAN:
            return
        place = start + 2 + max(length, 2)


def _png(format_: str, data: bytes) -> Layout:
    place, depth, pixels, last, counted = 8, 0, False, False, _Counted()
    while place + 8 <= len(data):
        length, chunk_type = struct.unpack_from(">I4s", data, place)
        if chunk_type == b"IHDR" and length > 8:
            depth = data[place + 16]
        elif chunk_type not in (b"IDAT", b"fdAT"):
            counted.metadata(12 + length)
        pixels = pixels or chunk_type == b"IDAT"
        last = last or (pixels and chunk_type in (b"eXIf", b"tEXt", b"zTXt", b"iTXt"))
        if chunk_type == b"eXIf":
            _check_tags(data[place + 8 : place + 8 + length], counted)
        place += 12 + length
    return Layout(format_, 12 if depth > 8 else 8, metadata_last=last)


def _webp(format_: str, data: bytes) -> Layout:
    place, counted = 12, _Counted()
    while place + 8 <= len(data):
        chunk_type, length = struct.unpack_from("<4sI", data, place)
        if chunk_type not in (b"VP8 ", b"VP8L", b"ALPH", b"ANMF"):
            counted.metadata(8 + length)
        if chunk_type == b"EXIF":
            _check_tags(data[place + 8 : place + 8 + length].removeprefix(b"Exif\0\0"), counted)
        place += 8 + length + length % 2
    # Pillow and libwebp keep three copies of the file next to two canvases.
    return Layout(format_, 20, 3 * len(data))


def _tiff(format_: str, data: bytes) -> Layout:
    """Strips and tiles are decompressed completely: a tile may be larger than the image."""
    tags = _check_tags(data, _Counted())
    samples = max(tags.get(SAMPLES_PER_PIXEL, (1,))[0], 1)
    raw = samples * -(-max(tags.get(BITS_PER_SAMPLE, (8,))) // 8)
    tile = tags.get(TILE_WIDTH, (0,))[0] * tags.get(TILE_LENGTH, (0,))[0]
    return Layout(format_, 8 + raw, tile * raw)


def _avif(format_: str, data: bytes) -> Layout:
    return Layout(format_, 20, 2 * len(data))


def _check_tags(data: bytes, counted: _Counted) -> dict[int, tuple[int, ...]]:
    """Limit what a library reads from the first directory of a TIFF or of EXIF, and from its subdirectories.

    Tags may share their bytes, and directories their tags, so a small file can declare any amount: every tag
    counts, and each kind of subdirectory is read once. Tags beyond the end of the data are skipped, as in
    libraries. Returns the whole numbers of short tags of the first directory.
    """
    if data[:2] not in (b"II", b"MM") or len(data) < 8:
        return {}
    order = "<" if data[:2] == b"II" else ">"
    big = 43 in data[2:4]
    layout = _BIG_TIFF if big else _TIFF
    seen: set[int] = set()
    followed: set[int] = set()
    first: dict[int, tuple[int, ...]] = {}
    waiting = [_number(data, layout.first, order + layout.offset)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        top = not seen
        seen.add(place)
        count = _number(data, place, order + layout.count)
        entries = place + struct.calcsize(order + layout.count)
        room = max(0, (len(data) - entries) // layout.entry)
        counted.add(MAX_TAGS, "tags", min(count, room))
        for number in range(min(count, room)):
            start = entries + number * layout.entry
            tag, type_, values = struct.unpack_from(order + "HH" + layout.offset, data, start)
            size = values * TAG_BYTES.get(type_, 0)
            where = start + layout.entry - layout.inside
            if size > layout.inside:
                where = _number(data, where, order + layout.offset)
            if not size or where + size > len(data):
                continue
            counted.add(MAX_METADATA_BYTES, "bytes of metadata in tags", size)
            if values > MAX_TAG_VALUES and type_ not in TEXT_TYPES:
                raise ImageError(
                    "too_large", f"tag {tag} has {values:,} values; at most {MAX_TAG_VALUES:,} are read"
                )
            if type_ in _WHOLE_NUMBERS and values <= 8:
                numbers = struct.unpack_from(f"{order}{values}{_WHOLE_NUMBERS[type_]}", data, where)
                if top:
                    first.setdefault(tag, numbers)
                if tag in SUBDIRECTORIES and tag not in followed:
                    followed.add(tag)
                    waiting.append(numbers[0])
    return first


@dataclass(frozen=True)
class _Directory:
    """How a TIFF stores a directory: offset of the first, number of entries, offsets, size of an entry."""

    first: int
    count: str
    offset: str
    entry: int
    inside: int


_TIFF = _Directory(first=4, count="H", offset="I", entry=12, inside=4)
_BIG_TIFF = _Directory(first=8, count="Q", offset="Q", entry=20, inside=8)
_WHOLE_NUMBERS = {SHORT: "H", LONG: "I", LONG8: "Q"}


def _number(data: bytes, place: int, layout: str) -> int:
    """A whole number in the data; 0 beyond its end."""
    if place < 0 or place + struct.calcsize(layout) > len(data):
        return 0
    return int(struct.unpack_from(layout, data, place)[0])


@dataclass(frozen=True)
class _Format:
    """Signatures of a format, their offset, and the function that reads its structure."""

    signatures: tuple[bytes, ...]
    layout: Callable[[str, bytes], Layout]
    place: int = 0
    before: bytes = b""

    def matches(self, data: bytes) -> bool:
        return data.startswith(self.before) and data.startswith(self.signatures, self.place)


# In the order of messages.
FORMATS: dict[str, _Format] = {
    "JPEG": _Format((b"\xff\xd8\xff",), _jpeg),
    "PNG": _Format((b"\x89PNG\r\n\x1a\n",), _png),
    "WEBP": _Format((b"WEBP",), _webp, place=8, before=b"RIFF"),
    "GIF": _Format((b"GIF87a", b"GIF89a"), lambda format_, _: Layout(format_, 9)),
    "BMP": _Format((b"BM",), lambda format_, _: Layout(format_, 8)),
    "TIFF": _Format((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"II\0*", b"MM*\0"), _tiff),
    "PPM": _Format((b"P1", b"P2", b"P3", b"P4", b"P5", b"P6"), lambda format_, _: Layout(format_, 12)),
    "AVIF": _Format((b"ftypavif", b"ftypavis", b"ftypmif1", b"ftypmsf1"), _avif, place=4),
}
