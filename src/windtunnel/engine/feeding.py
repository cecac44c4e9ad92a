"""Feeding: pixel workers fill batches in shared memory for one process, which owns the models and predicts.

Worker and owner exchange small messages over a pipe. Pixels stay where the worker writes them: in a slot, a
block of shared memory that the worker fills again only after the owner has released it. A slot whose images a
model keeps is never filled again, and the model gets copies from then on.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed
from windtunnel.core.interruption import ignore_signals, stop_requested
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.jobs import Sent, worker_error
from windtunnel.engine.pixels import Batch, Buffer, Event, PixelWork, make_batches
from windtunnel.engine.process_start import end_with_parent, single_threaded, start_uninterruptible
from windtunnel.engine.shared_slots import Filled, Kept, SharedBlock, Slots, unlink_all

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
    memory: dict[str, SharedBlock] = field(default_factory=dict)

    def pixels(self, filled: Filled) -> NDArray[np.uint8]:
        """The images of a batch as one row of bytes, which change once the worker fills the slot again."""
        if filled.name not in self.memory:
            self.memory[filled.name] = SharedBlock(filled.name)
        # np.ndarray(buffer=...) would not keep the memory mapped.
        memory: Any = self.memory[filled.name].buf
        return np.frombuffer(memory, np.uint8, math.prod(filled.shape))

    def answer(self, message: RunChunk | int | Kept) -> None:
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
        unlink_all(self.prefix, len(self.memory))


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

    def _accept(self, worker: _Worker, event: Event | Filled) -> None:
        if worker.consumer is None:
            worker.consumer = self._begin(worker.chunks[0])
        if not isinstance(event, Filled):
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
            worker.answer(Kept(slot))

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


def _serve(pipe: Connection, sent: Sent, prefix: str) -> None:
    """A pixel worker's life: make the batches of chunks until the owner has none left, or is gone."""
    ignore_signals()
    end_with_parent()
    try:
        works: tuple[PixelWork, ...] = sent.received()
        single_threaded()
        slots = Slots(pipe, prefix)
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
