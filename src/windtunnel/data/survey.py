"""A look at every image before work: content hash, size and format, or why it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

from windtunnel.core.errors import ImageError
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.data import Dataset, content_hash
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import DECODES, check_size, pillow_quiet, read_header

# Reading and hashing release the interpreter lock; more threads than this only queue for the disk, and each
# may hold a file of the largest size.
THREADS = 3
# How many images are tried for one that can be read.
TRIED = 10


def survey(
    dataset: Dataset,
    samples: Sequence[Sample],
    progress: Progress = silent,
    *,
    decoded: bool = False,
) -> list[Surveyed]:
    """Look at every sample, in order; an image that cannot be read is a finding, not an error.

    Only headers are read, unless `decoded` asks for every image to be decoded as well.
    """
    look = partial(_look_at, dataset, decoded)
    found = []
    # Archives share one file handle, so only data sets of separate files are read in parallel.
    with (
        pillow_quiet(),
        ThreadPoolExecutor(THREADS if dataset.parallel_reads else 1) as pool,
    ):
        for one in pool.map(look, samples):
            progress(1, len(samples))
            found.append(one)
    return found


def first_size(dataset: Dataset) -> tuple[int, int] | None:
    """Height and width of the first image that can be read, as stored; None where the first ten cannot."""
    with pillow_quiet():
        for sample in islice(dataset.samples(), TRIED):
            found = _look_at(dataset, False, sample)
            if found.status == "ok":
                return found.height, found.width
    return None


def _look_at(dataset: Dataset, decoded: bool, sample: Sample) -> Surveyed:
    content = ""
    try:
        data = dataset.read(sample)
        content = content_hash(data)
        if not isinstance(data, bytes):
            height, width = data.shape[:2]
            check_size(width, height)
            return Surveyed(sample, content, "array", width, height)
        header = read_header(data)
        if decoded:
            with DECODES.holding(header.decode_bytes):
                decode(data, header)
        return Surveyed(sample, content, header.format, header.width, header.height, header.orientation)
    except ImageError as error:
        return Surveyed(sample, content, status=error.status, reason=error.reason)
    except MemoryError:
        return Surveyed(sample, content, status="too_large", reason="there is not enough memory to read it")
