"""Grow the five frost textures of the frost corruption: python tools/grow_frost.py [--out DIR]

The reference of ImageNet-C lays five borrowed photographs of ice over the images.  Ours are grown here
from formulas and seeds alone, so that they can be shipped; no pixel of a photograph enters.  What is taken
over from each photograph is a handful of statistics (``TARGETS``): quantiles of brightness, contrast in
octaves of spatial frequency, and where the light falls.  A network's error should then not depend on which
set is used; ``tools/check_frost.py`` measures that.

Every texture is made in the same three stages:

1. *growth*: ice in one of four habits (crumpled sheet, needles, rosettes with frozen drops, ferns);
2. *light*: slow haze and a lighting slope are added;
3. *development*: spectrum and tone are brought to the targets, channel by channel, and a file is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from scipy.fft import dctn, idctn

OUT = Path(__file__).parents[1] / "src" / "windtunnel" / "published" / "frost"
JPEG_QUALITY = 88  # keeps the finest octave within a few per cent, and all five files under 600 kB
OVERSAMPLING = 2  # ice is drawn at twice the size and averaged down, which gives smooth edges

# Lower edges of the frequency bands, in cycles per pixel, finest first.
BAND_EDGES = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256, 0.0)
# OpenCV draws at fractions of a pixel when coordinates are given in sixteenths.
SUBPIXEL_BITS = 4
SUBPIXEL = 1 << SUBPIXEL_BITS
# The quantiles (per cent) at which the tone curves are pinned.
TONE_AT = (0.1, 2, 10, 25, 50, 75, 90, 98, 99.9)
DEVELOPMENT_ROUNDS = 6  # spectrum and tone disturb each other a little; alternating settles in a few rounds
HAZE = 0.5  # contrast of the slow haze beside that of the ice, before development
LEAST_HAZE = 0.3  # share of the slowest band that is left to haze where lighting would take all of it


@dataclass(frozen=True)
class Target:
    """What a texture must measure like: statistics of the photograph it stands in for.

    ``tones`` are the brightness quantiles ``TONE_AT`` and ``bands`` the standard deviation in each band of
    ``BAND_EDGES``, both for R, G and B.  ``light`` is the rise of brightness from the left to the right
    edge, from the top to the bottom edge, and from the centre to the corners.
    """

    tones: tuple[tuple[float, ...], ...]
    bands: tuple[tuple[float, ...], ...]
    light: tuple[float, float, float]


# Measured on the photographs of the reference (github.com/hendrycks/robustness, ImageNet-C): frost1.png,
# frost2.png (frost3.png holds the same image), frost4.jpg and frost5.jpg, with ``numpy.percentile``,
# ``band_contrast`` and a least-squares fit of ``lighting``.
TARGETS: dict[str, Target] = {
    "sheet": Target(
        tones=(
            (24, 34, 46, 57, 74, 95, 115, 142, 169),
            (111, 119, 128, 137, 148, 160, 171, 185, 205),
            (129, 137, 146, 155, 166, 176, 186, 197, 216),
        ),
        bands=(
            (10.3, 8.7, 5.5, 4.4, 5.2, 7.1, 8.2, 18.6),
            (6.0, 5.2, 3.4, 2.8, 3.5, 4.3, 5.1, 11.4),
            (5.4, 4.9, 3.3, 2.8, 3.5, 4.0, 5.4, 10.3),
        ),
        light=(1, -13, 7),
    ),
    "needles": Target(
        tones=(
            (104, 147, 173, 189, 204, 216, 225, 237, 248),
            (104, 150, 176, 193, 209, 221, 230, 241, 252),
            (109, 157, 184, 202, 218, 231, 240, 248, 253),
        ),
        bands=(
            (7.0, 7.5, 7.0, 6.4, 5.1, 4.2, 4.2, 14.2),
            (7.0, 7.5, 7.1, 6.5, 5.1, 4.1, 4.0, 15.2),
            (7.0, 7.5, 7.3, 6.7, 5.3, 4.5, 3.9, 15.6),
        ),
        light=(-23, -42, 18),
    ),
    "rosettes": Target(
        tones=(
            (41, 79, 102, 120, 138, 155, 171, 203, 244),
            (53, 93, 118, 135, 153, 170, 186, 218, 255),
            (60, 102, 129, 147, 165, 183, 201, 234, 255),
        ),
        bands=(
            (12.1, 11.9, 9.4, 7.5, 5.2, 3.7, 3.3, 18.1),
            (12.0, 11.8, 9.4, 7.6, 5.3, 3.7, 3.5, 18.1),
            (12.0, 12.0, 10.0, 8.3, 5.8, 4.2, 3.8, 19.3),
        ),
        light=(-1, -23, -43),
    ),
    "ferns": Target(
        tones=(
            (24, 39, 59, 79, 107, 140, 174, 219, 252),
            (35, 50, 70, 91, 119, 151, 183, 225, 255),
            (45, 62, 83, 104, 131, 161, 192, 231, 255),
        ),
        bands=(
            (14.8, 14.2, 14.3, 14.3, 14.1, 10.4, 7.2, 28.0),
            (14.8, 14.2, 14.2, 14.0, 13.7, 10.1, 7.0, 26.7),
            (14.8, 14.2, 13.9, 13.4, 13.1, 9.6, 6.7, 25.1),
        ),
        light=(-1, -73, 65),
    ),
}


# --- Measuring and shaping the spectrum ---------------------------------------------------------------


def frequencies(shape: tuple[int, ...]) -> np.ndarray:
    """Give the frequency, in cycles per pixel, of every coefficient of a cosine transform."""
    rows, cols = np.ogrid[: shape[0], : shape[1]]
    return np.hypot(rows / (2 * shape[0]), cols / (2 * shape[1]))


def band_contrast(field: np.ndarray) -> np.ndarray:
    """Measure the standard deviation of a field in each band of ``BAND_EDGES``."""
    power = dctn(field - field.mean(), norm="ortho") ** 2 / field.size
    band = np.digitize(frequencies(field.shape), BAND_EDGES[:-1][::-1])
    sums = np.bincount(band.ravel(), power.ravel(), len(BAND_EDGES))
    return np.sqrt(sums[::-1])


def with_bands(field: np.ndarray, wanted: tuple[float, ...]) -> np.ndarray:
    """Change the contrast in each band to the wanted one; gains run smoothly from band to band."""
    gain = np.asarray(wanted) / np.maximum(band_contrast(field), 1e-9)
    centres = np.log2(np.array([0.35, *(1.41 * e for e in BAND_EDGES[1:-1]), BAND_EDGES[-2] / 2]))
    f = np.log2(np.maximum(frequencies(field.shape), 1e-6))
    smooth = np.exp(np.interp(f, centres[::-1], np.log(gain)[::-1]))
    return field.mean() + idctn(dctn(field - field.mean(), norm="ortho") * smooth, norm="ortho")


def with_tones(field: np.ndarray, tones: tuple[float, ...]) -> np.ndarray:
    """Apply the monotone curve that moves the quantiles ``TONE_AT`` of a field to the wanted tones."""
    at = np.percentile(field, TONE_AT)
    at = np.maximum.accumulate(at + np.arange(len(at)) * 1e-6)
    slope_low = (tones[1] - tones[0]) / (at[1] - at[0])
    slope_high = (tones[-1] - tones[-2]) / (at[-1] - at[-2])
    curved = np.interp(field, at, tones)
    curved += np.minimum(field - at[0], 0) * slope_low + np.maximum(field - at[-1], 0) * slope_high
    return np.clip(curved, 0, 255)


# --- Building blocks ----------------------------------------------------------------------------------


def standard(field: np.ndarray) -> np.ndarray:
    """Shift and scale a field to mean 0 and standard deviation 1."""
    return (field - field.mean()) / field.std()


def softened(field: np.ndarray, strength: float) -> np.ndarray:
    """Compress the extremes of a field, so that no few spots hold most of its contrast."""
    return standard(np.tanh(strength * standard(field)))


def blur(field: np.ndarray, sigma: float) -> np.ndarray:
    """Blur with a Gaussian."""
    return cv2.GaussianBlur(field, (0, 0), sigma, borderType=cv2.BORDER_REFLECT)


def plasma(
    shape: tuple[int, int], rng: np.random.Generator, slope: float, coarsest: float = 1.0
) -> np.ndarray:
    """Make cloud-like noise whose amplitude falls as frequency to the power ``-slope``.

    Waves longer than the longer side divided by ``coarsest`` are no stronger than waves of that length.
    """
    f = np.maximum(frequencies(shape), coarsest / max(shape))
    spectrum = rng.standard_normal(shape) * f**-slope
    spectrum[0, 0] = 0
    return standard(idctn(spectrum, norm="ortho"))


def warped(field: np.ndarray, dx: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Pull every pixel from a place displaced by (``dx``, ``dy``)."""
    rows, cols = np.indices(field.shape, dtype=np.float32)
    map_x, map_y = (cols + dx).astype(np.float32), (rows + dy).astype(np.float32)
    return cv2.remap(field.astype(np.float32), map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


def relief(height: np.ndarray, angle: float) -> np.ndarray:
    """Shade a height field by light that falls in from ``angle``."""
    dy, dx = np.gradient(height)
    return dx * np.cos(angle) + dy * np.sin(angle)


def shrunk(field: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Average a drawing down to its final size."""
    return cv2.resize(field.astype(np.float32), shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float64)


def fading(shape: tuple[int, int], amount: float) -> np.ndarray:
    """Make a factor that is 1 in the centre and falls by ``amount`` towards the corners."""
    y, x = np.mgrid[-0.5 : 0.5 : shape[0] * 1j, -0.5 : 0.5 : shape[1] * 1j]
    return 1 - amount * 2 * (x * x + y * y)


def oversampled(shape: tuple[int, int]) -> tuple[int, int]:
    """Give the size at which ice is drawn."""
    return shape[0] * OVERSAMPLING, shape[1] * OVERSAMPLING


# --- Habit 1: crumpled sheet --------------------------------------------------------------------------


def sheet(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Grow a thin crumpled sheet of ice: sharp creases at many scales, lit from the side."""
    height = np.zeros(shape)
    for octave in range(5):
        size = 96 / 2**octave
        folds = [plasma(shape, rng, 2.2, max(shape) / size) for _ in range(3)]
        bend = 0.35 * size
        crease = -np.abs(warped(folds[0], bend * folds[1], bend * folds[2]))
        height += crease * size**0.9
    shine = standard(relief(blur(height, 0.6), rng.uniform(0.9, 1.3)))
    patches = np.exp(0.25 * plasma(shape, rng, 1.5, 4))
    return standard(np.tanh(0.3 * shine) * patches) + 0.12 * rng.standard_normal(shape)


# --- Habit 2: needles ---------------------------------------------------------------------------------


def blade(
    canvas: np.ndarray, foot: np.ndarray, angle: float, length: float, width: float, level: float
) -> None:
    """Paint one pointed blade of ice: a lit flank, a shaded flank and a bright spine."""
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    tip, belly = foot + along * length, foot + along * length * 0.4
    side = level + 0.35 * np.sin(angle + 0.8)
    for sign, shade in ((1, side), (-1, 2 * level - side)):
        flank = np.array([foot, belly + sign * across * width, tip])
        cv2.fillPoly(
            canvas, [np.round(flank * SUBPIXEL).astype(np.int32)], float(shade), cv2.LINE_8, SUBPIXEL_BITS
        )
    ends = [tuple(int(v) for v in np.round(p * SUBPIXEL)) for p in (foot, tip)]
    cv2.line(canvas, ends[0], ends[1], float(level + 0.5), 1, cv2.LINE_8, SUBPIXEL_BITS)


def needles(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Grow sheaves of needles over each other, each sheaf fanning out from its own seed."""
    big = oversampled(shape)
    canvas = (0.3 * plasma(big, rng, 1.2, 16)).astype(np.float32)
    grain = plasma(big, rng, 0.6, 200)
    for sheaf in range(420):
        seed = rng.random(2) * (big[1], big[0])
        heading, spread = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 0.5)
        size = rng.uniform(30, 150) * (1.2 if sheaf < 200 else 0.8)
        tone = 0.45 * rng.standard_normal()
        for _ in range(rng.integers(4, 16)):
            angle = heading + spread * rng.standard_normal()
            foot = seed + rng.standard_normal(2) * 0.12 * size
            level = tone + 0.45 * rng.standard_normal()
            blade(canvas, foot, angle, size * rng.uniform(0.5, 1.3), rng.uniform(1.0, 5.0), level)
    cracks = np.minimum(standard(blur(canvas, 1.0) - blur(canvas, 6.0)), 0.6)
    ice = standard(canvas.astype(np.float64)) + 0.5 * cracks + 0.25 * grain
    clear = np.exp(0.2 * plasma(big, rng, 1.6, 5))
    return softened(shrunk(ice * clear, shape), 0.45)


# --- Habit 3: rosettes and frozen drops ---------------------------------------------------------------


def dot(canvas: np.ndarray, x: float, y: float, radius: float, level: float) -> None:
    """Paint a filled circle."""
    centre = (int(SUBPIXEL * x), int(SUBPIXEL * y))
    cv2.circle(canvas, centre, int(SUBPIXEL * radius), float(level), -1, cv2.LINE_8, SUBPIXEL_BITS)


def drops(shape: tuple[int, int], rng: np.random.Generator, count: int) -> np.ndarray:
    """Scatter frozen drops, each with a glint; most are threaded on vertical runs, some on level ones."""
    canvas = np.zeros(shape, np.float32)
    runs_x = rng.random(90) * shape[1]
    runs_y = rng.random(40) * shape[0]
    for k in range(count):
        x, y = rng.random(2) * (shape[1], shape[0])
        if k % 10 < 6:
            x = rng.choice(runs_x) + 2.5 * rng.standard_normal()
        elif k % 10 < 8:
            y = rng.choice(runs_y) + 2.5 * rng.standard_normal()
        radius = rng.uniform(1.2, 2.5) * (2 if k % 7 == 0 else 1)
        dot(canvas, x, y, radius, rng.uniform(-1.6, 0.3))
        dot(canvas, x - 0.3 * radius, y - 0.4 * radius, 0.5625 * radius, rng.uniform(0.2, 1.3))
    return canvas


def rosettes(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Grow leaf-shaped blades in rosettes, among runs of frozen drops."""
    big = oversampled(shape)
    leaves = np.full(big, -1.2, np.float32)
    for _ in range(900):
        seed = rng.random(2) * (big[1], big[0])
        heading, size = rng.uniform(0, 2 * np.pi), rng.uniform(12, 64)
        for angle in heading + np.arange(rng.integers(5, 12)) * rng.uniform(0.2, 0.5):
            level = 0.8 * rng.standard_normal()
            blade(leaves, seed, angle, size * rng.uniform(0.6, 1.2), size * rng.uniform(0.05, 0.12), level)
    rime = standard(np.abs(plasma(big, rng, 1.5, big[1] / 14)))
    beads = standard(drops(big, rng, 26000)) + 0.5 * rime
    show = 1 / (1 + np.exp(-4 * (plasma(big, rng, 1.6, 4) - 0.3)))
    ice = 2.2 * show * standard(leaves) + (1 - 0.7 * show) * beads
    return softened(shrunk(ice, shape), 0.4) * fading(shape, 0.5) + 0.05 * rng.standard_normal(shape)


# --- Habit 4: ferns -----------------------------------------------------------------------------------


@dataclass
class Tips:
    """The growing ends of all ice branches, one entry of each array per end.

    ``order`` is 0 for a stem, 1 for a branch, 2 for a barb; an end grows one step at a time until its
    ``age`` reaches its ``life``, and ``bend`` turns it at every step.
    """

    x: np.ndarray
    y: np.ndarray
    angle: np.ndarray
    bend: np.ndarray
    order: np.ndarray
    age: np.ndarray
    life: np.ndarray
    level: np.ndarray
    name: np.ndarray
    parent: np.ndarray

    def select(self, chosen: np.ndarray) -> Tips:
        """Keep some of the ends."""
        return Tips(*(value[chosen] for value in vars(self).values()))

    def join(self, other: Tips) -> Tips:
        """Put two sets of ends together."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Tips(*(np.concatenate(pair) for pair in pairs))


FERN_ANGLE = np.radians(57)  # ice branches near 60 degrees; a little less looks like growth on a cold pane
FERN_SPACING = (10, 6)  # steps between the side branches of a stem, and of a branch
FERN_SHARE = (0.42, 0.35)  # length of a side branch, as a share of what its stem or branch has yet to grow
FERN_STRENGTH = (1.3, 1.0, 0.75)  # brightness of stem, branch and barb
SHORTEST_BRANCH = 2  # steps; shorter ones would be dots
FREE_STEPS = 3  # a young branch may cross its neighbours' feet for so many steps


def stems(shape: tuple[int, int], rng: np.random.Generator, seeds: int, reach: tuple[float, float]) -> Tips:
    """Place seed crystals and start a few stems from each, in random directions."""
    arms = rng.integers(1, 5, seeds)
    n = int(arms.sum())
    owner = np.repeat(np.arange(seeds), arms)
    x, y = rng.random(seeds) * shape[1], rng.random(seeds) * shape[0]
    heading = rng.uniform(0, 2 * np.pi, seeds)[owner] + rng.uniform(-1.3, 1.3, n)
    zero = np.zeros(n, int)
    return Tips(
        x=x[owner],
        y=y[owner],
        angle=heading,
        bend=0.006 * rng.standard_normal(n),
        order=zero,
        age=zero,
        life=rng.uniform(*reach, n),
        level=np.exp(0.25 * rng.standard_normal(seeds))[owner],
        name=np.arange(1, n + 1),
        parent=np.arange(1, n + 1),
    )


def side_branches(tips: Tips, rng: np.random.Generator, first_name: int) -> Tips:
    """Let every end that has come to a branching point put out a branch on either side."""
    spacing = np.array([*FERN_SPACING, 10**9])[tips.order]
    parents = tips.select((tips.age > 0) & (tips.age % spacing == 0))
    both = parents.join(parents)
    n = len(both.x)
    sign = np.repeat([1.0, -1.0], n // 2)
    both.angle = both.angle + sign * (FERN_ANGLE + 0.08 * rng.standard_normal(n))
    share = np.array([*FERN_SHARE, 0.0])[both.order]
    both.life = share * (both.life - both.age) * rng.uniform(0.5, 1.3, n)
    both.bend = 0.01 * rng.standard_normal(n)
    both.order, both.age, both.parent = both.order + 1, np.zeros(n, int), both.name
    young = both.select(both.life >= SHORTEST_BRANCH)
    young.name = first_name + np.arange(len(young.x))
    return young


def grow_ferns(
    shape: tuple[int, int], rng: np.random.Generator, waves: tuple[tuple[int, float, float], ...]
) -> np.ndarray:
    """Grow ferns, wave after wave; an end stops where it would run into other ice.

    A wave is the number of its seed crystals and the shortest and longest reach of a stem, in pixels.
    """
    ice = np.zeros(shape, np.float32)
    owner = np.zeros(shape, np.int64)
    names = 1
    for seeds, shortest, longest in waves:
        tips = stems(shape, rng, seeds, (shortest, longest))
        tips.name, tips.parent = tips.name + names, tips.parent + names
        names += len(tips.x) + 1
        while len(tips.x):
            tips.angle = tips.angle + tips.bend
            tips.x, tips.y = tips.x + np.cos(tips.angle), tips.y + np.sin(tips.angle)
            tips.age = tips.age + 1
            inside = (tips.x >= 0) & (tips.y >= 0) & (tips.x < shape[1]) & (tips.y < shape[0])
            tips = tips.select(inside & (tips.age <= tips.life))
            col, row = tips.x.astype(int), tips.y.astype(int)
            met = owner[row, col]
            free = (met == 0) | (met == tips.name) | (met == tips.parent) | (tips.age < FREE_STEPS)
            tips, row, col = tips.select(free), row[free], col[free]
            owner[row, col] = tips.name
            strength = np.array(FERN_STRENGTH)[tips.order] * tips.level
            np.maximum.at(ice, (row, col), strength.astype(np.float32))
            young = side_branches(tips, rng, names)
            names += len(young.x)
            tips = tips.join(young)
    return ice


def ferns(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Grow feathery ferns on a dark pane, the last ones filling the gaps between the first."""
    big = oversampled(shape)
    ice = grow_ferns(big, rng, ((120, 90, 280), (260, 40, 180), (900, 15, 90)))
    body = blur(ice, 5.0)
    lit = relief(blur(ice, 1.2), -2.0)
    image = standard(blur(ice, 0.7)) + 0.9 * standard(body) + 0.35 * standard(lit)
    fog = 1 / (1 + np.exp(-2.5 * plasma(big, rng, 1.7, 3)))
    pane = shrunk(image * (0.7 + 0.6 * fog) * fading(big, 0.3), shape)
    return softened(pane, 0.5) + 0.08 * rng.standard_normal(shape)


# --- Light and development ----------------------------------------------------------------------------


def lighting(shape: tuple[int, int], light: tuple[float, float, float]) -> np.ndarray:
    """Make the slow fall of light: left to right, top to bottom, centre to corners."""
    y, x = np.mgrid[-0.5 : 0.5 : shape[0] * 1j, -0.5 : 0.5 : shape[1] * 1j]
    return light[0] * x + light[1] * y + light[2] * 2 * (x * x + y * y - 1 / 6)


def develop(ice: np.ndarray, target: Target, tint: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Bring raw ice to the light, the spectrum and the tones of a target, giving an RGB image."""
    lit = lighting(ice.shape, target.light)
    haze = HAZE * plasma(ice.shape, rng, 1.8, 1.5)
    channels = []
    for colour, tones, bands in zip(tint, target.tones, target.bands, strict=True):
        # The lighting takes up part of the slowest band; the haze gets what is left, but never nothing.
        spare = max(np.sqrt(max(bands[-1] ** 2 - lit.var(), 0)), LEAST_HAZE * bands[-1])
        field = with_bands(ice + haze + colour, (*bands[:-1], spare)) + lit
        for _ in range(DEVELOPMENT_ROUNDS):
            field = with_bands(with_tones(field, tones), bands)
        channels.append(np.clip(field, 0, 255))
    return np.round(np.stack(channels, axis=2)).astype(np.uint8)


@dataclass(frozen=True)
class Recipe:
    """How one texture is grown: its size (rows, columns), habit, target, seed and colour play."""

    shape: tuple[int, int]
    habit: Callable[[tuple[int, int], np.random.Generator], np.ndarray]
    target: str
    seed: int
    tint: tuple[float, float, float] = (0.0, 0.0, 0.0)


# Sizes are those of the photographs, because the crop's place is drawn from them.  The second and third
# photograph hold the same image; ours share a target and differ in the seed.
RECIPES = {
    "frost1": Recipe((600, 900), sheet, "sheet", 131, (0.8, 0.0, -0.45)),
    "frost2": Recipe((315, 560), needles, "needles", 112),
    "frost3": Recipe((315, 560), needles, "needles", 153),
    "frost4": Recipe((350, 527), rosettes, "rosettes", 104),
    "frost5": Recipe((495, 660), ferns, "ferns", 125),
}


def grow(recipe: Recipe) -> np.ndarray:
    """Grow one texture as an RGB image.

    A second growth of the same habit carries the colour play: it enters each channel by ``tint``.
    """
    rng = np.random.default_rng(recipe.seed)
    ice = recipe.habit(recipe.shape, rng)
    hue = recipe.habit(recipe.shape, rng) + HAZE * plasma(recipe.shape, rng, 1.8, 1.5)
    tint = np.multiply.outer(np.array(recipe.tint), hue)
    return develop(ice, TARGETS[recipe.target], tint, rng)


def main() -> None:
    """Grow all textures, or those named, and write them."""
    parser = argparse.ArgumentParser(description="Grow the frost textures.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    parser.add_argument("names", nargs="*", default=list(RECIPES), help="textures to grow (all)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        path = args.out / f"{name}.jpg"
        Image.fromarray(grow(RECIPES[name])).save(path, quality=JPEG_QUALITY, subsampling=0, optimize=True)
        print(f"{path} {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
