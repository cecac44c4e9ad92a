"""Slow, plain oracles of the reference corruptions, written from its published facts.

Random ones draw from the legacy NumPy generator in the reference's order, so that they can be checked
against its own outputs. They draw only by methods of `rng`, so that a test can replay other fields.
In the docstrings H and W are the sides of the image and S its side where it must be square.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage

BILINEAR_STEPS = 32  # OpenCV 3.4 warps on a grid of 1/32 pixel
CANNY_THRESHOLDS = (50, 150)
LONGEST_DISTANCE = 20
WATER = (175, 238, 238)
MUD = (63, 42, 20)


def truncated(values: np.ndarray) -> np.ndarray:
    """Clip to 0..1, scale to 0..255, truncate."""
    return (np.clip(values, 0, 1) * 255).astype(np.uint8)


def bell(sigma: float, taps: Sequence[int]) -> np.ndarray:
    """Gaussian weights that sum to one; math.exp, because np.exp depends on the processor."""
    weights = np.array([math.exp(-0.5 / sigma**2 * tap**2) for tap in taps])
    return weights / weights.sum()


def blurred(values: np.ndarray, sigma: float, mode: str = "nearest", truncate: float = 4) -> np.ndarray:
    """Gaussian blur of the first two axes, cut at `truncate` sigmas."""
    radius = int(truncate * sigma + 0.5)
    if radius == 0:
        return values
    weights = bell(sigma, range(-radius, radius + 1))
    down = ndimage.correlate1d(values, weights, axis=0, mode=mode)
    return ndimage.correlate1d(down, weights, axis=1, mode=mode)


def dragged(image: np.ndarray, radius: float, sigma: float, angle: float, floor: bool) -> np.ndarray:
    """One-sided motion blur of uint8 by `angle` degrees, edges repeated, in 16-bit quanta."""
    height, width = image.shape[:2]
    taps = range(2 * math.ceil(radius) + 1)
    total = np.zeros(image.shape)
    for tap, weight in zip(taps, bell(sigma, taps), strict=True):
        right = math.ceil(tap * math.cos(math.radians(angle)) - 0.5)
        down = math.ceil(tap * math.sin(math.radians(angle)) - 0.5)
        rows = np.clip(np.arange(height) + down, 0, height - 1)
        columns = np.clip(np.arange(width) + right, 0, width - 1)
        total += weight * image[np.ix_(rows, columns)]
    quanta = np.floor(257 * total + 0.5)
    return np.floor(quanta / 257 + (0 if floor else 0.5)).astype(np.uint8)


def magnified(values: np.ndarray, factor: float) -> np.ndarray:
    """The middle (last axis: channels) zoomed linearly, corners aligned, to the full size.

    The reference knows squares only; other shapes go by the same rule along each axis.
    """
    middle = values
    for axis, side in enumerate(values.shape[:2]):
        part = math.ceil(side / factor)
        middle = middle.take(range((side - part) // 2, (side - part) // 2 + part), axis)
    # "nearest" matters at sizes nobody published: the last place may be rounded to just outside the image.
    large = ndimage.zoom(middle, (factor, factor, 1), order=1, mode="nearest")
    for axis, side in enumerate(values.shape[:2]):
        trim = (large.shape[axis] - side) // 2
        large = large.take(range(trim, trim + side), axis)
    return large


def to_hsv(rgb: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hue, saturation and value, each 0..1; grey has hue and saturation 0."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(axis=2)
    spread = value - rgb.min(axis=2)
    grey = spread == 0
    divisor = np.where(grey, 1, spread)
    # Where two channels share the maximum the later one decides.
    sextant = np.select(
        [blue == value, green == value],
        [4 + (red - green) / divisor, 2 + (blue - red) / divisor],
        (green - blue) / divisor,
    )
    hue = np.where(grey, 0, sextant / 6 % 1)
    saturation = np.where(grey, 0, spread / np.where(grey, 1, value))
    return hue, saturation, value


def from_hsv(hue: np.ndarray, saturation: np.ndarray, value: np.ndarray) -> np.ndarray:
    sextant = np.floor(hue * 6)
    part = hue * 6 - sextant
    low = value * (1 - saturation)
    falling = value * (1 - part * saturation)
    rising = value * (1 - (1 - part) * saturation)
    cycle = sextant.astype(int) % 6
    red = np.choose(cycle, [value, falling, low, low, rising, value])
    green = np.choose(cycle, [rising, value, value, falling, low, low])
    blue = np.choose(cycle, [low, low, rising, value, value, falling])
    return np.stack([red, green, blue], axis=2)


def plasma(rng: np.random.RandomState, size: int, decay: float) -> np.ndarray:
    """Diamond-square clouds on a torus of `size` (a power of two), scaled to 0..1."""
    clouds = np.zeros((size, size))
    step, amplitude = size, 100.0

    def fill(first_row: int, first_column: int, neighbours: Sequence[tuple[int, int]]) -> None:
        rows, columns = np.arange(first_row, size, step), np.arange(first_column, size, step)
        total = sum(clouds[np.ix_((rows + r) % size, (columns + c) % size)] for r, c in neighbours)
        noise = rng.uniform(-amplitude, amplitude, size=(len(rows), len(columns)))
        clouds[np.ix_(rows, columns)] = total / 4 + amplitude * noise

    while step >= 2:
        half = step // 2
        diagonal = [(-half, -half), (half, -half), (-half, half), (half, half)]
        straight = [(-half, 0), (half, 0), (0, -half), (0, half)]
        fill(half, half, diagonal)
        fill(0, half, straight)
        fill(half, 0, straight)
        step, amplitude = half, amplitude / decay
    clouds -= clouds.min()
    return clouds / clouds.max()


def warped(image: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """OpenCV 3.4's bilinear warpAffine of a float32 image, border REFLECT_101."""
    height, width = image.shape[:2]
    (a, b, c), (d, e, f) = matrix
    scale = 1 / (a * e - b * d)
    inverse = np.array([[e * scale, -b * scale], [-d * scale, a * scale]])
    shift = -inverse @ [c, f]

    def coordinates(row: np.ndarray, offset: float) -> tuple[np.ndarray, np.ndarray]:
        across = np.rint(row[0] * np.arange(width) * 1024).astype(int)
        down = np.rint((row[1] * np.arange(height) + offset) * 1024).astype(int)
        fixed = (across[None, :] + down[:, None] + 16) >> 5
        fraction = (fixed % BILINEAR_STEPS / BILINEAR_STEPS).astype(np.float32)
        return fixed // BILINEAR_STEPS, fraction[..., None]

    def reflected(index: np.ndarray, side: int) -> np.ndarray:
        index = index % (2 * side - 2)
        return np.minimum(index, 2 * side - 2 - index)

    x, right = coordinates(inverse[0], shift[0])
    y, low = coordinates(inverse[1], shift[1])
    top, bottom = reflected(y, height), reflected(y + 1, height)
    near, far = reflected(x, width), reflected(x + 1, width)
    return (
        image[top, near] * ((1 - low) * (1 - right))
        + image[top, far] * ((1 - low) * right)
        + image[bottom, near] * (low * (1 - right))
        + image[bottom, far] * (low * right)
    )


def gaussian_noise(image: np.ndarray, rng: np.random.RandomState, sigma: float) -> np.ndarray:
    """Draws normal(scale=sigma, size=(H, W, 3))."""
    x = image / 255.0
    return truncated(x + rng.normal(size=x.shape, scale=sigma))


def shot_noise(image: np.ndarray, rng: np.random.RandomState, rate: float) -> np.ndarray:
    """Draws poisson(lam) with lam = rate * image / 255 of shape (H, W, 3)."""
    x = image / 255.0
    return truncated(rng.poisson(x * rate) / rate)


def impulse_noise(image: np.ndarray, rng: np.random.RandomState, amount: float) -> np.ndarray:
    """Draws random_sample(size=(H, W, 3)) for what is replaced, then the same for salt (below 1/2)."""
    x = image / 255.0
    replaced = rng.random_sample(size=x.shape) < amount
    salt = rng.random_sample(size=x.shape) < 0.5
    return truncated(np.where(replaced, salt, x))


def speckle_noise(image: np.ndarray, rng: np.random.RandomState, sigma: float) -> np.ndarray:
    """Draws normal(scale=sigma, size=(H, W, 3))."""
    x = image / 255.0
    return truncated(x + x * rng.normal(size=x.shape, scale=sigma))


def gaussian_blur(image: np.ndarray, rng: np.random.RandomState, sigma: float) -> np.ndarray:
    """Draws nothing."""
    return truncated(blurred(image / 255.0, sigma))


def glass_blur(
    image: np.ndarray, rng: np.random.RandomState, sigma: float, delta: float, iterations: float
) -> np.ndarray:
    """Draws, per pass, randint(-delta, delta, size=((H-2*delta)*(W-2*delta), 2)), columns (dx, dy)."""
    delta = int(delta)
    pixels = (blurred(image / 255.0, sigma) * 255).astype(np.uint8)
    rows = range(image.shape[0] - delta, delta, -1)
    columns = range(image.shape[1] - delta, delta, -1)
    for _ in range(int(iterations)):
        offsets = iter(rng.randint(-delta, delta, size=(len(rows) * len(columns), 2)).tolist())
        for row in rows:
            for column in columns:
                dx, dy = next(offsets)
                # The reference means to swap, but only this half of the swap happens.
                pixels[row, column] = pixels[row + dy, column + dx]
    return truncated(blurred(pixels / 255.0, sigma))


def defocus_blur(image: np.ndarray, rng: np.random.RandomState, radius: float, softness: float) -> np.ndarray:
    """Draws nothing."""
    grid = np.arange(-8, 9) if radius <= 8 else np.arange(-radius, radius + 1)
    side = 3 if radius <= 8 else 5
    across, down = np.meshgrid(grid, grid)
    disc = np.array(across**2 + down**2 <= radius**2, dtype=np.float32)
    disc /= disc.sum()
    kernel = cv2.GaussianBlur(disc, ksize=(side, side), sigmaX=softness)
    x = image / 255.0
    return truncated(np.stack([cv2.filter2D(x[:, :, c], -1, kernel) for c in range(3)], axis=2))


def motion_blur(
    image: np.ndarray, rng: np.random.RandomState, radius: float, sigma: float, *, floor: bool = False
) -> np.ndarray:
    """Draws uniform(-45, 45), the angle; `floor` is for newer ImageMagicks than the published sets'."""
    return dragged(image, radius, sigma, rng.uniform(-45, 45), floor)


def zoom_blur(image: np.ndarray, rng: np.random.RandomState, end: float, step: float) -> np.ndarray:
    """Draws nothing."""
    x = (image / 255.0).astype(np.float32)
    factors = np.arange(1, end, step)
    total = np.zeros_like(x)
    for factor in factors:
        total += magnified(x, factor)
    return truncated((x + total) / (len(factors) + 1))


def snow(
    image: np.ndarray,
    rng: np.random.RandomState,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    mix: float,
    *,
    floor: bool = False,
) -> np.ndarray:
    """Draws normal(loc=loc, scale=scale, size=(S, S)), the flakes, then uniform(-135, -45), the angle."""
    x = (image / 255.0).astype(np.float32)
    layer = magnified(rng.normal(loc=loc, scale=scale, size=x.shape[:2])[..., None], zoom)
    layer = np.where(layer < threshold, 0, layer)
    layer = dragged(truncated(layer), radius, sigma, rng.uniform(-135, -45), floor) / 255.0
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    whitened = mix * x + (1 - mix) * np.maximum(x, grey * 1.5 + 0.5)
    return truncated(whitened + layer + layer[::-1, ::-1])


def frost(
    image: np.ndarray,
    rng: np.random.RandomState,
    keep: float,
    add: float,
    *,
    textures: Sequence[np.ndarray],
    scale: float = 1,
) -> np.ndarray:
    """Draws randint(5), the texture, then, h and w being its sides, randint(h - H) and randint(w - W)."""
    texture = textures[rng.randint(5)]
    if scale != 1:
        texture = cv2.resize(texture, (0, 0), fx=scale, fy=scale)
    height, width = image.shape[:2]
    top = rng.randint(texture.shape[0] - height)
    left = rng.randint(texture.shape[1] - width)
    mixed = keep * image + add * texture[top : top + height, left : left + width]
    return np.clip(mixed, 0, 255).astype(np.uint8)


def fog(image: np.ndarray, rng: np.random.RandomState, amount: float, decay: float) -> np.ndarray:
    """Draws thrice uniform(-w, w, size=(n, n)) for each n = 1, 2, 4 .. N/2 with w = 100 / decay**log2(n),
    where N is the least power of two that is not below S.
    """
    x = image / 255.0
    height, width = image.shape[:2]
    size = 1 << (max(height, width) - 1).bit_length()
    clouds = plasma(rng, size, decay)[:height, :width, None]
    return truncated((x + amount * clouds) * x.max() / (x.max() + amount))


def brightness(image: np.ndarray, rng: np.random.RandomState, amount: float) -> np.ndarray:
    """Draws nothing."""
    hue, saturation, value = to_hsv(image / 255.0)
    return truncated(from_hsv(hue, saturation, np.clip(value + amount, 0, 1)))


def contrast(image: np.ndarray, rng: np.random.RandomState, factor: float) -> np.ndarray:
    """Draws nothing."""
    x = image / 255.0
    mean = x.mean(axis=(0, 1), keepdims=True)
    return truncated((x - mean) * factor + mean)


def elastic_transform(
    image: np.ndarray, rng: np.random.RandomState, alpha: float, sigma: float, affine: float
) -> np.ndarray:
    """Draws uniform(-affine, affine, size=(3, 2)), columns (x, y), then uniform(-1, 1, size=(H, W)) for dx
    and the same again for dy.
    """
    x = (image / 255.0).astype(np.float32)
    height, width = x.shape[:2]
    middle, reach = [width // 2, height // 2], min(height, width) // 3
    anchors = np.float32([[reach, reach], [reach, -reach], [-reach, -reach]]) + np.float32(middle)
    moved = anchors + rng.uniform(-affine, affine, size=(3, 2)).astype(np.float32)
    x = warped(x, cv2.getAffineTransform(anchors, moved))

    def displacement() -> np.ndarray:
        field = rng.uniform(-1, 1, size=(height, width))
        return (blurred(field, sigma, "reflect", 3) * alpha).astype(np.float32)

    dx = displacement()
    dy = displacement()
    rows, columns = np.indices((height, width))
    places = [rows + dy, columns + dx]
    channels = [ndimage.map_coordinates(x[..., c], places, order=1, mode="reflect") for c in range(3)]
    return truncated(np.stack(channels, axis=2))


def pixelate(image: np.ndarray, rng: np.random.RandomState, factor: float) -> np.ndarray:
    """Draws nothing."""
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize((int(width * factor), int(height * factor)), Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(image: np.ndarray, rng: np.random.RandomState, quality: float) -> np.ndarray:
    """Draws nothing."""
    stored = io.BytesIO()
    Image.fromarray(image).save(stored, "JPEG", quality=int(quality))
    return np.asarray(Image.open(stored).convert("RGB"))


def saturate(image: np.ndarray, rng: np.random.RandomState, factor: float, offset: float) -> np.ndarray:
    """Draws nothing."""
    hue, saturation, value = to_hsv(image / 255.0)
    return truncated(from_hsv(hue, np.clip(saturation * factor + offset, 0, 1), value))


def spatter(
    image: np.ndarray,
    rng: np.random.RandomState,
    loc: float,
    scale: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: float,
) -> np.ndarray:
    """Draws normal(loc=loc, scale=scale, size=(H, W)), the drops."""
    x = (image / 255.0).astype(np.float32)
    layer = blurred(rng.normal(loc=loc, scale=scale, size=x.shape[:2]), sigma)
    layer = np.where(layer < threshold, 0, layer)
    if mud:
        mask = blurred((layer > threshold).astype(np.float32), strength)
        mask[mask < 0.8] = 0
        mask = mask[..., None]
        return truncated(x * (1 - mask) + np.float32(np.array(MUD) / 255) * mask)
    # Nothing clips the layer: the reference wraps 256 to 0. An empty layer gives 0 / 0, as there.
    drops = (layer * 255).astype(int).astype(np.uint8)
    mask = drops * rims(drops).astype(np.float32)
    mask = (mask / mask.max() * strength)[..., None]
    return truncated(x + mask * np.float32(np.array(WATER) / 255))


def rims(drops: np.ndarray) -> np.ndarray:
    """The light in drops of water, from the distance to their edges."""
    distance = cv2.distanceTransform(255 - cv2.Canny(drops, *CANNY_THRESHOLDS), cv2.DIST_L2, 5)
    near = cv2.blur(np.minimum(distance, LONGEST_DISTANCE), (3, 3)).astype(np.uint8)
    relief = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    return cv2.blur(cv2.filter2D(cv2.equalizeHist(near), cv2.CV_8U, relief), (3, 3))
