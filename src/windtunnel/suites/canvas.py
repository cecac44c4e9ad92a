"""Canvases: the edition of a run, and how its images become the images that are corrupted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.records import CanvasRecipe
from windtunnel.core.samples import Surveyed
from windtunnel.corruptions import MIN_SIDE_PX, REGISTRY, edition_of
from windtunnel.data.precomputed import PrecomputedDataset
from windtunnel.imaging.geometry import Geometry, resized_size

if TYPE_CHECKING:
    from windtunnel.suites.suite import Suite

# Images of one size whose short side is at most this are not resized.
SMALL_PX = 96
# The canvas of suites for models that see whole images.
WHOLE = "whole"

GEOMETRIES = {
    224: Geometry(rule="short-side", resize_px=256, crop_px=224),
    299: Geometry(rule="crop-then-resize", crop_frac=0.875, crop_px=299),
    64: Geometry(rule="exact", crop_px=64),
    32: Geometry(rule="exact", crop_px=32),
}
# ImageNet-S's generator resizes every image to 256x256 whatever its aspect, then crops the centre.
SYSTEMATIC_GEOMETRY = Geometry(rule="squash", resize_px=256, crop_px=224)


@dataclass(frozen=True)
class Canvas:
    """The edition of a run, how its images become canvases, and why."""

    edition: int
    geometry: Geometry
    note: str

    def record(self) -> CanvasRecipe:
        """The canvas as recipes store it."""
        return CanvasRecipe(self.edition, self.geometry.record(), self.note)

    def overrides(self) -> dict[str, object]:
        """Where its geometry differs from the edition's own; part of a condition's identity."""
        usual = asdict(GEOMETRIES[self.edition])
        return {key: value for key, value in asdict(self.geometry).items() if value != usual[key]}


def choose_canvas(suite: Suite, sizes: set[tuple[int, int]], model_geometry: Geometry) -> Canvas:
    """Choose edition and geometry from the suite and the sizes (width, height) of the readable images.

    Canvas `native` is the model's own geometry, with the edition that fits its size.

    `auto`: images that all have one size with a short side up to 96 are not resized; they use edition 32
    below 48 pixels and 64 from there. All others use edition 224. An edition of their own size does not
    resize small equal images either, so that CIFAR is corrupted like CIFAR-10-C.
    """
    if suite.canvas == WHOLE:
        edition = 224 if suite.edition == "auto" else int(suite.edition)
        return Canvas(edition, replace(model_geometry, rule="none"), "whole images at their own sizes")
    if suite.canvas == "native":
        side = model_geometry.output_px or min(min(size) for size in sizes)
        if not suite.corruptions and not suite.holds_sequences:
            return Canvas(edition_of(side, side), model_geometry, "the model's own preprocess")
        if side < MIN_SIDE_PX:
            raise UserError(
                f"The model takes {side} pixels; corruptions need {MIN_SIDE_PX}. Give another "
                f"{option('suite')}."
            )
        edition = edition_of(side, side) if suite.edition == "auto" else int(suite.edition)
        return Canvas(edition, model_geometry, "the model's own size and filter: not ImageNet-C's canvas")
    if suite.canvas == "imagenet-s":
        return Canvas(224, SYSTEMATIC_GEOMETRY, "ImageNet-S's: squashed to 256x256, then the middle 224")
    if len(sizes) == 1 and (short := min(next(iter(sizes)))) <= SMALL_PX:
        fitting = edition_of(short, short)
        if suite.edition in ("auto", fitting):
            if short < MIN_SIDE_PX:
                geometry = Geometry(rule="short-side", resize_px=MIN_SIDE_PX, crop_px=0)
                return Canvas(fitting, geometry, f"{short}-pixel images enlarged to {MIN_SIDE_PX}")
            return Canvas(fitting, Geometry(rule="none"), "images taken as they are")
    edition = 224 if suite.edition == "auto" else int(suite.edition)
    return Canvas(edition, GEOMETRIES[edition], "")


def fitting_units(
    units: tuple[str, ...], canvas: Canvas, images: Iterable[Surveyed]
) -> tuple[tuple[str, ...], list[str]]:
    """The units that the canvases are large enough for, and notes on the others; refuses if none is left."""
    sides = {min(resized_size(image.width, image.height, canvas.geometry)) for image in images}
    side_px = canvas.geometry.output_px or min(sides)
    least = {unit: REGISTRY.get(unit).min_side_px for unit in units if unit in REGISTRY}
    notes = [
        f"{unit} is left out: it needs images of at least {least[unit]} pixels on each side, and they have "
        f"{side_px}."
        for unit in units
        if least.get(unit, 0) > side_px
    ]
    fitting = tuple(unit for unit in units if least.get(unit, 0) <= side_px)
    if units and not fitting:
        raise UserError(f"{notes[0]} Give larger images, or other units with {option('only')}.")
    return fitting, notes


def precomputed_canvas(dataset: PrecomputedDataset, suite: Suite, sizes: set[tuple[int, int]]) -> Canvas:
    """The canvas of a precomputed set: the stored images; other clean images use the edition's geometry."""
    edition = dataset.edition
    if suite.edition not in ("auto", edition):
        raise UserError(
            f"{dataset.location} contains images of edition {edition}, not {suite.edition}; "
            f"give another {option('edition')} or {option('suite')}."
        )
    as_they_are = dataset.clean is None or sizes == {dataset.size}
    geometry = Geometry(rule="none") if as_they_are else GEOMETRIES[edition]
    return Canvas(edition, geometry, "finished images, not resized, cropped or compressed again")
