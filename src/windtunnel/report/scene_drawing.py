"""Shapes, textures and colours that the demo scene is drawn with.

Lengths and positions are fractions of the side; y points down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.core.seeding import Draws

Plane = NDArray[np.float32]
Numbers = NDArray[np.float64]
Colour = tuple[float, float, float]
Point = tuple[float, float]
Box = tuple[float, float, float, float]

SCENE_DRAWS = Draws(0, "harbour", "scene", 0)


# Shapes, as masks of the whole image with values from 0 to 1.


def polygon(px: int, points: Sequence[Point]) -> Plane:
    """A filled polygon."""
    mask = PillowImage.new("L", (px, px))
    ImageDraw.Draw(mask).polygon([(x * px, y * px) for x, y in points], fill=255)
    return _unit(mask)


def rectangle(px: int, box: Box) -> Plane:
    """A filled rectangle: left, top, right, bottom."""
    left, top, right, bottom = box
    return polygon(px, [(left, top), (right, top), (right, bottom), (left, bottom)])


def ellipse(px: int, x: float, y: float, wide: float, high: float) -> Plane:
    """A filled ellipse around a point, by its half axes."""
    mask = PillowImage.new("L", (px, px))
    ImageDraw.Draw(mask).ellipse([(x - wide) * px, (y - high) * px, (x + wide) * px, (y + high) * px], 255)
    return _unit(mask)


def polyline(px: int, points: Sequence[Point], width: float) -> Plane:
    """A line through the points."""
    mask = PillowImage.new("L", (px, px))
    ImageDraw.Draw(mask).line(
        [(x * px, y * px) for x, y in points], fill=255, width=max(1, round(width * px)), joint="curve"
    )
    return _unit(mask)


def lettering(px: int, x: float, y: float, high: float, text: str) -> Plane:
    """A text centred on a point; `high` is the font size."""
    mask = PillowImage.new("L", (px, px))
    ImageDraw.Draw(mask).text((x * px, y * px), text, fill=255, font_size=high * px, anchor="mm")
    return _unit(mask)


def blob(px: int, points: Sequence[Point]) -> Plane:
    """A smooth closed outline through the points (Catmull-Rom spline)."""
    p = np.array(points)
    before, after, second_after = np.roll(p, 1, 0), np.roll(p, -1, 0), np.roll(p, -2, 0)
    curve = [
        0.5
        * (
            2 * p
            + (after - before) * t
            + (2 * before - 5 * p + 4 * after - second_after) * t**2
            + (3 * p - before - 3 * after + second_after) * t**3
        )
        for t in np.arange(0, 1, 0.1)
    ]
    outline = np.stack(curve, axis=1).reshape(-1, 2)
    return polygon(px, [(float(x), float(y)) for x, y in outline])


def _unit(mask: PillowImage.Image) -> Plane:
    return np.asarray(mask, np.float32) / np.float32(255)


# Texture.


def pixel_grid(px: int) -> tuple[Plane, Plane]:
    """The x and y coordinates of pixel centres, as a row and a column."""
    positions = ((np.arange(px) + 0.5) / px).astype(np.float32)
    return positions[None, :], positions[:, None]


def smooth_noise(px: int, purpose: str, across: int, down: int) -> Plane:
    """Smooth noise from 0 to 1 on a grid of `across` times `down` points."""
    lattice = SCENE_DRAWS.uniforms(purpose, across * down).reshape(down, across).astype(np.float32)
    smooth = PillowImage.fromarray(lattice).resize((px, px), PillowImage.Resampling.BICUBIC)
    return np.asarray(smooth, np.float32)


def cloudy(px: int, purpose: str, across: int, down: int, octaves: int) -> Plane:
    """Fractal noise from about 0 to 1: octaves of smooth noise."""
    layers = [
        smooth_noise(px, f"{purpose} {octave}", across << octave, down << octave) * 0.55**octave
        for octave in range(octaves)
    ]
    return np.asarray(sum(layers) / sum(0.55**octave for octave in range(octaves)), np.float32)


def paint_over(image: Plane, mask: Plane, colour: Colour | Plane, strength: float = 1.0) -> None:
    """Blend a colour into the image where the mask is set."""
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    if not rows.size:
        return
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    paint = np.broadcast_to(np.asarray(colour, np.float32), image.shape)[part]
    image[part] += (paint - image[part]) * (mask[part] * np.float32(strength))[..., None]


def tint(colour: Colour, *shades: Plane) -> Plane:
    """A colour multiplied by shades around 1, for every pixel."""
    shade = np.prod(np.broadcast_arrays(*shades), axis=0)
    return np.asarray(np.asarray(colour, np.float32) * shade[..., None], np.float32)


def blend(low: Colour | Plane, high: Colour | Plane, share: Plane | Numbers) -> Plane:
    """Linear interpolation between two colours by a share from 0 to 1."""
    a, b = np.asarray(low, np.float32), np.asarray(high, np.float32)
    weight = np.asarray(np.clip(share, 0, 1), np.float32)
    return np.asarray(a + (b - a) * weight[..., None], np.float32)


def paint_dots(
    image: Plane,
    xs: Numbers,
    ys: Numbers,
    sizes: Numbers,
    tones: Numbers,
    dark: Colour,
    bright: Colour,
) -> None:
    """Draw leaves or petals: flat dots with tones between two colours, the brightest on top."""
    px = len(image)
    drawn = PillowImage.fromarray(np.clip(image, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(drawn)
    colours = blend(dark, bright, tones.astype(np.float32)).astype(int)
    for i in np.argsort(tones, kind="stable"):
        wide, high = sizes[i], 0.75 * sizes[i]
        place = [(xs[i] - wide) * px, (ys[i] - high) * px, (xs[i] + wide) * px, (ys[i] + high) * px]
        pen.ellipse(place, fill=tuple(colours[i].tolist()))
    image[:] = np.asarray(drawn, np.float32)
