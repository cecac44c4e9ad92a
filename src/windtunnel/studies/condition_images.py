"""Test images of a study, made once for every condition and kept as arrays while models are evaluated."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.engine.pixels import fitted
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import pillow_quiet
from windtunnel.store.atomic_files import UNFINISHED
from windtunnel.studies.records import array_digest

SEED = 0


@dataclass(frozen=True)
class ConditionItem:
    """The test images under one condition.

    Attributes:
        condition: what is done to them.
        canvas: how an image becomes the canvas that the condition acts on.
        name: the name under which predictions are stored: the condition's, unless there are two canvases.
    """

    condition: Condition
    canvas: Geometry
    name: str

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the test images under {self.name}"


@dataclass(frozen=True)
class MakingTestImages:
    """The job of a worker: make the test images of a condition and write them as one array.

    Attributes:
        dataset, images: the test images.
        geometry: the network's own, which decides their size.
        folder: where the arrays are written, named by condition and content.
        needs: what a worker must find where it runs.
    """

    dataset: Dataset
    images: tuple[Surveyed, ...]
    geometry: Geometry
    folder: Path
    needs: Needs

    def begin(self) -> ItemFunction[ConditionItem]:
        """Nothing has to be loaded."""
        return self.make

    def make(self, item: ConditionItem, advance: Advance) -> None:
        """Make the images and write each one as it is made; counts them."""
        side_px = self.geometry.output_px
        shape = len(self.images), side_px, side_px, 3
        unfinished = self.folder / f"{item.condition.id}-{os.getpid()}{UNFINISHED}"
        with unfinished.open("wb") as stream, pillow_quiet():
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            for image in self.images:
                source = Source(self.dataset, image)
                try:
                    for frame in frames_under(source, item.condition, item.canvas, SEED):
                        stream.write(np.ascontiguousarray(fitted(frame, self.geometry)).data)
                except ImageError as error:
                    raise RunFailed(
                        f"{image.sample.id} could be read before but cannot be read now: {error.reason}"
                    ) from error
                advance(1, 0)
            stream.flush()
            os.fsync(stream.fileno())
        content = array_digest(np.load(unfinished, mmap_mode="r"))
        unfinished.replace(array_file(self.folder, item.condition, content))


def array_file(folder: Path, condition: Condition, content: str) -> Path:
    """The file of a condition's images, by the digest of their content."""
    return folder / f"{condition.id}-{content}.npy"


def stored_images(folder: Path, condition: Condition) -> NDArray[np.uint8] | None:
    """The images of a condition, mapped into memory; None if they are not stored."""
    files = sorted(folder.glob(f"{condition.id}-*.npy"))
    return np.load(files[0], mmap_mode="r") if files else None


def remove_damaged(folder: Path, condition: Condition) -> None:
    """Delete the files of a condition whose content does not have the digest in their name."""
    for file in folder.glob(f"{condition.id}-*.npy"):
        try:
            content = array_digest(np.load(file, mmap_mode="r"))
        except (ValueError, EOFError, OSError):
            content = ""
        if file != array_file(folder, condition, content):
            file.unlink()
