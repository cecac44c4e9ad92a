"""Corruptions as transforms of images, for any data pipeline.

`Corrupt` applies one corruption, `RandomCorrupt` one drawn for each image, `CorruptedDataset` either of
them to a dataset by index. All can be pickled and sent to worker processes.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.registry import include_python
from windtunnel.core.seeding import Draws, fresh_seed
from windtunnel.core.shared_number import SharedNumber
from windtunnel.corruptions import (
    REGISTRY,
    SEVERITIES,
    check_edition,
    check_seed,
    check_severity,
    refuse_severity,
)
from windtunnel.imaging.image_types import Layout, check_layout, to_pixels
from windtunnel.suites.suite_files import load_suite

__all__ = ["Corrupt", "CorruptedDataset", "RandomCorrupt", "TrainedOnTestWarning", "Transform"]

T = TypeVar("T")

# The suites of ImageNet-C's test corruptions, and of the extra corruptions for training and validation.
TESTED = "imagenet-c"
EXTRA = "imagenet-c-extra"

# Steps of itertools.count are atomic, so that no two threads get the same number. A worker process has one
# counter for all its transforms, so that copies of a transform do not start again.
_WORKER_CALLS = itertools.count()


class TrainedOnTestWarning(UserWarning):
    """A model trained this way has seen corruptions that ImageNet-C tests as unseen."""


class Transform(ABC):
    """The common base of `Corrupt` and `RandomCorrupt`.

    Called with one image, it returns the same kind. Called with an image and further values (a label), as
    `Compose` of torchvision's v2 does, it returns all of them. An image is:

    - a Pillow image of mode RGB or L;
    - a NumPy array, HxW or HxWx3 or HxWx1;
    - a torch tensor, HxW or 3xHxW or 1xHxW, on its own device, without gradients.

    Arrays and tensors are uint8 or floats from 0 to 1. Floats are rounded to 256 levels, corrupted, and
    divided by 255 again. Sides need at least 32 pixels.

    Reproducibility:

    - `seed` and `index`: the same pixels in every process, order, worker and epoch. The index is the
      image's row number or its sample id; a run with that seed draws the same for that sample.
    - `seed` alone: call number n of this object has its own draws. Each torch data-loader worker has its own
      counter. Its draws depend on the seed from torch: they differ between workers and epochs, and are
      repeated with the same `torch.manual_seed`, number of workers and order. In any other process than
      its own (a fork, a pool, another machine) every call draws new numbers. In distributed training, give
      every rank a seed of its own.
    - no `seed`: every call draws new numbers from the operating system.
    """

    def __init__(
        self, names: Iterable[str], *, seed: int | None, edition: int | None, layout: Layout
    ) -> None:
        check_seed(seed)
        check_edition(edition)
        check_layout(layout)
        self.seed = None if seed is None else int(seed)
        self.edition = edition
        self.layout = layout
        self._files = _outside_files(names)
        self._home = _process_number(os.getpid())
        self._calls = itertools.count()

    @overload
    def __call__(self, image: T, *, index: SupportsIndex | str | None = None) -> T: ...

    @overload
    def __call__(self, image: Any, *others: Any, index: SupportsIndex | str | None = None) -> Any: ...

    def __call__(self, image: Any, *others: Any, index: SupportsIndex | str | None = None) -> Any:
        """Corrupt one image.

        Args:
            image: a Pillow image, a NumPy array or a torch tensor; or a tuple or list that starts with one.
                It is not modified.
            others: further values of the sample (a label, boxes, a mask), as torchvision's v2 transforms pass
                them. They are returned unchanged, in a tuple after the corrupted image.
            index: the image's index, so that the same seed gives the same pixels again. Keyword-only: a
                second positional argument is a label.
        """
        if others:
            return self._corrupt_image(image, index), *others
        if isinstance(image, tuple | list) and image:
            items = [self._corrupt_image(image[0], index), *image[1:]]
            # A named tuple takes its fields as separate arguments.
            return type(image)(*items) if hasattr(image, "_fields") else type(image)(items)
        return self._corrupt_image(image, index)

    def _corrupt_image(self, image: T, index: SupportsIndex | str | None) -> T:
        """The corrupted image, of the same type as the given one."""
        pixels, restore = to_pixels(image, self.layout)
        seed, sample_id = self._draw(index)
        corrupted = self._corrupted(pixels, seed, sample_id)
        return image if corrupted is None else restore(corrupted)

    @abstractmethod
    def _corrupted(self, pixels: Image, seed: int, sample_id: str) -> Image | None:
        """The corrupted pixels, or None if the image stays unchanged."""

    def _draw(self, index: SupportsIndex | str | None) -> tuple[int, str]:
        """The seed and the sample id of one call."""
        sample_id = "" if index is None else _sample_id(index)
        if self.seed is None:
            return fresh_seed(), sample_id
        if index is not None:
            return self.seed, sample_id
        worker = _torch_worker()
        if worker is not None:
            # Workers get another seed in the next epoch; persistent workers continue counting.
            return self.seed, f"call {next(_WORKER_CALLS)} of worker {worker.id} seeded {worker.seed}"
        if self._home == _process_number(os.getpid()):
            return self.seed, f"call {next(self._calls)}"
        return fresh_seed(), ""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_calls"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._calls = itertools.count()  # a copy counts from 0, like a new object
        for name, path in self._files.items():
            if name not in REGISTRY.names():  # a spawned process has not included its parent's files
                include_python(Path(path))

    def _options(self) -> str:
        """The shared options that differ from the default, for repr."""
        given = {"seed": self.seed, "edition": self.edition, "layout": self.layout}
        defaults = {"seed": None, "edition": None, "layout": "auto"}
        return "".join(f", {name}={value!r}" for name, value in given.items() if value != defaults[name])


class Corrupt(Transform):
    """A transform that applies one corruption at one severity.

    Args:
        name: the corruption (`windtunnel list corruptions`).
        severity: 1 to 5, by default 1; not for corruptions with one strength, such as `s2n/blur`.
        seed: see `Transform`; None draws new numbers at every call.
        edition: the edition of the severity table, 32, 64, 224 or 299; None to choose by the short side.
        settings: texts the corruption takes, such as {"textures": DIR} for frost.
        layout: the axis of channels in arrays and tensors; `auto` is HWC for NumPy, CHW for torch.

    Raises:
        UserError: a name, severity or option that cannot be used.
    """

    def __init__(
        self,
        name: str,
        severity: int | None = None,
        *,
        seed: int | None = None,
        edition: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
        layout: Layout = "auto",
    ) -> None:
        _check_unit(name, settings)
        level = REGISTRY.get(name).level(severity)
        super().__init__([name], seed=seed, edition=edition, layout=layout)
        self.name = name
        self.severity = level
        self.settings = dict(settings)

    def _corrupted(self, pixels: Image, seed: int, sample_id: str) -> Image:
        return REGISTRY.get(self.name).corrupt(
            pixels,
            self.severity,
            seed=seed,
            sample_id=sample_id,
            edition=self.edition,
            settings=self.settings,
        )

    def __repr__(self) -> str:
        settings = f", settings={self.settings!r}" if self.settings else ""
        severity = f", severity={self.severity}" if self.severity else ""
        return f"Corrupt({self.name!r}{severity}{self._options()}{settings})"


class RandomCorrupt(Transform):
    """A corruption and a severity drawn for each image.

    Args:
        names: the corruptions to draw from; None for ImageNet-C's four extras. A test corruption of
            ImageNet-C raises a warning: a model trained on it has seen what ImageNet-C tests as unseen.
        severities: the severities to draw from, for corruptions that have severities.
        p: the share of images that are corrupted; the others are returned unchanged.
        seed: see `Transform`; it determines the choice as well as the pixels.
        edition: 32, 64, 224 or 299; None to choose by the image's short side.
        settings: texts by corruption, such as {"frost": {"textures": DIR}}.
        layout: the axis of channels in arrays and tensors; `auto` is HWC for NumPy, CHW for torch.

    Raises:
        UserError: a name, severity or option that cannot be used.
    """

    def __init__(
        self,
        names: Iterable[str] | None = None,
        severities: Iterable[int] = SEVERITIES,
        *,
        p: float = 1.0,
        seed: int | None = None,
        edition: int | None = None,
        settings: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        layout: Layout = "auto",
    ) -> None:
        self.names = load_suite(EXTRA).units if names is None else _listed("names", names)
        self.severities = _listed("severities", severities)
        if unused := [name for name in settings if name not in self.names]:
            raise UserError(f"Settings are given for {', '.join(unused)}; give settings only for the names.")
        for name in self.names:
            _check_unit(name, settings.get(name, {}))
        for severity in self.severities:
            check_severity(severity)
        if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
            raise UserError(f"p is {p!r}; give the share of images to corrupt, from 0 to 1.")
        super().__init__(self.names, seed=seed, edition=edition, layout=layout)
        self.p = float(p)
        self.settings = {name: dict(texts) for name, texts in settings.items()}
        _warn_of_tested(self.names)

    def _corrupted(self, pixels: Image, seed: int, sample_id: str) -> Image | None:
        choice = Draws(seed, sample_id, "transform/random_corrupt", 0)
        if choice.uniform("apply") >= self.p:
            return None
        name = self.names[choice.integer("name", 0, len(self.names))]
        unit = REGISTRY.get(name)
        severity = int(self.severities[choice.integer("severity", 0, len(self.severities))])
        return unit.corrupt(
            pixels,
            unit.levels[0] if unit.has_one_strength else severity,
            seed=seed,
            sample_id=sample_id,
            edition=self.edition,
            settings=self.settings.get(name, {}),
        )

    def __repr__(self) -> str:
        settings = f", settings={self.settings!r}" if self.settings else ""
        return (
            f"RandomCorrupt({list(self.names)!r}, severities={list(self.severities)!r}, p={self.p}"
            f"{self._options()}{settings})"
        )


class CorruptedDataset:
    """A dataset whose images are corrupted by index: the same seed, index and epoch give the same pixels.

    This is true for any number of workers and any order, because an image's draws depend on its index. For
    other draws in the next epoch call `set_epoch` in the process that made the object; it also applies to
    running workers (`persistent_workers=True`). Without a call every epoch is epoch 0.

    Args:
        dataset: an object with `len` and `[i]`, whose items are an image or a tuple that starts with one.
        transform: a `Corrupt` or `RandomCorrupt` with a seed.
        then: a function applied to the corrupted image, such as normalisation.

    Raises:
        UserError: a dataset or transform that cannot be used.
    """

    def __init__(self, dataset: Any, transform: Transform, then: Callable[[Any], Any] | None = None) -> None:
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise UserError(f"The dataset is a {type(dataset).__name__}; give one with len() and [i].")
        if not isinstance(transform, Transform):
            raise UserError(f"The transform is {transform!r}; give a Corrupt or a RandomCorrupt.")
        if transform.seed is None:
            raise UserError(f"{transform!r} has no seed, so images cannot be reproduced; give seed=0.")
        self.dataset = dataset
        self.transform = transform
        self.then = then
        self._epoch = SharedNumber(0)

    @property
    def epoch(self) -> int:
        """The epoch of the current draws."""
        return self._epoch.value

    def set_epoch(self, epoch: int) -> None:
        """Change the draws of all images; call it between epochs."""
        if isinstance(epoch, bool) or not isinstance(epoch, int | np.integer) or epoch < 0:
            raise UserError(f"The epoch is {epoch!r}; give a whole number from 0.")
        self._epoch.value = int(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: SupportsIndex) -> Any:
        """Item `index` of the dataset, with its image corrupted."""
        row = operator.index(index)
        item = self.dataset[row]
        if isinstance(item, Mapping):
            raise UserError("The dataset's items are mappings; give a dataset of images, or of (image, ...).")
        image, rest = (item[0], item[1:]) if isinstance(item, tuple | list) else (item, None)
        sample_id = _sample_id(row + len(self) if row < 0 else row)
        if self.epoch:
            sample_id += f", epoch {self.epoch}"
        corrupted = self.transform(image, index=sample_id)
        if self.then is not None:
            corrupted = self.then(corrupted)
        return corrupted if rest is None else (corrupted, *rest)

    def __repr__(self) -> str:
        then = f", then={self.then!r}" if self.then is not None else ""
        return f"CorruptedDataset({self.dataset!r}, {self.transform!r}{then})"


@cache
def _process_number(pid: int) -> int:  # noqa: ARG001 - a fork inherits the cache, but not the pid
    """A random number that identifies a process."""
    return fresh_seed()


def _torch_worker() -> Any:
    """Torch's record of this process if it is a data-loader worker, else None."""
    torch_data = sys.modules.get("torch.utils.data")
    return None if torch_data is None else torch_data.get_worker_info()


def _sample_id(index: SupportsIndex | str) -> str:
    """The sample id of an image: text unchanged, a row number with eight digits, as in runs."""
    if isinstance(index, str):
        return index
    try:
        return f"{operator.index(index):08d}"
    except TypeError:
        raise UserError(f"The index is {index!r}; give a row number or a sample id (a text).") from None


def _check_unit(name: str, settings: Mapping[str, str]) -> None:
    if not isinstance(name, str):
        raise UserError(f"The corruption is {name!r}; give its name (windtunnel list corruptions).")
    refuse_severity(name)
    unit = REGISTRY.get(name)
    if settings:
        unit.assets(settings)


def _listed(what: str, values: Iterable[T]) -> tuple[T, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable) or not (items := tuple(values)):
        raise UserError(f"{what} is {values!r}; give a list with at least one entry.")
    return items


def _outside_files(names: Iterable[str]) -> dict[str, str]:
    """The files of third-party units, by name."""
    units = [REGISTRY.get(name) for name in names]
    return {unit.name: inspect.getfile(unit.function) for unit in units if not unit.is_shipped}


def _warn_of_tested(names: Iterable[str]) -> None:
    tested = set(load_suite(TESTED).units)
    if shared := [name for name in dict.fromkeys(names) if name in tested]:
        warnings.warn(
            f"ImageNet-C tests {', '.join(shared)}: do not report ImageNet-C scores of a model trained with "
            "them as robustness to unseen corruptions. RandomCorrupt() draws from the four extras instead.",
            TrainedOnTestWarning,
            stacklevel=3,
        )
