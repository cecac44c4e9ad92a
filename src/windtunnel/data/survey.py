"""A look at every picture before work: content hash, size and format, or why it cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from windtunnel.data import Dataset, Sample, content_hash
from windtunnel.errors import PictureError, Status
from windtunnel.imaging.header import UPRIGHT, check_size, read_header

# Reading and hashing release the interpreter lock; more threads than this only queue for the disk.
THREADS = 4


@dataclass(frozen=True)
class Surveyed:
    """What is known of one picture before it is decoded."""

    sample: Sample
    content: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    orientation: int = UPRIGHT
    status: Status = "ok"
    reason: str = ""


def survey(
    dataset: Dataset, samples: Sequence[Sample], advance: Callable[[int], None] = lambda _: None
) -> list[Surveyed]:
    """Look at every sample, in order; a picture that cannot be read is a finding, not an error."""
    return list(_looked_at(dataset, samples, advance))


def _looked_at(
    dataset: Dataset, samples: Sequence[Sample], advance: Callable[[int], None]
) -> Iterator[Surveyed]:
    # Archives share one file handle, so only data sets of separate files are read in parallel.
    if getattr(dataset, "parallel_reads", False):
        with ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(partial(_look_at, dataset), samples, chunksize=16):
                advance(1)
                yield found
    else:
        for sample in samples:
            advance(1)
            yield _look_at(dataset, sample)


def _look_at(dataset: Dataset, sample: Sample) -> Surveyed:
    content = ""
    try:
        data = dataset.read(sample)
        content = content_hash(data)
        if not isinstance(data, bytes):
            height, width = data.shape[:2]
            check_size(width, height)
            return Surveyed(sample, content, "array", width, height)
        header = read_header(data)
        return Surveyed(sample, content, header.format, header.width, header.height, header.orientation)
    except PictureError as error:
        return Surveyed(sample, content, status=error.status, reason=error.reason)
