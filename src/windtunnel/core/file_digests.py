"""Digests of files: 128 bits of BLAKE2b."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from windtunnel.core.locations import Location

BLOCK_BYTES = 1 << 20


def file_digest(path: Location, *others: Location) -> str:
    """Digest of the content of the files that exist; their names do not matter."""
    digest = hashlib.blake2b(digest_size=16)
    for file in (path, *others):
        if file.is_file():
            with file.open("rb") as stream:
                while block := stream.read(BLOCK_BYTES):
                    digest.update(block)
    return digest.hexdigest()


def named_files_digest(paths: Iterable[Path]) -> str:
    """Digest of the names and contents of the files that exist."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
