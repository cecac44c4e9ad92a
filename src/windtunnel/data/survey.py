"""Survey of a dataset: content hash, size and format of every image, or why it cannot be read."""

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

# Reading and hashing release the interpreter lock; more threads than this only wait for the disk, and each
# may have a file of the largest size in memory.
THREADS = 3
QUEUED = 512
# The number of images that are tried to find a readable one.
TRIED = 10


def survey(
    dataset: Dataset,
    samples: Sequence[Sample],
    progress: Progress = silent,
    *,
    decoded: bool = False,
) -> list[Surveyed]:
    """Survey every sample, in order; an unreadable image is part of the result, not an error.

    Only headers are read, unless `decoded` asks for every image to be decoded as well.
    """
    look = partial(_survey_image, dataset, decoded)
    surveyed: list[Surveyed] = []
    # Archives share one file handle, so only datasets of separate files are read in parallel.
    with (
        pillow_quiet(),
        ThreadPoolExecutor(THREADS if dataset.parallel_reads else 1) as pool,
    ):
        # A pool holds its queue of images, and each takes more memory there than its result.
        for start in range(0, len(samples), QUEUED):
            for image in pool.map(look, samples[start : start + QUEUED]):
                progress(1, len(samples))
                surveyed.append(image)
    return surveyed


def first_size(dataset: Dataset) -> tuple[int, int] | None:
    """Height and width of the first readable image, as stored; None if the first ten are unreadable."""
    with pillow_quiet():
        for sample in islice(dataset.samples(), TRIED):
            image = _survey_image(dataset, False, sample)
            if image.status == "ok":
                return image.height, image.width
    return None


def _survey_image(dataset: Dataset, decoded: bool, sample: Sample) -> Surveyed:
    content = ""
    try:
        data = dataset.read(sample)
        content = content_hash(data)
        if not isinstance(data, bytes):
            height, width = data.shape[:2]
            check_size(width, height)
            return Surveyed(sample, content, "array", width, height, pixels=content)
        header, pixels = read_header(data), ""
        if decoded:
            with DECODES.holding(header.decode_bytes):
                pixels = content_hash(decode(data, header))
        return Surveyed(
            sample, content, header.format, header.width, header.height, header.orientation, pixels=pixels
        )
    except ImageError as error:
        return Surveyed(sample, content, status=error.status, reason=error.reason)
    except MemoryError:
        return Surveyed(sample, content, status="too_large", reason="there is not enough memory to read it")
