"""A saliency map drawn over its image, and the legend of its colours."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.analysis.explain import Explanation
from windtunnel.core.images import Image
from windtunnel.options.explain import ScoreKind

# Orange where the class loses when covered, blue where it gains: distinct with any kind of colour vision.
FOR = (213, 94, 0)
AGAINST = (0, 114, 178)
# Share of the colour where the map is strongest, and share of white everywhere.
STRONGEST = 0.8
PALE = 0.35
# Falls of a score that are drawn in full colour, the same in every map: half of all probability, 5 logits.
FULL_COLOUR: dict[ScoreKind, float] = {"probability": 0.5, "logit": 5.0}
SIDE_PX = 448
GAP_PX = 8
FRAME_PX = 2
# The legend under the images: its own smallest width, its bar, and its text.
LEGEND_PX = 480
BAR_PX = 14
FONT_PX = 14
LINE_PX = 20
# The grey on which the legend shows the colours.
MIDDLE_GREY = 128


@dataclass(frozen=True)
class Scale:
    """What the colours of a map mean.

    The strength of a colour grows with the square root of the value, so that small values show too.

    Attributes:
        full: the value drawn in full orange; minus that is drawn in full blue.
        title: what the colours show.
        low, high: what blue and orange mean; `low` is "" where no value is negative.
        ticks: parts of `full` and what they are called, from 0 on.
    """

    full: float
    title: str
    low: str
    high: str
    ticks: tuple[tuple[float, str], ...]

    def colours(self, steps: int = 3) -> NDArray[np.uint8]:
        """The colours of a legend from its left end to its right end, (steps, 3), on a middle grey."""
        places = np.linspace(-1.0 if self.low else 0.0, 1.0, steps)[None]
        grey = np.full((1, steps, 3), MIDDLE_GREY, np.uint8)
        values = np.copysign(places**2, places) * self.full
        return np.asarray(overlay(grey, values, self.full)[0], np.uint8)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Where on the legend, from 0 (left) to 1 (right), which value stands."""
        places = [(math.sqrt(part), name) for part, name in self.ticks]
        if not self.low:
            return places
        return sorted({((1 + side * place) / 2, name) for place, name in places for side in (-1, 1)})


def occlusion_scale(score: ScoreKind) -> Scale:
    """The scale of occlusion maps of a score: the same for all images and models."""
    full, by = FULL_COLOUR[score], 100 if score == "probability" else 1
    unit = ", points" if score == "probability" else ""
    ticks = tuple((part, f"{by * full * part:g}{'+' if part == 1 else ''}") for part in (0.0, 0.1, 0.4, 1.0))
    title = f"Change of the {score} when this region is covered{unit}:"
    return Scale(full, title, "rises", "falls", ticks)


def scale_of(found: Explanation) -> Scale:
    """The scale of a map: fixed for occlusion, the map's own for Grad-CAM, whose values have no unit."""
    if found.score is not None:
        return occlusion_scale(found.score)
    most = float(found.map.max()) or 1.0
    ticks = tuple((part, f"{part * most:.3g}") for part in (0.0, 0.1, 0.4, 1.0))
    return Scale(most, "Grad-CAM, no unit; not comparable between images:", "", "larger", ticks)


def map_title(found: Explanation) -> str:
    """What the numbers of `range_text` are of: each pixel of an occlusion map is a mean over patches."""
    return "this map" if found.score is None else "this map, the mean over all patches that cover a pixel"


def range_text(found: Explanation) -> str:
    """How far the score falls and rises in a map, with its unit."""
    rises, falls = -min(0.0, float(found.map.min())), max(0.0, float(found.map.max()))
    if found.score is None:
        return f"0 to {falls:.3g}"
    if found.score == "logit":
        return f"falls by up to {falls:.2f}, rises by up to {rises:.2f}"
    return f"falls by up to {100 * falls:.1f} points, rises by up to {100 * rises:.1f} points"


def overlay(image: Image, values: NDArray[np.float64], full: float) -> Image:
    """A pale grey image under a map: orange for positive values, blue for negative ones.

    Args:
        image: what the model saw.
        values: a number per pixel.
        full: the size of a value drawn in full colour; larger ones look the same. The strength of the colour
            grows with the square root of the value.
    """
    grey = image.astype(np.float64) @ (0.299, 0.587, 0.114)
    base = (PALE * 255 + (1 - PALE) * grey)[..., None]
    amount = (STRONGEST * np.sqrt(np.minimum(np.abs(values) / full, 1)))[..., None]
    paint = np.where(values[..., None] >= 0, np.array(FOR, np.float64), np.array(AGAINST, np.float64))
    return np.rint((1 - amount) * base + amount * paint).astype(np.uint8)


def side_by_side(found: Explanation) -> PillowImage.Image:
    """The image and its overlay side by side, the strongest patch framed, over a legend.

    Small images are enlarged by whole pixels.
    """
    image, scale = found.image, scale_of(found)
    height, width = image.shape[:2]
    grow = max(1, SIDE_PX // max(height, width))
    both = 2 * grow * width + GAP_PX
    legend = _legend(found, scale, max(both, LEGEND_PX))
    sheet = PillowImage.new("RGB", (legend.width, grow * height + legend.height), "white")
    places = (0, grow * width + GAP_PX)
    for left, one in zip(places, (image, overlay(image, found.map, scale.full)), strict=True):
        cell = PillowImage.fromarray(one).resize(
            (grow * width, grow * height), PillowImage.Resampling.NEAREST
        )
        sheet.paste(cell, (left, 0))
    sheet.paste(legend, (0, grow * height))
    if found.decisive_patch is None:
        return sheet
    patch = found.decisive_patch.patch
    left, top = places[1] + grow * patch.left, grow * patch.top
    corner = left + grow * patch.width - 1, top + grow * patch.height - 1
    ImageDraw.Draw(sheet).rectangle((left, top, *corner), outline="black", width=FRAME_PX)
    return sheet


def _legend(found: Explanation, scale: Scale, width: int) -> PillowImage.Image:
    """Title, bar of colours with its values, what both sides mean, and the range of this map."""
    legend = PillowImage.new("RGB", (width, 5 * LINE_PX + BAR_PX + 3 * GAP_PX), "white")
    pen = ImageDraw.Draw(legend)
    top, right = GAP_PX, width - GAP_PX
    pen.text((GAP_PX, top), scale.title, fill="black", font_size=FONT_PX)
    top += LINE_PX
    bar = scale.colours(right - GAP_PX)[None].repeat(BAR_PX, axis=0)
    legend.paste(PillowImage.fromarray(bar), (GAP_PX, top))
    top += BAR_PX + GAP_PX // 2
    for place, name in scale.marks:
        anchor = "la" if place == 0 else "ra" if place == 1 else "ma"
        at = GAP_PX + place * (right - GAP_PX)
        pen.text((at, top), name, fill="black", font_size=FONT_PX, anchor=anchor)
    top += LINE_PX
    pen.text((GAP_PX, top), scale.low, fill="black", font_size=FONT_PX)
    pen.text((right, top), scale.high, fill="black", font_size=FONT_PX, anchor="ra")
    top += LINE_PX
    title = map_title(found)
    for line in (f"{title[0].upper()}{title[1:]}:", range_text(found)):
        pen.text((GAP_PX, top), line, fill="black", font_size=FONT_PX)
        top += LINE_PX
    return legend
