"""The corruptions of LAION-C and of ImageNet-C-bar, written out slowly from their published definitions.

An oracle takes an image, the drawn values by purpose, and the severity's parameters. It shares no code with
the units, except the random words of `core/seeding.py` and the tiles of `imaging/tiles.py`: the oracles of
`mosaic` and `stickers` check how tiles are chosen and placed, not the tiles.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from scipy.fft import ifft2
from scipy.ndimage import gaussian_filter, map_coordinates, rotate, zoom
from scipy.spatial.distance import cdist

from windtunnel.core.seeding import words
from windtunnel.imaging.tiles import sticker_tiles, tiles

Values = Mapping[str, Any]
Oracle = Callable[..., np.ndarray]


def truncated(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 255).astype(np.uint8)


def in_all_channels(plane: np.ndarray) -> np.ndarray:
    return np.repeat(plane[:, :, None], 3, axis=2)


def grid(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.mgrid[: image.shape[0], : image.shape[1]].astype(float)
    return rows, columns


# ImageNet-C-bar: `strength` is the published number from 0 to 10


def coloured_noise(
    key: int, height: int, width: int, power: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Random phases, mirrored through the middle of the centred spectrum, and scaled to deviation 1."""
    drawn = (words(key, height * (width // 2) + height // 2) >> np.uint64(11)) * 2.0**-53 * 2 * np.pi
    left = drawn[: height * (width // 2)].reshape(height, width // 2)
    middle = drawn[height * (width // 2) :]
    columns = [left, left[::-1, ::-1]]
    if width % 2:
        parts = [middle, [0.0], middle[::-1]] if height % 2 else [middle, middle[::-1]]
        columns.insert(1, np.concatenate(parts)[:, None])
    side = max(height, width)
    y, x = np.mgrid[:height, :width]
    distance = np.hypot((y - height / 2) * side / height, (x - width / 2) * side / width)
    spectrum = power(distance) * np.exp(1j * np.concatenate(columns, axis=1))
    noise = ifft2(np.roll(spectrum, (height // 2, width // 2), axis=(0, 1))).real
    return noise / np.std(noise)


def blue_noise_sample(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    noise = coloured_noise(values["phases"], *image.shape[:2], lambda distance: distance)
    return image * (noise > 3 * strength / 10 - 2.5)[:, :, None]


def brownish_noise(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    planes = [
        coloured_noise(values[f"{channel} phases"], *image.shape[:2], lambda distance: 1 / (distance**2 + 1))
        for channel in ("red", "green", "blue")
    ]
    return truncated(image + 64 * strength / 10 * np.stack(planes, axis=2))


def star_light(
    rows: np.ndarray, columns: np.ndarray, centre: tuple[float, float], lengths: np.ndarray, amount: float
) -> np.ndarray:
    down, across = rows - centre[0], columns - centre[1]
    place = (np.arctan2(across, down) + np.pi) / (2 * np.pi) * len(lengths)
    ray = np.floor(place).astype(int)
    between = place - ray
    first, second = lengths[ray % len(lengths)], lengths[(ray + 1) % len(lengths)]
    length = (1 - between) * first + between * second
    glow = (length**2 / (down**2 + across**2 + 1e-4)) ** ((100 - amount) / 50)
    return np.clip((1 - (between - 0.5) ** 2) * glow, 0, 1)[:, :, None]


def sparkles(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    radius = 0.1 * strength / 10 * min(image.shape[:2])
    out = image.astype(float)
    for star in range(5):
        lengths = np.maximum(1, radius + 25 / 100 * radius * np.array(values[f"lengths {star}"]))
        assert len(lengths) == values["rays"][star]
        light = star_light(*grid(image), (values["rows"][star], values["columns"][star]), lengths, 50)
        out = out + light * (255 - out)
    return truncated(out)


def inverse_sparkles(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    height, width = image.shape[:2]
    radius = min(height, width) / 4
    lengths = radius + 25 / 100 * radius * np.array(values["lengths"])
    centre = values["row"] * height, values["column"] * width
    light = star_light(*grid(image), centre, lengths, 100 - 65 * strength / 10)
    return truncated(255 + light * (image.astype(float) - 255))


def perlin(x: np.ndarray, y: np.ndarray, order: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    corners = {}
    for dx in (0, 1):
        for dy in (0, 1):
            gradient = gradients[order[(order[(x0 + dx) % 256] + (y0 + dy) % 256) % 256]]
            corners[dx, dy] = (x - x0 - dx) * gradient[..., 0] + (y - y0 - dy) * gradient[..., 1]
    sx, sy = (3 * t**2 - 2 * t**3 for t in (x - x0, y - y0))
    lower = (1 - sx) * corners[0, 0] + sx * corners[1, 0]
    upper = (1 - sx) * corners[0, 1] + sx * corners[1, 1]
    return 1.5 * ((1 - sy) * lower + sy * upper)


def perlin_noise(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    gradients = (np.array(values["gradients"]).reshape(256, 2) - 256) / 256
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    rows, columns = (axis / (32 * min(image.shape[:2]) / 224) for axis in grid(image))
    order = np.array(values["cells"])
    octaves = (1, 2, 4, 8, 16)
    turbulence = sum(np.abs(perlin(f * rows, f * columns, order, gradients)) / f for f in octaves)
    share = strength / 20
    cloud = np.clip(0.5 * turbulence + 0.5, 0, 1)
    return truncated((1 - share) * image + 255 * share * in_all_channels(cloud))


def plasma_noise(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    time, amount = values["time"], 64 * strength / 10
    y, x = (axis / (values["scale"] * min(image.shape[:2])) for axis in grid(image))
    for step in range(values["iterations"]):
        wave = (
            np.stack(
                [
                    np.cos(y * 1.93**step + time / 1.15**step),
                    np.sin(x * 1.93**step + time / 1.15**step),
                ]
            )
            / (2.25 - values["sharpness"]) ** step
        )
        x, y = x + wave[0] - 0.3 * wave[1], y + wave[1] + 0.3 * wave[0]
    noise = np.stack([np.sin(x - time), np.sin((x + y + np.sin(time)) / 2), np.sin(y + time)], axis=2)
    return truncated((1 - amount / 255) * image + amount * noise)


def single_frequency_greyscale(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    pair = [values["larger frequency"], values["smaller frequency"]]
    assert abs(pair[1]) <= abs(pair[0]) <= np.pi
    across, down = pair[::-1] if values["axis"] else pair
    rows, columns = grid(image)
    wave = np.sin(columns * across + rows * down + values["phase"])
    return truncated(image + 196 * strength / 10 * in_all_channels(wave))


def cocentric_sine_waves(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    rows, columns = grid(image)
    down, across = rows - values["row"], columns - values["column"]
    wave = np.sin(np.arctan2(across, down) * values["frequency"]) * values["amplitude"]
    noise = ((np.hypot(down, across) + wave) % values["ring width"]) / values["ring width"] - 0.5
    return truncated(image + 128 * strength / 10 * in_all_channels(noise))


def checkerboard_cutout(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    height, width = image.shape[:2]
    side = max(values["field"] * min(height, width), 1)
    count = int(4 * max(height, width) // side)
    chosen = np.reshape(values["fields"], (count, count)) < strength / 10
    out = image.copy()
    turn = np.exp(-1j * values["angle"])
    for y in range(height):
        for x in range(width):
            place = complex(y, x) * turn / side
            if int(place.real % 2) == int(place.imag % 2) and chosen[int(place.real), int(place.imag)]:
                out[y, x] = 128
    return out


def caustic_refraction(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    side = min(image.shape[:2])
    rows, columns = grid(image)
    y, x = ((axis / (values["size"] * side)) % 1 * 6.28318530718 - 250 for axis in (rows, columns))
    down, across, light = y, x, np.ones_like(y)
    for wave in range(1, 6):
        t = values["time"] * (1 - 3.5 / wave)
        down, across = (
            y + np.cos(t - down) + np.sin(t + across),
            x + np.sin(t - across) + np.cos(t + down),
        )
        light += 1 / np.hypot(y * 0.005 / np.sin(down + t), x * 0.005 / np.cos(across + t))
    caustics = np.clip(np.abs(1.17 - (light / 5) ** 1.4) ** 8, 0, 1)
    caustics = np.pad(gaussian_filter(caustics, sigma=1), 1)
    east_west = caustics[2:, 1:-1] - caustics[:-2, 1:-1]
    south_north = caustics[1:-1, 2:] - caustics[1:-1, :-2]
    normal = np.stack([east_west, south_north, np.ones_like(east_west)], axis=2)
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    incident = np.array([0.0, 0.0, 1.0])
    angle = np.arccos(np.clip(normal @ incident, -1, 1))
    bent = np.arcsin(np.sin(angle) / 4.0)
    with np.errstate(invalid="ignore"):
        spectator = np.cross(incident, normal)
        spectator /= np.linalg.norm(spectator, axis=2, keepdims=True)
    # A ray in the plane of incidence, at the refracted angle from the normal.
    ray = np.cos(bent)[..., None] * normal + np.sin(bent)[..., None] * np.cross(normal, spectator)
    ray[normal @ incident >= 1 - 1e-3] = incident
    shift = np.round(ray * 0.5 * side * strength / 10, 3)
    places = np.stack([rows + shift[..., 0], columns + shift[..., 1]])
    seen = np.stack(
        [
            map_coordinates(image[..., c] / 255.0, places, order=1, mode="grid-constant", cval=0.0)
            for c in range(3)
        ],
        axis=2,
    )
    lit = seen + (2 * strength / 10 * (east_west - south_north))[..., None]
    return (np.clip(lit, 0, 1) * 255).astype(np.uint8)


# CIFAR-10-C-bar


def seen_from(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    planes = [
        map_coordinates(image[..., c].astype(float), [rows, columns], order=1, mode="grid-constant")
        for c in range(3)
    ]
    return np.stack(planes, axis=2)


def ripple(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    side = min(image.shape[:2])
    moved = [
        axis + 0.025 * strength / 10 * side * np.sin(2 * np.pi * axis / (side * length) + phase)
        for axis, length, phase in zip(grid(image), values["wavelengths"], values["phases"], strict=True)
    ]
    return truncated(seen_from(image, *moved))


def pinch_and_twirl(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    side = min(image.shape[:2])
    cell = side // (5 if side == 224 else 3)
    down, across = grid(image)
    turns = iter(values["turns"])
    for top in range(0, image.shape[0] - cell + 1, cell):
        for left in range(0, image.shape[1] - cell + 1, cell):
            angle = (1 if next(turns) else -1) * strength / 10 * np.pi / 2
            for y in range(top, top + cell):
                for x in range(left, left + cell):
                    offset = complex(y - top - cell / 2, x - left - cell / 2)
                    share = abs(offset) / (cell / 2)
                    if 0 < share <= 1:
                        pinch = math.sin(math.pi / 2 * share) ** -(0.4 * strength / 10 + 0.1)
                        offset *= pinch * np.exp(1j * angle * (1 - share) ** 2)
                        down[y, x] = top + cell / 2 + offset.real
                        across[y, x] = left + cell / 2 + offset.imag
    return truncated(np.round(seen_from(image, down, across), 9))


def circular_motion_blur(image: np.ndarray, _: Values, strength: float) -> np.ndarray:
    shares = np.linspace(-1, 1, 21)
    turned = [rotate(image / 255.0, 15 * strength / 10 * share, reshape=False) for share in shares]
    return truncated(255 * np.average(turned, axis=0, weights=np.exp(-2 * shares**2)))


def transverse_chromatic_abberation(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    out = np.empty_like(image)
    for c, number in enumerate(values["channels"]):
        large = zoom(image[..., c], 1 + 0.5 * strength / 10 * number / 2, prefilter=False)
        top, left = ((large.shape[axis] - image.shape[axis]) // 2 for axis in (0, 1))
        out[..., c] = large[top : top + len(image), left : left + image.shape[1]]
    return out


def lines(image: np.ndarray, values: Values, strength: float) -> np.ndarray:
    """A pixel's share of grey is 1 less its distance from the line, in pixels."""
    side = min(image.shape[:2])
    assert len(values["rows"]) == int(strength / 10 * side)
    y, x = grid(image)
    out = image.copy()
    for row, column, share in zip(values["rows"], values["columns"], values["angles"], strict=True):
        angle = values["angle"] + 2 * np.pi * values["variation"] * (share - 0.5)
        reach = side * np.array([math.cos(angle), math.sin(angle)])
        first = np.trunc(np.array([row, column]) - reach)
        along = np.trunc(np.array([row, column]) + reach) - first
        distance = np.abs((y - first[0]) * along[1] - (x - first[1]) * along[0]) / np.linalg.norm(along)
        grey = np.clip(1 - distance, 0, 1)
        # Between the ends, along the axis in which the line is longer.
        position = (y - first[0]) if abs(along[0]) > abs(along[1]) else (x - first[1])
        position = position / (along[0] if abs(along[0]) > abs(along[1]) else along[1])
        grey = np.where((position >= 0) & (position <= 1), grey, 0)[..., None]
        out = truncated((1 - grey) * out + grey * 128)
    return out


# LAION-C: its code's numbers by severity, for images of 224 pixels


def luminance_checkerboard(image: np.ndarray, values: Values, severity: int) -> np.ndarray:
    least, most = [(0, 50), (50, 100), (100, 125), (125, 150), (150, 255)][severity - 1]
    amounts = iter(values["amounts"])
    out = image / 255.0
    for row, top in enumerate(range(0, image.shape[0], 14)):
        for column, left in enumerate(range(0, image.shape[1], 14)):
            amount = next(amounts)
            assert least <= amount < most
            block = out[top : top + 14, left : left + 14]
            block += amount / 255 * (-1) ** (row + column)
    return (np.clip(out, 0, 1) * 255).astype(np.uint8)


def glitched(image: np.ndarray, _: Values, severity: int) -> np.ndarray:
    amount = (2, 4, 5, 8, 10)[severity - 1]
    height, width = image.shape[:2]
    out = image.copy()
    far = int(amount**2 / 100 * width)
    for number in range(2 * amount):
        generator = random.Random(1 + number)
        shift = generator.randint(-far, far)
        if shift:
            top = generator.randint(0, height)
            bottom = top + generator.randint(1, height // 4)
            for y in range(top, min(bottom, height)):
                for x in range(width):
                    out[y, (x + shift) % width] = image[y, x]
    generator = random.Random(1)
    channel = generator.randint(0, 2)
    across = generator.randint(-2 * amount, 2 * amount)
    down = generator.randint(-2 * amount, 2 * amount)
    for y in range(height):
        for x in range(width):
            out[(y + down) % height, (x + (across if y == 0 else 0)) % width, channel] = image[y, x, channel]
    out[::2] = 0
    return out


def vertical_lines(image: np.ndarray, _: Values, severity: int) -> np.ndarray:
    count, step = ((224, 1), (178, 2), (112, 4), (84, 6), (60, 8))[severity - 1]
    height, width = image.shape[:2]
    grey = np.asarray(Image.fromarray(image).convert("L")).astype(int)
    out = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(out)
    for line in range(count):
        x = line / count * width
        columns = slice(int(x), min(int(x + width / count), width))
        last = (x, 0)
        for y in range(0, height, step):
            cell, light = image[y : y + step, columns].reshape(-1, 3).astype(int), grey[y : y + step, columns]
            mean = tuple(int(c) for c in cell.sum(axis=0) // max(len(cell), 1))
            here = (x - 40 * (1 - int(light.sum() // max(light.size, 1)) / 255), y)
            draw.line((*last, *here), fill=mean)
            last = here
    return np.asarray(out)


def geometric_shapes(image: np.ndarray, values: Values, severity: int) -> np.ndarray:
    count = (150, 300, 600, 800, 1000)[severity - 1]
    assert count == len(values["shapes"])
    assert 6 <= min(values["sizes"]) <= max(values["sizes"]) <= 15
    out = Image.fromarray(image)
    draw = ImageDraw.Draw(out)
    colours = np.reshape(values["colours"], (count, 3)).tolist()
    drawn = zip(
        values["shapes"], values["columns"], values["rows"], values["sizes"], values["degrees"], colours,
        strict=True,
    )  # fmt: skip
    for shape, x, y, size, degrees, colour in drawn:
        fill = tuple(colour)
        if shape == 0:
            draw.polygon([(x, y), (x + size, y), (x + size / 2, y + size)], fill=fill)
        elif shape == 1:
            draw.rectangle([x, y, x + size, y + size], fill=fill)
        elif shape == 3:
            draw.ellipse([x, y, x + size, y + size], fill=fill)
        else:
            corners = []
            for corner in range(10):
                radius = size / 1.2 if corner % 2 == 0 else size / 2.4
                angle = math.radians(corner * 36 + degrees)
                corners.append((x + radius * math.sin(angle), y + radius * math.cos(angle)))
            draw.polygon(corners, fill=fill)
    return np.asarray(out)


def stickers(image: np.ndarray, values: Values, severity: int, folder: str = "") -> np.ndarray:
    assert len(values["tiles"]) == (100, 200, 400, 600, 1200)[severity - 1]
    assert max(*values["rows"], *values["columns"]) < 224 - 16
    library = sticker_tiles(folder, 16)
    out = image.copy()
    for tile, row, column in zip(values["tiles"], values["rows"], values["columns"], strict=True):
        out[row : row + 16, column : column + 16] = library[tile]
    return out


def mosaic(image: np.ndarray, _: Values, severity: int, folder: str = "") -> np.ndarray:
    side = (4, 6, 8, 16, 28)[severity - 1]
    library = tiles(folder, side)
    means = library.reshape(len(library), -1, 3).mean(axis=1)
    margin = {6: 2}.get(side, 0)  # the published code tiles 252 pixels and keeps the central 224
    wide = np.pad(image, ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    count = len(wide) // side
    colours = np.asarray(Image.fromarray(wide).resize((count, count), Image.Resampling.BICUBIC)).astype(float)
    nearest = cdist(colours.reshape(-1, 3), means).argmin(axis=1).reshape(count, count)
    for row in range(count):
        for column in range(count):
            place = slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side)
            wide[place] = library[nearest[row, column]]
    return wide[margin : margin + 224, margin : margin + 224]


C_BAR: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        blue_noise_sample, brownish_noise, caustic_refraction, checkerboard_cutout, cocentric_sine_waves,
        inverse_sparkles, perlin_noise, plasma_noise, single_frequency_greyscale, sparkles, ripple,
        pinch_and_twirl, circular_motion_blur, transverse_chromatic_abberation, lines,
    )
}  # fmt: skip
LAION_C: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (glitched, geometric_shapes, luminance_checkerboard, mosaic, stickers, vertical_lines)
}
