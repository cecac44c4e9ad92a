"""Whether a video file is as long as its container says: AVI, Matroska (WebM) and MP4 state their size."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

RIFF, EBML, SEGMENT = b"RIFF", b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
# MP4 boxes with frames or their index; others may be missing without harm.
NEEDED_BOXES = (b"mdat", b"moof", b"moov")
FIRST_BOXES = (b"ftyp", b"styp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
MAX_BOXES = 100_000


def missing_bytes(path: Path) -> int:
    """How many bytes are missing at the end of a file; 0 if none, or if its container does not state it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(12)
        if start[:4] == RIFF and len(start) == 12:
            declared = struct.unpack("<I", start[4:8])[0]
            missing = int(declared) + 8 - size
            # A recorder that was stopped leaves one of these; some count a byte of padding that they omit.
            return 0 if declared in (0, 2**32 - 1) or missing <= 1 else missing
        if start[:4] == EBML:
            return max(0, _matroska_size(file) - size)
        if start[4:8] in FIRST_BOXES:
            return max(0, _boxes_size(file, size) - size)
    return 0


def _matroska_size(file: BinaryIO) -> int:
    """The end of the segment, the element with all frames; 0 if it is not stated."""
    file.seek(len(EBML))
    header = _element_size(file)
    if header is None:
        return 0
    file.seek(header, 1)
    if file.read(len(SEGMENT)) != SEGMENT:
        return 0
    segment = _element_size(file)
    return 0 if segment is None else file.tell() + segment


def _element_size(file: BinaryIO) -> int | None:
    """The size of an EBML element, whose first byte states the number of bytes; None if it is unknown."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    value = int.from_bytes(bytes([first[0] & (0xFF >> length)]) + rest, "big")
    unknown = (1 << 7 * length) - 1
    return None if len(rest) < length - 1 or value == unknown else value


def _boxes_size(file: BinaryIO, size: int) -> int:
    """The end of a needed box at the top level of an MP4 file that reaches beyond the file; 0 without one."""
    place, frames = 0, False
    for _ in range(MAX_BOXES):
        file.seek(place)
        header = file.read(16)
        if len(header) < 8:
            break
        length, kind = struct.unpack(">I4s", header[:8])
        if length == 1 and len(header) == 16:
            length = struct.unpack(">Q", header[8:])[0]
        if length < 8:  # 0: to the end of the file
            break
        place += length
        if place > size:
            return place if kind in NEEDED_BOXES or not frames else 0
        frames = frames or kind == b"mdat"
    return 0
