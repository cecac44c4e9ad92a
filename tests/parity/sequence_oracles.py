"""Slow, plain oracles of the reference's perturbation sequences, written from its published facts.

Each yields whole frames of the image it is given; whoever crops, crops the frames. Random ones draw in
the reference's order by methods of `rng`, so that a test can replay other fields. H and W are the sides
of the image. The parameters are those of golden/sequences.csv, in its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from PIL import Image

from tests.parity import oracles
from tests.parity.oracles import BILINEAR_STEPS, WATER, truncated

Frames = Iterator[np.ndarray]


def affine(
    image: np.ndarray,
    *,
    degrees: float = 0.0,
    shear_degrees: float = 0.0,
    scale: float = 1.0,
    shift: float = 0.0,
    nearest: bool = False,
) -> np.ndarray:
    """Pillow's affine transform about the pixel index (W/2, H/2): rotation and shear, scale, shift right."""
    height, width = image.shape[:2]
    turn, lean = math.radians(degrees), math.radians(degrees) + math.radians(shear_degrees)
    # The inverse of scale * [[cos turn, -sin lean], [sin turn, cos lean]], in the reference's order: where
    # a place falls between two pixels, the last bit may decide about a level.
    size = 1 / scale / (math.cos(lean) * math.cos(turn) + math.sin(lean) * math.sin(turn))
    rows = [[size * math.cos(lean), size * math.sin(lean)], [size * -math.sin(turn), size * math.cos(turn)]]
    # Pillow's coordinates count from the corner of a pixel, so that index i is i + 1/2.
    centre = (width / 2 + 0.5, height / 2 + 0.5)
    data: list[float] = []
    for (across, down), fixed in zip(rows, centre, strict=True):
        data += [across, down, across * (-centre[0] - shift) + down * -centre[1] + fixed]
    filter_ = Image.Resampling.NEAREST if nearest else Image.Resampling.BILINEAR
    return np.asarray(
        Image.fromarray(image).transform((width, height), Image.Transform.AFFINE, data, filter_)
    )


def perspective(image: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """OpenCV 3.4's bilinear warpPerspective of bytes by a source-to-output matrix, border black."""
    height, width = image.shape[:2]
    inverse = np.linalg.inv(matrix)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    across, down, depth = (row[0] * x + row[1] * y + row[2] for row in inverse)
    fixed_x = np.rint(across * (BILINEAR_STEPS / depth)).astype(int)
    fixed_y = np.rint(down * (BILINEAR_STEPS / depth)).astype(int)
    left, top = fixed_x // BILINEAR_STEPS, fixed_y // BILINEAR_STEPS
    right, low = (fixed_x % BILINEAR_STEPS)[..., None], (fixed_y % BILINEAR_STEPS)[..., None]
    total = np.zeros(image.shape, int)
    for step_y, weight_y in ((0, BILINEAR_STEPS - low), (1, low)):
        for step_x, weight_x in ((0, BILINEAR_STEPS - right), (1, right)):
            row, column = top + step_y, left + step_x
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            seen = image[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
            total += np.where(inside[..., None], seen, 0) * weight_y * weight_x
    return ((total + BILINEAR_STEPS**2 // 2) // BILINEAR_STEPS**2).astype(np.uint8)


def tilt_matrix(width: int, height: int, degrees: float) -> np.ndarray:
    """From the source to the output: turned about y, then about x, and seen from the diagonal's length."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    focus = math.hypot(width, height)
    lift = np.array([[1, 0, -width / 2], [0, 1, -height / 2], [0, 0, 1], [0, 0, 1]])
    about_x = np.array([[1, 0, 0, 0], [0, cosine, -sine, 0], [0, sine, cosine, 0], [0, 0, 0, 1]])
    about_y = np.array([[cosine, 0, -sine, 0], [0, 1, 0, 0], [sine, 0, cosine, 0], [0, 0, 0, 1]])
    away = np.eye(4)
    away[2, 3] = focus
    project = np.array([[focus, 0, width / 2, 0], [0, focus, height / 2, 0], [0, 0, 1, 0]])
    return project @ away @ about_x @ about_y @ lift


def gaussian_noise(image: np.ndarray, rng: object, frames: int, sigma: float) -> Frames:
    """Draws randn(3, H, W) in float32 for every frame but the first."""
    yield image.copy()
    x = np.float32(image) / np.float32(255)
    for _ in range(1, frames):
        noise = np.transpose(rng.randn(3, *image.shape[:2]), (1, 2, 0))
        noisy = np.clip(x + noise * np.float32(sigma), 0, 1)
        yield (noisy * np.float32(255)).astype(np.uint8)


def shot_noise(image: np.ndarray, rng: np.random.RandomState, frames: int, rate: float) -> Frames:
    """Draws poisson(lam) with lam = rate * image / 255 for every frame but the first."""
    yield image.copy()
    for _ in range(1, frames):
        yield oracles.shot_noise(image, rng, rate)


def speckle_noise(image: np.ndarray, rng: np.random.RandomState, frames: int, sigma: float) -> Frames:
    """Draws normal(scale=sigma, size=(H, W, 3)) for every frame but the first."""
    yield image.copy()
    for _ in range(1, frames):
        yield oracles.speckle_noise(image, rng, sigma)


def motion_blur(
    image: np.ndarray,
    rng: np.random.RandomState,
    frames: int,
    radius: float,
    sigma: float,
    step: float,
    level: float,
    *,
    floor: bool = False,
) -> Frames:
    """Draws nothing; `floor` is for newer ImageMagicks than the published sets'."""
    for i in range(frames):
        yield oracles.dragged(image, radius, sigma, step * (i - level), floor)


def zoom_blur(image: np.ndarray, rng: np.random.RandomState, frames: int, step: float) -> Frames:
    """Draws nothing."""
    total = np.zeros(image.shape, np.float32)
    for i in range(frames):
        total += affine(image, scale=1 + step * i) / np.float32(255)
        yield truncated(total / np.float32(i + 1))


def snow(
    image: np.ndarray,
    rng: np.random.RandomState,
    frames: int,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    mix: float,
    first: float,
    step: float,
    *,
    floor: bool = False,
) -> Frames:
    """Draws normal(size=(H, W), loc=loc, scale=scale), the flakes, once."""
    x = image / 255.0
    layer = oracles.magnified(rng.normal(loc=loc, scale=scale, size=x.shape[:2])[..., None], zoom)
    flakes = truncated(np.where(layer < threshold, 0, layer))
    grey = cv2.cvtColor(np.float32(x), cv2.COLOR_RGB2GRAY)[..., None]
    whitened = mix * x + (1 - mix) * np.maximum(x, grey * 1.5 + 0.5)
    for i in range(frames):
        fallen = oracles.dragged(flakes, radius, sigma, first + step * i, floor) / 255.0
        yield truncated(whitened + fallen + fallen[::-1, ::-1])


def brightness(
    image: np.ndarray, rng: np.random.RandomState, frames: int, step: float, still: float
) -> Frames:
    """Draws nothing."""
    hue, saturation, value = oracles.to_hsv(image / 255.0)
    for i in range(frames):
        raised = np.clip(value + step * (i - still), 0, 1)
        yield truncated(oracles.from_hsv(hue, saturation, raised))


def translate(
    image: np.ndarray, rng: np.random.RandomState, frames: int, step: float, still: float
) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield affine(image, shift=step * (i - still), nearest=True)


def rotate(image: np.ndarray, rng: np.random.RandomState, frames: int, step: float, still: float) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield affine(image, degrees=step * (i - still))


def shear(image: np.ndarray, rng: np.random.RandomState, frames: int, step: float, still: float) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield affine(image, shear_degrees=step * (i - still))


def scale(image: np.ndarray, rng: np.random.RandomState, frames: int, first: float, step: float) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield affine(image, scale=(first + step * i) / 100)


def tilt(image: np.ndarray, rng: np.random.RandomState, frames: int, step: float, still: float) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield perspective(image, tilt_matrix(image.shape[1], image.shape[0], step * (i - still)))


def gaussian_blur(
    image: np.ndarray, rng: np.random.RandomState, frames: int, first: float, step: float, truncate: float
) -> Frames:
    """Draws nothing."""
    for i in range(frames):
        yield truncated(oracles.blurred(image / 255.0, first + step * i, truncate=truncate))


def spatter(
    image: np.ndarray,
    rng: np.random.RandomState,
    frames: int,
    loc: float,
    scale: float,
    sigma: float,
    threshold: float,
    strength: float,
    *drift: float,
) -> Frames:
    """Draws normal(size=(H, W), loc=loc, scale=scale), the drops, once.

    `drift` is what a row gives of itself to the row above, to itself, and to the two rows below.
    """
    x = np.float32(image / 255.0)
    layer = oracles.blurred(rng.normal(loc=loc, scale=scale, size=x.shape[:2]), sigma)
    layer = np.where(layer < threshold, 0, layer)
    for _ in range(frames):
        drops = (layer * 255).astype(int).astype(np.uint8)
        mask = drops * oracles.rims(drops).astype(np.float32)
        mask = (mask / mask.max() * np.float32(strength))[..., None]
        yield truncated(x + mask * np.float32(np.array(WATER) / 255))
        above_and_below = np.pad(layer, ((2, 1), (0, 0)))
        rows = len(layer)
        layer = sum(
            share * above_and_below[start : start + rows]
            for share, start in zip(drift, (3, 2, 1, 0), strict=True)
        )
