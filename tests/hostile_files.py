"""Crafted image files: small on disk, huge once they are read, decompressed or taken at their word."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

from PIL import Image

MIB = 2**20
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# More than any machine that runs the tests can hold.
SPARSE_BYTES = 100 * 2**30
TIFF_SHORT, TIFF_LONG, TIFF_BYTE = 3, 4, 1
TIFF_SIZES = {TIFF_BYTE: 1, TIFF_SHORT: 2, TIFF_LONG: 4}


def zeros(count: int) -> bytes:
    """A zlib stream of so many zeros, put together from repeated blocks: nothing large is compressed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    tail = last.compress(bytes(count % MIB)) + last.flush()
    # Adler-32 of n zeros: the low half stays 1, the high half adds it n times.
    checksum = (count % 65521) << 16 | 1
    return b"\x78\x9c" + block * (count // MIB) + tail + struct.pack(">I", checksum)


def chunk(kind: bytes, content: bytes) -> bytes:
    """A PNG chunk."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, extra: bytes = b"", *, depth: int = 8, colour: int = 2) -> bytes:
    """A black PNG of any size; `extra` stands before the pixels."""
    channels = {0: 1, 2: 3, 6: 4}[colour]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    body = zeros(height * (1 + width * channels * depth // 8))
    return PNG_SIGNATURE + head + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def tiff(tags: dict[int, tuple[int, tuple[int, ...]]], body: bytes = b"") -> bytes:
    """A little-endian TIFF: directory, values that do not fit into it, then the body.

    A value of -1 stands for the place of the body.
    """
    after = 8 + 2 + 12 * len(tags) + 4
    start = after + sum(
        len(values) * TIFF_SIZES[type_]
        for type_, values in tags.values()
        if len(values) * TIFF_SIZES[type_] > 4
    )
    entries, outside = b"", b""
    for tag, (type_, values) in sorted(tags.items()):
        letter = {TIFF_BYTE: "B", TIFF_SHORT: "H", TIFF_LONG: "I"}[type_]
        packed = struct.pack(f"<{len(values)}{letter}", *(start if one == -1 else one for one in values))
        where = packed.ljust(4, b"\0")
        if len(packed) > 4:
            where = struct.pack("<I", after + len(outside))
            outside += packed
        entries += struct.pack("<HHI", tag, type_, len(values)) + where
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + outside + body


def tiff_of_zeros(width: int, height: int, *, samples: int, bits: int, tile: int = 0) -> bytes:
    """A black TIFF in one deflated strip, or in one tile."""
    stored = tile * tile if tile else width * height
    body = zeros(stored * samples * bits // 8)
    tags = {
        256: (TIFF_LONG, (width,)),
        257: (TIFF_LONG, (height,)),
        258: (TIFF_SHORT, (bits,) * samples),
        259: (TIFF_SHORT, (8,)),
        262: (TIFF_SHORT, (2,)),
        277: (TIFF_SHORT, (samples,)),
    }
    if samples == 4:
        tags[338] = (TIFF_SHORT, (2,))
    if tile:
        tags |= {322: (TIFF_LONG, (tile,)), 323: (TIFF_LONG, (tile,))}
        tags |= {324: (TIFF_LONG, (-1,)), 325: (TIFF_LONG, (len(body),))}
    else:
        tags |= {273: (TIFF_LONG, (-1,)), 278: (TIFF_LONG, (height,)), 279: (TIFF_LONG, (len(body),))}
    return tiff(tags, body)


def shared_tags(count: int, size: int) -> bytes:
    """A directory of tags that all have the same bytes as their value."""
    after = 8 + 2 + 12 * count + 4
    entries = b"".join(struct.pack("<HHII", 60000 + tag, TIFF_BYTE, size, after) for tag in range(count))
    return b"II*\0" + struct.pack("<IH", 8, count) + entries + bytes(4) + bytes(size)


def webp(width: int, height: int) -> bytes:
    """The header of a lossless WebP and no pixels."""
    bits = (width - 1) | (height - 1) << 14
    body = b"\x2f" + struct.pack("<I", bits) + bytes(64)
    chunks = b"VP8L" + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks


def sparse(path: Path, size: int, head: bytes = b"") -> None:
    """A file of a size that takes no room on the disk."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


def write_refused(folder: Path) -> dict[str, str]:
    """Files that must not be read or decoded, each with its status."""
    folder.mkdir(parents=True)
    sparse(folder / "sparse.jpg", SPARSE_BYTES)
    for number in range(4):  # at least one for each thread that reads
        sparse(folder / f"zeros{number}.jpg", 120 * MIB)
    text = chunk(b"tEXt", b"key\0" + bytes([65]) * (100 * MIB))
    exif = b"Exif\0\0" + shared_tags(2000, 30000)
    offsets = {256: (TIFF_LONG, (64,)), 257: (TIFF_LONG, (64,)), 273: (TIFF_LONG, (8,) * 2**19)}
    contents = {
        "wide.png": (png(30000, 30000), "too_large"),
        "deep.png": (png(8000, 8000, depth=16, colour=6), "too_large"),
        "text.png": (png(64, 64, text), "too_large"),
        "profile.png": (png(64, 64, chunk(b"iCCP", b"name\0\0" + zeros(2**30))), "unreadable"),
        "exif.png": (png(64, 64, chunk(b"eXIf", shared_tags(40, MIB))), "too_large"),
        "exif.jpg": (_with_segment(folder, 0xE1, exif), "too_large"),
        "wide.webp": (webp(16383, 16383), "too_large"),
        "large.webp": (webp(8000, 8000), "too_large"),
        "tile.tif": (tiff_of_zeros(64, 64, samples=3, bits=8, tile=20000), "too_large"),
        "wide.tif": (tiff_of_zeros(9000, 9000, samples=4, bits=16), "too_large"),
        "strips.tif": (tiff(offsets), "too_large"),
        "tags.tif": (shared_tags(300, MIB), "too_large"),
    }  # fmt: skip
    for name, (content, _) in contents.items():
        (folder / name).write_bytes(content)
    found = {name: status for name, (_, status) in contents.items()}
    return found | {"sparse.jpg": "too_large"} | {f"zeros{number}.jpg": "unreadable" for number in range(4)}


def write_accepted(folder: Path) -> list[str]:
    """Large files just below the limits, which are decoded."""
    folder.mkdir(parents=True)
    texts = b"".join(chunk(b"zTXt", b"key%d\0\0" % number + zeros(MIB - 8)) for number in range(48))
    (folder / "large.png").write_bytes(png(8000, 8000, texts))
    (folder / "deep.png").write_bytes(png(7000, 7000, depth=16, colour=6))
    (folder / "deep.tif").write_bytes(tiff_of_zeros(6000, 6000, samples=4, bits=16))
    for number in range(4):
        head = struct.pack("<2sIHHI", b"BM", 0, 0, 0, 54)
        head += struct.pack("<IiiHHIIiiII", 40, 6400, 6400, 1, 24, 0, 0, 0, 0, 0, 0)
        sparse(folder / f"raw{number}.bmp", 54 + 6400 * 6400 * 3, head)
    Image.new("RGB", (5200, 5200)).save(folder / "large.webp", lossless=True, method=0)
    Image.new("RGB", (6500, 6500)).save(folder / "scans.jpg", progressive=True, subsampling=0)
    return sorted(path.name for path in folder.iterdir())


def jpeg_with(content: bytes) -> bytes:
    """A JPEG of 64 x 64 pixels with these bytes after its first marker."""
    out = io.BytesIO()
    Image.new("RGB", (64, 64), (200, 100, 50)).save(out, "JPEG")
    return out.getvalue()[:2] + content + out.getvalue()[2:]


def segment(marker: int, content: bytes) -> bytes:
    """A JPEG segment."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def subdirectories(pointers: int, size: int) -> bytes:
    """A directory of EXIF pointers, each to another place in bytes that read as tags of unknown type."""
    after = 8 + 2 + 12 * pointers + 4
    entries = b"".join(struct.pack("<HHII", 34665, TIFF_LONG, 1, after + place) for place in range(pointers))
    return b"II*\0" + struct.pack("<IH", 8, pointers) + entries + bytes(4) + bytes([255]) * size


def slow_files() -> dict[str, bytes]:
    """Small files that take a naive reader seconds to hours."""
    spread = segment(0xE1, b"Exif\0\0" + bytes(4088))
    big = b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, 2**20) + bytes(20 * 2**20)
    return {
        "pointers.jpg": jpeg_with(segment(0xE1, b"Exif\0\0" + subdirectories(2500, 33000))),
        "pointers.tif": subdirectories(50, 786_000),
        "pointers.png": png(64, 64, chunk(b"eXIf", subdirectories(50, 786_000))),
        "exif chunks.png": png(64, 64, chunk(b"eXIf", subdirectories(3, 64_000)) * 200),
        "tags.tif": big,
        "joined.jpg": jpeg_with(segment(0xE1, b"Exif\0\0" + subdirectories(1, 65_000)) + spread * 4000),
        "mpf.jpg": jpeg_with(segment(0xE2, b"MPF\0" + subdirectories(3, 65_000)) * 200),
        "fill.jpg": jpeg_with(bytes([255]) * 4 * MIB),
        "zeros.jpg": jpeg_with(segment(0xE0, bytes(14)) + bytes(16 * MIB)),
        "restarts.jpg": jpeg_with(b"\xff\xd0" * MIB),
        "images.jpg": jpeg_with(b"\xff\xd9" * MIB),
        "extensions.jpg": jpeg_with(segment(0xF0, bytes([255]) * 65_000) * 64),
        "segments.jpg": jpeg_with(segment(0xE5, b"") * MIB),
    }


def unusual_files() -> dict[str, bytes]:
    """Files with much or odd metadata, within what writers and damage produce."""
    icc = b"".join(
        segment(0xE2, b"ICC_PROFILE\0" + bytes([part, 255]) + bytes(60_000)) for part in range(1, 256)
    )
    damaged = b"II*\0" + struct.pack("<I", 8) + bytes([255]) * 65_000
    orientation = b"II*\0" + struct.pack("<IHHHIII", 8, 1, 274, 3, 1, 6, 0)
    return {
        "fill.jpg": jpeg_with(bytes([255]) * 2**16),
        "padding.jpg": jpeg_with(segment(0xE0, bytes(14)) + bytes(2**16)),
        "profile.jpg": jpeg_with(icc),
        "damaged exif.jpg": jpeg_with(segment(0xE1, b"Exif\0\0" + damaged)),
        "long exif.jpg": jpeg_with(
            segment(0xE1, b"Exif\0\0" + orientation) + segment(0xE1, b"Exif\0\0" + bytes(65_000)) * 100
        ),
    }


def _with_segment(folder: Path, marker: int, content: bytes) -> bytes:
    """A JPEG with one more segment after its first marker."""
    file = folder / "plain.jpg"
    Image.new("RGB", (64, 64)).save(file)
    plain = file.read_bytes()
    file.unlink()
    return plain[:2] + struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content + plain[2:]
