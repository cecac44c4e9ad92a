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

# Orange: the score falls when the pixel is covered; blue: it rises. Distinct with any kind of colour vision.
FALLS = (213, 94, 0)
RISES = (0, 114, 178)
# Opacity of the colour at full strength, and share of white in the grey image.
STRONGEST = 0.8
PALE = 0.35
# Changes of a score drawn in full colour, the same in every map: 0.5 of probability, 5 logits.
FULL_COLOUR: dict[ScoreKind, float] = {"probability": 0.5, "logit": 5.0}
SIDE_PX = 448
GAP_PX = 8
FRAME_PX = 2
# The legend below the images: its smallest width, and the heights of its bar, font and lines.
LEGEND_PX = 480
BAR_PX = 14
FONT_PX = 14
LINE_PX = 20
# Labelled fractions of the full colour.
TICK_FRACTIONS = (0.0, 0.1, 0.4, 1.0)
# The grey behind the legend's colours.
MIDDLE_GREY = 128


@dataclass(frozen=True)
class Scale:
    """The colour scale of a map.

    The strength of a colour grows with the square root of the value, so that small values show too.

    Attributes:
        full: the value drawn in full orange; its negative is drawn in full blue.
        title: the quantity that the colours show.
        low, high: the meaning of blue and orange; `low` is "" if no value is negative.
        ticks: fractions of `full` from 0 on, with their labels.
    """

    full: float
    title: str
    low: str
    high: str
    ticks: tuple[tuple[float, str], ...]

    def colours(self, steps: int = 3) -> NDArray[np.uint8]:
        """The colours of the legend from left to right on a middle grey, (steps, 3)."""
        positions = np.linspace(-1.0 if self.low else 0.0, 1.0, steps)[None]
        grey = np.full((1, steps, 3), MIDDLE_GREY, np.uint8)
        values = np.copysign(positions**2, positions) * self.full
        return np.asarray(overlay(grey, values, self.full)[0], np.uint8)

    @property
    def tick_positions(self) -> list[tuple[float, str]]:
        """Positions on the legend, from 0 (left) to 1 (right), with their labels."""
        positions = [(math.sqrt(fraction), name) for fraction, name in self.ticks]
        if not self.low:
            return positions
        return sorted({((1 + side * position) / 2, name) for position, name in positions for side in (-1, 1)})


def occlusion_scale(score: ScoreKind) -> Scale:
    """The colour scale of occlusion maps of a score, the same for all images and models."""
    full, factor = FULL_COLOUR[score], 100 if score == "probability" else 1
    unit = ", points" if score == "probability" else ""
    ticks = tuple(
        (fraction, f"{factor * full * fraction:g}{'+' if fraction == 1 else ''}")
        for fraction in TICK_FRACTIONS
    )
    title = f"Change of the {score} when this region is covered{unit}:"
    return Scale(full, title, "rises", "falls", ticks)


def scale_of(explanation: Explanation) -> Scale:
    """The colour scale of a map: fixed for occlusion; up to the largest value for Grad-CAM."""
    if explanation.score is not None:
        return occlusion_scale(explanation.score)
    most = float(explanation.map.max()) or 1.0
    ticks = tuple((fraction, f"{fraction * most:.3g}") for fraction in TICK_FRACTIONS)
    return Scale(most, "Grad-CAM, no unit; not comparable between images:", "", "larger", ticks)


def map_title(explanation: Explanation) -> str:
    """The subject of `range_text`: pixels of an occlusion map are means over patches."""
    return (
        "this map" if explanation.score is None else "this map, the mean over all patches that cover a pixel"
    )


def range_text(explanation: Explanation) -> str:
    """The largest fall and rise of the score in a map, with units."""
    rises, falls = -min(0.0, float(explanation.map.min())), max(0.0, float(explanation.map.max()))
    if explanation.score is None:
        return f"0 to {falls:.3g}"
    if explanation.score == "logit":
        return f"falls by up to {falls:.2f}, rises by up to {rises:.2f}"
    return f"falls by up to {100 * falls:.1f} points, rises by up to {100 * rises:.1f} points"


def overlay(image: Image, values: NDArray[np.float64], full: float) -> Image:
    """A map drawn over a pale grey image: orange for positive values, blue for negative ones.

    Args:
        image: the preprocessed image.
        values: a value per pixel.
        full: the absolute value drawn in full colour; larger values look the same. The opacity grows with the
            square root of the value.
    """
    grey = image.astype(np.float64) @ (0.299, 0.587, 0.114)
    base = (PALE * 255 + (1 - PALE) * grey)[..., None]
    opacity = (STRONGEST * np.sqrt(np.minimum(np.abs(values) / full, 1)))[..., None]
    paint = np.where(values[..., None] >= 0, np.array(FALLS, np.float64), np.array(RISES, np.float64))
    return np.rint((1 - opacity) * base + opacity * paint).astype(np.uint8)


def side_by_side(explanation: Explanation) -> PillowImage.Image:
    """The image and its overlay side by side, with the decisive patch framed and a legend below.

    Small images are enlarged by a whole factor.
    """
    image, scale = explanation.image, scale_of(explanation)
    height, width = image.shape[:2]
    grow = max(1, SIDE_PX // max(height, width))
    both = 2 * grow * width + GAP_PX
    legend = _legend(explanation, scale, max(both, LEGEND_PX))
    sheet = PillowImage.new("RGB", (legend.width, grow * height + legend.height), "white")
    columns = (0, grow * width + GAP_PX)
    for left, pixels in zip(columns, (image, overlay(image, explanation.map, scale.full)), strict=True):
        cell = PillowImage.fromarray(pixels).resize(
            (grow * width, grow * height), PillowImage.Resampling.NEAREST
        )
        sheet.paste(cell, (left, 0))
    sheet.paste(legend, (0, grow * height))
    if explanation.decisive_patch is None:
        return sheet
    patch = explanation.decisive_patch.patch
    left, top = columns[1] + grow * patch.left, grow * patch.top
    corner = left + grow * patch.width - 1, top + grow * patch.height - 1
    ImageDraw.Draw(sheet).rectangle((left, top, *corner), outline="black", width=FRAME_PX)
    return sheet


def _legend(explanation: Explanation, scale: Scale, width: int) -> PillowImage.Image:
    """The legend: title, colour bar with ticks, the meaning of both ends, and the range of this map."""
    legend = PillowImage.new("RGB", (width, 5 * LINE_PX + BAR_PX + 3 * GAP_PX), "white")
    pen = ImageDraw.Draw(legend)
    top, right = GAP_PX, width - GAP_PX
    pen.text((GAP_PX, top), scale.title, fill="black", font_size=FONT_PX)
    top += LINE_PX
    bar = scale.colours(right - GAP_PX)[None].repeat(BAR_PX, axis=0)
    legend.paste(PillowImage.fromarray(bar), (GAP_PX, top))
    top += BAR_PX + GAP_PX // 2
    for position, name in scale.tick_positions:
        anchor = "la" if position == 0 else "ra" if position == 1 else "ma"
        left = GAP_PX + position * (right - GAP_PX)
        pen.text((left, top), name, fill="black", font_size=FONT_PX, anchor=anchor)
    top += LINE_PX
    pen.text((GAP_PX, top), scale.low, fill="black", font_size=FONT_PX)
    pen.text((right, top), scale.high, fill="black", font_size=FONT_PX, anchor="ra")
    top += LINE_PX
    title = map_title(explanation)
    for line in (f"{title[0].upper()}{title[1:]}:", range_text(explanation)):
        pen.text((GAP_PX, top), line, fill="black", font_size=FONT_PX)
        top += LINE_PX
    return legend
