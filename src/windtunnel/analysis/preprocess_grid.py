"""Alternatives to a declared preprocessing: arithmetics, geometries, resizers and label orders to try."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel import published
from windtunnel.core.labels import IMAGENET_1K, LabelSpace
from windtunnel.core.wording import counted
from windtunnel.imaging.geometry import Geometry
from windtunnel.models import Model
from windtunnel.models.preprocess import Channels, Preprocess, Tensor
from windtunnel.published.imagenet import imagenet_1k, imagenet_names

# Geometries of the grid are written for this input size.
GRID_PX = 224
OTHER_SIZES_PX = (224, 256, 288, 299)
DECLARED = "declared"


@dataclass(frozen=True)
class Order:
    """A label order: the output of each class of the data, -1 for none.

    Attributes:
        name: its description.
        outputs: for every class its output.
        by_halves: for an order inferred from the images, the two orders for images with even and with odd
            numbers, each inferred from the other half; empty for other orders.
    """

    name: str
    outputs: tuple[int, ...]
    by_halves: tuple[tuple[int, ...], ...] = ()

    def right(self, chosen: NDArray[np.int64], labels: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Which predictions are correct; -1 (not finite) is always wrong.

        There may be more labels than predictions.
        """
        judges = np.array(self._judges)
        image = np.repeat(np.arange(len(chosen)), [len(row) for row in labels[: len(chosen)]])
        wanted = np.array([label for row in labels[: len(chosen)] for label in row], np.int64)
        right = np.zeros(len(chosen), bool)
        right[image[judges[image % len(judges), wanted] == chosen[image]]] = True
        return right & (chosen >= 0)

    def accepted(self, labels: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """For each image the outputs that are correct; () if its classes have no output."""
        judges = self._judges
        by_image = ({judges[image % len(judges)][label] for label in row} for image, row in enumerate(labels))
        return [tuple(sorted(output for output in outputs if output >= 0)) for outputs in by_image]

    @property
    def _judges(self) -> tuple[tuple[int, ...], ...]:
        """The order that judges each image, in turn."""
        return self.by_halves or (self.outputs,)


@lru_cache(maxsize=1)
def grid() -> dict[str, Any]:
    """The shipped grid."""
    return tomllib.loads(published.read_text("preprocess_grid.toml"))


def other_tensors(model: Model) -> dict[str, Preprocess]:
    """The declared preprocessing with other channel orders and arithmetics, by name; no duplicates."""
    declared = model.preprocess
    if model.own_arithmetic:
        return {}
    tensors = _grey_tensors if declared.tensor.channels == "grey" else _tensors
    alternatives = {
        name: replace(declared, tensor=tensor)
        for name, tensor in tensors(declared.tensor)
        if tensor != declared.tensor
    }
    return _distinct(alternatives)


def _tensors(declared: Tensor) -> Iterator[tuple[str, Tensor]]:
    swapped: Channels = "rgb" if declared.channels == "bgr" else "bgr"
    yield swapped.upper(), replace(declared, channels=swapped)
    if declared.dtype == "uint8":
        return
    yield (
        f"{swapped.upper()}, means and deviations in its order",
        replace(declared, channels=swapped, mean=declared.mean[::-1], std=declared.std[::-1]),
    )
    for name, row in grid()["tensors"].items():
        for channels in (declared.channels, swapped):
            step = -1 if channels == "bgr" else 1
            mean, std = tuple(row["mean"][::step]), tuple(row["std"][::step])
            label = name if channels == declared.channels else f"{name}, {channels.upper()}"
            yield label, replace(declared, channels=channels, divisor=row["divisor"], mean=mean, std=std)


def _grey_tensors(declared: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The grid for one channel: its mean and deviation are averages over the three channels."""
    if declared.dtype == "uint8":
        return
    for name, row in grid()["tensors"].items():
        mean, std = (float(np.mean(row[key])) for key in ("mean", "std"))
        yield name, replace(declared, divisor=row["divisor"], mean=(mean,), std=(std,))


def other_geometries(centre: Preprocess, *, sizes: bool) -> dict[str, Preprocess]:
    """Other rules, margins and, if the model accepts any size, sizes."""
    side = centre.geometry.output_px
    if side is None:
        return {}
    alternatives = {}
    for name, row in grid()["geometries"].items():
        resize_px = max(side, int(row["resize_px"] * side / GRID_PX))
        changed = {**row, "resize_px": resize_px, "crop_px": side}
        label = name.replace(str(row["resize_px"]), str(resize_px))
        alternatives[label] = replace(centre, geometry=replace(centre.geometry, **changed))
    for other in OTHER_SIZES_PX if sizes else ():
        alternatives[f"input of {other} pixels"] = centre.scaled_to(other)
    return _distinct(
        {
            name: preprocess
            for name, preprocess in alternatives.items()
            if not _same(preprocess.geometry, centre.geometry)
        }
    )


def other_resizers(centre: Preprocess) -> dict[str, Preprocess]:
    """Other resizing libraries and filters."""
    if centre.geometry.rule == "none":
        return {}
    names = grid()["resizers"]["names"]
    alternatives = {name: replace(centre, geometry=replace(centre.geometry, resizer=name)) for name in names}
    return {
        name: preprocess
        for name, preprocess in alternatives.items()
        if preprocess.geometry != centre.geometry
    }


def _same(first: Geometry, other: Geometry) -> bool:
    """Whether two geometries are equivalent, ignoring fields that their rule does not use."""
    unread = {"exact": ("resize_px", "crop_frac"), "crop-then-resize": ("resize_px",)}.get(
        first.rule, ("crop_frac",)
    )
    return first == replace(other, **{name: getattr(first, name) for name in unread})


def _distinct(alternatives: dict[str, Preprocess]) -> dict[str, Preprocess]:
    """The alternatives without duplicates."""
    names: dict[tuple[object, object], str] = {}
    for name, preprocess in alternatives.items():
        names.setdefault((preprocess.geometry, preprocess.tensor), name)
    return {name: alternatives[name] for name in names.values()}


def label_orders(space: LabelSpace, declared: Sequence[int], outputs: int) -> list[Order]:
    """The declared label order, followed by common wrong ones."""
    count = len(space)
    tried = [Order(DECLARED, tuple(declared))]
    own = list(range(count))
    candidates: dict[str, list[int]] = {}
    if outputs == count + 1:
        candidates = {
            "outputs one later, the first being no class": [place + 1 for place in own],
            "outputs in the data's own order, the last being no class": own,
        }
    elif outputs == count:
        candidates = _full_orders(space, own)
    else:
        candidates = {
            f"outputs one {where}": [(place + step) % outputs if place >= 0 else -1 for place in declared]
            for where, step in (("later", 1), ("earlier", -1))
        }
    known = {tried[0].outputs}
    for name, places in candidates.items():
        if tuple(places) not in known:
            known.add(tuple(places))
            tried.append(Order(name, tuple(places)))
    return tried


def orders_not_tried(space: LabelSpace, outputs: int) -> str:
    """The common label orders that `label_orders` does not try for a model, and why; "" for none."""
    if outputs == len(space):
        return ""
    return (
        "label orders that are reversed or sorted as text: they need as many outputs as classes, and the "
        f"model has {outputs:,} outputs for {counted(len(space), 'class', 'classes')}"
    )


def _full_orders(space: LabelSpace, own: list[int]) -> dict[str, list[int]]:
    """Label orders in which every output is a class."""
    count = len(own)
    orders = {
        "outputs in the data's own order": own,
        "outputs sorted as texts (0, 1, 10, 11 ...)": _places(sorted(own, key=str)),
        "outputs in reverse": own[::-1],
        "outputs one later": [(place + 1) % count for place in own],
        "outputs one earlier": [(place - 1) % count for place in own],
    }
    if space.name == IMAGENET_1K:
        words = imagenet_names()
        by_name = sorted(own, key=lambda index: words[imagenet_1k().classes[index]].lower())
        orders["outputs sorted by the classes' names"] = _places(by_name)
    return orders


def _places(order: Sequence[int]) -> list[int]:
    """The position of each class in an order."""
    places = [0] * len(order)
    for place, index in enumerate(order):
        places[index] = place
    return places


def suggested_order(chosen: NDArray[np.int64], labels: NDArray[np.int64], count: int) -> Order:
    """The label order that predictions and labels suggest; each half of the images uses the other half's.

    All predictions on the same images are scored by the order of the other half. The order that all images
    suggest would overestimate their accuracy.
    """
    parts = (slice(None), slice(1, None, 2), slice(0, None, 2))
    whole, of_odd, of_even = (_fitted(chosen[part], labels[part], count) for part in parts)
    return Order("outputs in the order these images suggest", whole, (of_odd, of_even))


def _fitted(chosen: NDArray[np.int64], labels: NDArray[np.int64], count: int) -> tuple[int, ...]:
    """For every class its output in the order that maximises the number of correct predictions."""
    from scipy.optimize import linear_sum_assignment

    hits = np.zeros((count, count))
    finite = chosen >= 0
    np.add.at(hits, (labels[finite], chosen[finite]), 1)
    _, outputs = linear_sum_assignment(-hits)
    return tuple(map(int, outputs))
