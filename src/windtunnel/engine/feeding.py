"""Feeding: pixel workers fill batches in shared memory for one process, which owns the models and predicts.

Worker and owner exchange small messages over a pipe. Pixels stay where the worker writes them: in a slot, a
block of shared memory that the worker fills again only after the owner has released it. A slot whose images a
model keeps is never filled again, and the model gets copies from then on.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed
from windtunnel.core.interruption import ignore_signals, stop_requested
from windtunnel.core.option_names import option
from windtunnel.core.wording import byte_size
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.jobs import Sent, worker_error
from windtunnel.engine.pixels import Batch, Buffer, Event, PixelWork, make_batches
from windtunnel.engine.process_start import end_with_parent, single_threaded, start_uninterruptible

# Batches that a worker may finish ahead of the owner.
AHEAD = 3
# Where Linux keeps shared memory.
SHARED_MEMORY = Path("/dev/shm")
TRIES = 2
_NUMBERS = count()


class Consumer(Protocol):
    """What the owner does with the batches of a chunk.

    `accept` takes a batch or a failure, `result` returns what the chunk gives, and `discard` takes back the
    reported progress of a chunk that is done again.
    """

    def accept(self, event: Event) -> None: ...
    def result(self) -> Any: ...
    def discard(self) -> None: ...


def predict_fed(
    works: Sequence[PixelWork],
    chunks: Sequence[RunChunk],
    workers: int,
    includes: tuple[Path, ...],
    begin: Callable[[RunChunk], Consumer],
) -> Iterator[tuple[RunChunk, Any]]:
    """Make the images of chunks in other processes, predict them in this one, and yield each chunk's result.

    Args:
        works: what is made of every image, one work for each model.
        chunks: the images.
        workers: the number of pixel workers.
        includes: files of the user's plug-ins, which workers include first.
        begin: returns the consumer of a chunk's batches.
    """
    pool = _Pool(Sent.packed(tuple(works), includes), chunks, begin)
    try:
        pool.start(min(workers, len(chunks)))
        while busy := pool.busy():
            for ready in wait([worker.pipe for worker in busy]):
                worker = next(each for each in busy if each.pipe is ready)
                yield from pool.receive(worker)
    finally:
        pool.stop()


@dataclass
class _Worker:
    """A pixel worker, as the owner sees it.

    Attributes:
        prefix: its blocks of shared memory are called by this and a number.
        chunks: the chunks it was given, the current one first.
        consumer: receives the batches of the current chunk.
        memory: the blocks it has filled so far, by name.
    """

    process: BaseProcess
    pipe: Connection
    prefix: str
    chunks: deque[RunChunk] = field(default_factory=deque)
    consumer: Consumer | None = None
    memory: dict[str, _SharedBlock] = field(default_factory=dict)

    def pixels(self, filled: _Filled) -> NDArray[np.uint8]:
        """The images of a batch as one row of bytes, which change once the worker fills the slot again."""
        if filled.name not in self.memory:
            self.memory[filled.name] = _SharedBlock(filled.name)
        # np.ndarray(buffer=...) would not keep the memory mapped.
        memory: Any = self.memory[filled.name].buf
        return np.frombuffer(memory, np.uint8, math.prod(filled.shape))

    def answer(self, message: RunChunk | int | _Kept) -> None:
        """Send a chunk, the number of a slot that may be filled again, or one that may not."""
        # If the worker died since its last message, the next wait finds that its pipe has ended.
        with suppress(OSError):
            self.pipe.send(message)

    def end(self) -> None:
        """Stop the process and free its memory."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        for block in self.memory.values():
            block.close()
        _unlink(self.prefix, len(self.memory))


class _Pool:
    """The pixel workers of one call, and the chunks they have not been given yet."""

    def __init__(self, sent: Sent, chunks: Sequence[RunChunk], begin: Callable[[RunChunk], Consumer]) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._sent = sent
        self._waiting = deque(chunks)
        self._begin = begin
        self._tries: dict[str, int] = {}
        self._workers: list[_Worker] = []
        self._copies = False  # whether models get copies, because one of them keeps its input

    def start(self, workers: int) -> None:
        """Start workers and give each its first chunk, and the next while there are enough."""
        for _ in range(workers):
            self._workers.append(self._started())
        for _ in range(2):
            for worker in self._workers:
                self._assign(worker)

    def busy(self) -> list[_Worker]:
        """The workers that have a chunk."""
        return [worker for worker in self._workers if worker.chunks]

    def receive(self, worker: _Worker) -> Iterator[tuple[RunChunk, Any]]:
        """Handle one message of a worker; yields its chunk where the message ends it."""
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return
        if isinstance(message, Exception):
            raise message
        for event in message:
            if event is None:
                yield self._finished(worker)
            else:
                self._accept(worker, event)

    def stop(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.end()

    def _started(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        prefix = f"windtunnel-{os.getpid()}-{next(_NUMBERS)}"
        process = self._context.Process(target=_serve, args=(theirs, self._sent, prefix), daemon=True)
        start_uninterruptible(process)
        theirs.close()
        return _Worker(process, ours, prefix)

    def _assign(self, worker: _Worker) -> None:
        """Give a worker the next chunk, if there is one; a second one only while others will not need it."""
        enough = worker.chunks and len(self._waiting) < len(self._workers)
        if not self._waiting or enough or stop_requested():
            return
        worker.chunks.append(self._waiting.popleft())
        worker.answer(worker.chunks[-1])

    def _accept(self, worker: _Worker, event: Event | _Filled) -> None:
        if worker.consumer is None:
            worker.consumer = self._begin(worker.chunks[0])
        if not isinstance(event, _Filled):
            worker.consumer.accept(event)
            return
        run, numerics, places, slot, name, shape = event
        pixels = worker.pixels(event)
        if self._copies:
            copies = pixels.reshape(shape)[: len(places)].copy()
            worker.answer(slot)
            worker.consumer.accept(Batch(run, numerics, Buffer(copies), places))
            return
        in_use = weakref.ref(pixels)  # by every array that a model makes of it
        worker.consumer.accept(Batch(run, numerics, Buffer(pixels.reshape(shape)), places))
        del pixels
        if in_use() is None:
            worker.answer(slot)
        else:
            self._copies = True
            del worker.memory[name]
            worker.answer(_Kept(slot))

    def _finished(self, worker: _Worker) -> tuple[RunChunk, Any]:
        consumer = worker.consumer or self._begin(worker.chunks[0])
        worker.consumer = None
        chunk = worker.chunks.popleft()
        self._assign(worker)
        return chunk, consumer.result()

    def _replace(self, worker: _Worker) -> None:
        """Start another worker for one that died; its chunks are tried once more."""
        self._workers.remove(worker)
        worker.end()
        if worker.consumer is not None:
            worker.consumer.discard()
        chunk = worker.chunks[0]
        self._tries[chunk.name] = self._tries.get(chunk.name, 1) + 1
        if self._tries[chunk.name] > TRIES:
            raise RunFailed(
                f"a worker died {TRIES} times (exit code {worker.process.exitcode}) on {chunk.description}"
            )
        self._waiting.extendleft(reversed(worker.chunks))
        self._workers.append(self._started())
        self._assign(self._workers[-1])


class _Filled(NamedTuple):
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
class _Kept:
    """A slot whose images a model keeps."""

    slot: int


class _SharedBlock(SharedMemory):
    """Shared memory that stays mapped while an array refers to it."""

    def close(self) -> None:
        """Unmap the memory, unless an array refers to it."""
        with suppress(BufferError):
            super().close()


def _serve(pipe: Connection, sent: Sent, prefix: str) -> None:
    """A pixel worker's life: make the batches of chunks until the owner has none left, or is gone."""
    ignore_signals()
    end_with_parent()
    try:
        works: tuple[PixelWork, ...] = sent.received()
        single_threaded()
        slots = _Slots(pipe, prefix)
        while True:
            chunk = slots.next_chunk()
            events: list[Any] = []
            for event in make_batches(chunk.of(works), chunk.images, slots.allocate):
                events.append(event)
                if isinstance(event, Batch):
                    events[-1] = slots.sent(event)
                    pipe.send(events)
                    events = []
            pipe.send([*events, None])  # the end of the chunk
    except (EOFError, ConnectionError):
        return  # the owner is gone
    except Exception as error:  # must reach the owner in words
        with suppress(OSError):
            pipe.send(worker_error(error))


class _Slots:
    """The slots of a pixel worker, as the worker sees them.

    A thread empties the pipe at any time: if both ends waited to send, neither would ever receive.
    """

    def __init__(self, pipe: Connection, prefix: str) -> None:
        self._messages: SimpleQueue[RunChunk | int | _Kept | None] = SimpleQueue()
        threading.Thread(target=_read_messages, args=(pipe, self._messages), daemon=True).start()
        self._prefix = prefix
        self._names = count()
        self._blocks: list[_SharedBlock] = []
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

    def sent(self, batch: Batch) -> _Filled:
        """A batch as a message; the slot is in use until the owner releases it."""
        slot = batch.buffer.slot
        self._in_use.add(slot)
        return _Filled(
            batch.run, batch.numerics, batch.places, slot, self._blocks[slot].name, self._shapes[slot]
        )

    def _receive(self) -> None:
        message = self._messages.get()
        if message is None:
            raise EOFError  # the owner is gone
        if isinstance(message, RunChunk):
            self._chunks.append(message)
            return
        slot = message.slot if isinstance(message, _Kept) else message
        if isinstance(message, _Kept):
            self._replace_block(slot, self._blocks[slot].size)
        self._in_use.remove(slot)
        self._free.append(slot)

    def _replace_block(self, slot: int, size: int) -> None:
        _free(self._blocks[slot])
        self._blocks[slot] = self._block(size)

    def _block(self, size: int) -> _SharedBlock:
        block = _SharedBlock(f"{self._prefix}-{next(self._names)}", create=True, size=size)
        _reserve(block)
        return block


def _read_messages(pipe: Connection, messages: SimpleQueue[RunChunk | int | _Kept | None]) -> None:
    """Pass on the owner's messages; None when the owner is gone."""
    with suppress(EOFError, OSError):
        while True:
            messages.put(pipe.recv())
    messages.put(None)


def _reserve(block: _SharedBlock) -> None:
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


def _free(block: _SharedBlock) -> None:
    block.close()
    with suppress(FileNotFoundError):
        block.unlink()


def _unlink(prefix: str, known: int) -> None:
    """Free the shared memory of a worker that has ended, blocks that it did not announce included."""
    missing = 0
    for number in count():
        try:
            _free(_SharedBlock(f"{prefix}-{number}"))
        except FileNotFoundError:
            missing += 1
            if missing > known + AHEAD:
                return
