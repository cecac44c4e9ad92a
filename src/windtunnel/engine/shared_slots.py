"""Slots: blocks of shared memory that a pixel worker fills with batches, and the messages about them."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from windtunnel.core.errors import RunFailed
from windtunnel.core.option_names import option
from windtunnel.core.wording import byte_size
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.pixels import Batch, Buffer

# Batches that a worker may finish ahead of the owner.
AHEAD = 3
# Where Linux keeps shared memory.
SHARED_MEMORY = Path("/dev/shm")


class Filled(NamedTuple):
    """A batch as a message, without its pixels: slot, name and shape of the shared memory that holds them.

    A tuple of plain values, because every batch is one message and dataclasses take longer to unpickle.
    """

    run: int
    numerics: str
    places: list[int]
    slot: int
    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Kept:
    """A slot whose images a model keeps."""

    slot: int


class SharedBlock(SharedMemory):
    """Shared memory that stays mapped while an array refers to it."""

    def close(self) -> None:
        """Unmap the memory, unless an array refers to it."""
        with suppress(BufferError):
            super().close()


class Slots:
    """The slots of a pixel worker, as the worker sees them.

    A thread empties the pipe at any time: if both ends waited to send, neither would ever receive.
    """

    def __init__(self, pipe: Connection, prefix: str) -> None:
        self._messages: SimpleQueue[RunChunk | int | Kept | None] = SimpleQueue()
        threading.Thread(target=_read_messages, args=(pipe, self._messages), daemon=True).start()
        self._prefix = prefix
        self._names = count()
        self._blocks: list[SharedBlock] = []
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._free: deque[int] = deque()
        self._in_use: set[int] = set()  # by the owner
        self._chunks: deque[RunChunk] = deque()

    def next_chunk(self) -> RunChunk:
        """The next chunk; waits for it."""
        while not self._chunks:
            self._receive()
        return self._chunks.popleft()

    def allocate(self, shape: tuple[int, ...]) -> Buffer:
        """A free slot of this shape; waits while the owner has as many as a worker may be ahead."""
        while not self._messages.empty() or (not self._free and len(self._in_use) >= AHEAD):
            self._receive()
        size = int(np.prod(shape))
        if self._free:
            slot = self._free.popleft()
        else:
            slot = len(self._blocks)
            self._blocks.append(self._block(size))
        if self._blocks[slot].size < size:
            self._replace_block(slot, size)
        self._shapes[slot] = shape
        images: Any = np.ndarray(shape, np.uint8, self._blocks[slot].buf)
        return Buffer(images, slot)

    def sent(self, batch: Batch) -> Filled:
        """A batch as a message; the slot is in use until the owner releases it."""
        slot = batch.buffer.slot
        self._in_use.add(slot)
        return Filled(
            batch.run, batch.numerics, batch.places, slot, self._blocks[slot].name, self._shapes[slot]
        )

    def _receive(self) -> None:
        message = self._messages.get()
        if message is None:
            raise EOFError  # the owner is gone
        if isinstance(message, RunChunk):
            self._chunks.append(message)
            return
        slot = message.slot if isinstance(message, Kept) else message
        if isinstance(message, Kept):
            self._replace_block(slot, self._blocks[slot].size)
        self._in_use.remove(slot)
        self._free.append(slot)

    def _replace_block(self, slot: int, size: int) -> None:
        _free(self._blocks[slot])
        self._blocks[slot] = self._block(size)

    def _block(self, size: int) -> SharedBlock:
        block = SharedBlock(f"{self._prefix}-{next(self._names)}", create=True, size=size)
        _reserve(block)
        return block


def _read_messages(pipe: Connection, messages: SimpleQueue[RunChunk | int | Kept | None]) -> None:
    """Pass on the owner's messages; None when the owner is gone."""
    with suppress(EOFError, OSError):
        while True:
            messages.put(pipe.recv())
    messages.put(None)


def _reserve(block: SharedBlock) -> None:
    """Reserve the memory of a block: a write beyond the limit of the file system would kill the process."""
    file = SHARED_MEMORY / block.name
    if not file.exists():
        return  # other systems have no such limit
    handle = os.open(file, os.O_RDWR)
    try:
        os.posix_fallocate(handle, 0, block.size)
    except OSError as error:
        _free(block)
        raise RunFailed(
            f"{SHARED_MEMORY} has no room for a batch of {byte_size(block.size)} ({error.strerror}); enlarge "
            f"it (for a container, in its settings), or use fewer {option('workers')} or a smaller "
            f"{option('batch')}"
        ) from error
    finally:
        os.close(handle)


def _free(block: SharedBlock) -> None:
    block.close()
    with suppress(FileNotFoundError):
        block.unlink()


def unlink_all(prefix: str, known: int) -> None:
    """Free the shared memory of a worker that has ended, blocks that it did not announce included."""
    missing = 0
    for number in count():
        try:
            _free(SharedBlock(f"{prefix}-{number}"))
        except FileNotFoundError:
            missing += 1
            if missing > known + AHEAD:
                return
