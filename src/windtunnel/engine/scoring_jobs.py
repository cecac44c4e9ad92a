"""Jobs that score chunks: by models that workers load, or by models of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.feeding import predict_fed
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.engine.pixels import Event
from windtunnel.engine.predictions import ChunkPredictions, score_chunk
from windtunnel.engine.work import Work
from windtunnel.models import Model, ModelSource, load_model


@dataclass(frozen=True)
class LoadedScoring:
    """The job of a worker that loads the models again, then scores chunks.

    Attributes:
        works: what the chunks of each run have in common.
        sources: where the model of each run comes from.
        fingerprints: what each model must be.
        needs: the user's plug-ins, the models' files and the images.
    """

    works: tuple[Work, ...]
    sources: tuple[ModelSource, ...]
    fingerprints: tuple[str, ...]
    needs: Needs

    def begin(self) -> ItemFunction[RunChunk]:
        """Load the models."""
        models = tuple(load_model(source) for source in self.sources)
        for model, fingerprint in zip(models, self.fingerprints, strict=True):
            if model.fingerprint != fingerprint:
                raise UserError(
                    f"{model.name} differs between processes (randomly initialised weights?); use "
                    f"{option('workers', 1)}."
                )
        return LiveScoring(self.works, models).score


@dataclass(frozen=True)
class LiveScoring:
    """The job of scoring chunks with models that are loaded.

    Attributes:
        works: what the chunks of each run have in common.
        models: the model of each run.
        needs: nothing; plug-ins of this process are registered.
    """

    works: tuple[Work, ...]
    models: tuple[Model, ...]
    needs: Needs = field(default_factory=Needs)

    def begin(self) -> ItemFunction[RunChunk]:
        """Nothing has to be loaded."""
        return self.score

    def score(self, chunk: RunChunk, advance: Advance) -> list[bytes]:
        """The rows of a chunk for each run whose shard is missing, in Arrow's stream format."""
        tables = score_chunk(chunk.of(self.works), chunk.of(self.models), chunk.images, advance)
        return [_packed(table) for table in tables]

    def score_fed(
        self, chunks: Sequence[RunChunk], workers: int, includes: tuple[Path, ...], advance: Advance
    ) -> Iterator[tuple[RunChunk, list[bytes]]]:
        """The rows of chunks whose images are made by so many pixel workers."""
        pixels = [work.pixels for work in self.works]
        return predict_fed(pixels, chunks, workers, includes, lambda chunk: _FedChunk(self, chunk, advance))


class _FedChunk:
    """Receives the batches of one chunk, for every run whose shard is missing."""

    def __init__(self, job: LiveScoring, chunk: RunChunk, advance: Advance) -> None:
        self._advance = advance
        self._done = self._failed = 0
        self._shards = [
            ChunkPredictions(work, model, chunk.images, self._count)
            for work, model in zip(chunk.of(job.works), chunk.of(job.models), strict=True)
        ]

    def accept(self, event: Event) -> None:
        """Predict a batch, or note a failure."""
        self._shards[event.run].accept(event)

    def discard(self) -> None:
        """Take back the progress that was reported: the chunk is done again."""
        self._advance(-self._done, -self._failed)

    def _count(self, done: int, failed: int) -> None:
        self._done += done
        self._failed += failed
        self._advance(done, failed)

    def result(self) -> list[bytes]:
        """The rows for each run, in Arrow's stream format."""
        return [_packed(shard.table()) for shard in self._shards]


def unpacked(packed: bytes) -> pa.Table:
    """The rows of a shard."""
    return pa.ipc.open_stream(packed).read_all()


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
