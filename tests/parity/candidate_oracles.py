"""The Syn2Nat candidates written out from their published definitions, in plain NumPy where that is exact.

An oracle takes an image and the drawn values by purpose; it shares no code with the units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri

from windtunnel.core.seeding import Draws, words

Values = Mapping[str, Any]
Oracle = Callable[[np.ndarray, Values], np.ndarray]


class Recorder(Draws):
    """Draws that are remembered by purpose; keys too, for fields."""

    def recorded(self) -> dict[str, Any]:
        values: dict[str, Any] = self.__dict__.setdefault("values", {})
        return values

    def key(self, purpose: str) -> int:
        self.recorded().setdefault(purpose, super().key(purpose))
        return super().key(purpose)

    def uniform(self, purpose: str, low: float = 0.0, high: float = 1.0) -> float:
        return self._remember(purpose, super().uniform(purpose, low, high))

    def uniforms(self, purpose: str, count: int, low: float = 0.0, high: float = 1.0) -> Any:
        return self._remember(purpose, super().uniforms(purpose, count, low, high))

    def integer(self, purpose: str, low: int, high: int) -> int:
        return self._remember(purpose, super().integer(purpose, low, high))

    def integers(self, purpose: str, count: int, low: int, high: int) -> list[int]:
        return self._remember(purpose, super().integers(purpose, count, low, high))

    def normals(self, purpose: str, count: int, spread: float = 1.0) -> list[float]:
        return self._remember(purpose, super().normals(purpose, count, spread))

    def permutation(self, purpose: str, count: int) -> list[int]:
        return self._remember(purpose, super().permutation(purpose, count))

    def _remember(self, purpose: str, value: Any) -> Any:
        self.recorded()[purpose] = value
        return value


def trunc(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 255).astype(np.uint8)


def window_means(image: np.ndarray, side: int) -> np.ndarray:
    before = side // 2
    wide = np.pad(image, ((before, side - 1 - before),) * 2 + ((0, 0),), mode="reflect").astype(np.int64)
    views = np.lib.stride_tricks.sliding_window_view(wide, (side, side), axis=(0, 1))
    sums = views.sum(axis=(-1, -2))
    return np.floor(sums / side**2 + 0.5).astype(np.uint8)


def blend(first: np.ndarray, share: float, second: np.ndarray) -> np.ndarray:
    return cv2.addWeighted(first, share, second, 1 - share, 0)


def warp(image: np.ndarray, matrix: list[list[float]], border: int = cv2.BORDER_REFLECT_101) -> np.ndarray:
    height, width = image.shape[:2]
    return cv2.warpAffine(image, np.array(matrix, np.float64), (width, height), borderMode=border)


def remapped(image: np.ndarray, x: np.ndarray, y: np.ndarray, border: int) -> np.ndarray:
    x, y = (np.ascontiguousarray(np.broadcast_to(each, image.shape[:2]), np.float32) for each in (x, y))
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=border)


def affines(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    s = float(np.float32(drawn["scale"]))
    return warp(image, [[s, 0, (1 - s) * (width - 1) / 2], [0, s, (1 - s) * (height - 1) / 2]])


def blur(image: np.ndarray, drawn: Values) -> np.ndarray:
    return window_means(image, (5, 7, 9)[drawn["side"]])


def border(image: np.ndarray, _drawn: Values) -> np.ndarray:
    out = np.zeros_like(image)
    kept = [round(side * 130 / 224) for side in image.shape[:2]]
    top, left = ((side - keep) // 2 for side, keep in zip(image.shape[:2], kept, strict=True))
    out[top : top + kept[0], left : left + kept[1]] = image[top : top + kept[0], left : left + kept[1]]
    return out


def channel_dropout(image: np.ndarray, drawn: Values) -> np.ndarray:
    return image * (np.arange(3) != drawn["channel"]).astype(np.uint8)


def coarse_dropout(image: np.ndarray, drawn: Values) -> np.ndarray:
    out = image.copy()
    for y, x in zip(drawn["rows"], drawn["columns"], strict=True):
        assert 0 <= y <= image.shape[0] - 8 and 0 <= x <= image.shape[1] - 8
        out[y : y + 8, x : x + 8] = 0
    return out


def color_jitter(image: np.ndarray, drawn: Values) -> np.ndarray:
    b, c, s = drawn["factors"]
    for step in drawn["order"]:
        if step == 0:
            image = trunc(image * b)
        elif step == 1:
            image = trunc(image * c + cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).mean() * (1 - c))
        elif step == 2:
            grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
            image = blend(image, s, np.dstack([grey] * 3))
        else:
            hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
            hsv[..., 0] = np.floor((hsv[..., 0] + 180 * drawn["hue"]) % 180)
            image = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
    return image


def cutout(image: np.ndarray, drawn: Values) -> np.ndarray:
    (height, width), out = image.shape[:2], image.copy()
    y1, x1 = min(max(drawn["row"] - 75, 0), height), min(max(drawn["column"] - 75, 0), width)
    out[y1 : min(y1 + 150, height), x1 : min(x1 + 150, width)] = 0
    return out


def downscale(image: np.ndarray, _drawn: Values) -> np.ndarray:
    for axis, side in enumerate(image.shape[:2]):
        small = round(side * 0.45)
        there = [min(math.floor(i * (1 / 0.45)), side - 1) for i in range(small)]
        back = [min(math.floor(j * (1 / (side / small))), small - 1) for j in range(side)]
        image = np.take(image, [there[j] for j in back], axis=axis)
    return image


def elastic_transform(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    q, a, b = min(height, width) // 3, height // 2, width // 2
    points = np.array([(a + q, b + q), (a + q, b - q), (a - q, b - q)], np.float32)
    moved = (points + np.asarray(drawn["moves"]).reshape(3, 2)).astype(np.float32)
    image = warp(image, cv2.getAffineTransform(points, moved).tolist(), cv2.BORDER_REPLICATE)
    fields = []
    for axis in ("columns", "rows"):
        share = (words(drawn[axis], height * width) >> np.uint64(11)) * 2.0**-53
        noise = (2 * share - 1).reshape(height, width)
        fields.append(gaussian_filter(noise, 50, mode="reflect", truncate=4).astype(np.float32))
    x = np.arange(width, dtype=np.float32)[None] + fields[0]
    y = np.arange(height, dtype=np.float32)[:, None] + fields[1]
    return remapped(image, x, y, cv2.BORDER_REPLICATE)


def emboss(image: np.ndarray, drawn: Values) -> np.ndarray:
    s = np.float32(drawn["strength"])
    kernel = np.array([[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]], np.float32)
    return cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101)


def flip(image: np.ndarray, drawn: Values) -> np.ndarray:
    return {0: image[::-1], 1: image[:, ::-1], -1: image[::-1, ::-1]}[drawn["direction"]]


def gaussian_blur(image: np.ndarray, drawn: Values) -> np.ndarray:
    k = drawn["side"] + (drawn["side"] % 2 == 0)
    sigma = {9: 1.7, 11: 2.0, 13: 2.3}[k]
    return cv2.GaussianBlur(image, (k, k), sigma, borderType=cv2.BORDER_REFLECT_101)


def grid_distortion(image: np.ndarray, drawn: Values) -> np.ndarray:
    maps = []
    for purpose, side in (("columns", image.shape[1]), ("rows", image.shape[0])):
        step, prev, places = side // 5, 0.0, np.zeros(side, np.float32)
        for i in range(6):
            a, b = i * step, i * step + step
            if b > side:
                b, cur = side, float(side)
            else:
                cur = prev + step * drawn[purpose][i]
            places[a:b] = np.linspace(prev, cur, b - a)
            prev = cur
        maps.append(places)
    return remapped(image, maps[0][None], maps[1][:, None], cv2.BORDER_REFLECT_101)


def hue_saturation_value(image: np.ndarray, drawn: Values) -> np.ndarray:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hue = np.floor((hsv[..., 0] + drawn["hue"]) % 180).astype(np.uint8)
    parts = [hue, trunc(hsv[..., 1] + drawn["saturation"]), trunc(hsv[..., 2] + drawn["value"])]
    return cv2.cvtColor(np.dstack(parts), cv2.COLOR_HSV2RGB)


def image_compression(image: np.ndarray, drawn: Values) -> np.ndarray:
    _, file = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, drawn["quality"]])
    return cv2.imdecode(file, cv2.IMREAD_UNCHANGED)


def invert_img(image: np.ndarray, _drawn: Values) -> np.ndarray:
    return 255 - image


def iso_noise(image: np.ndarray, drawn: Values, counts: np.ndarray) -> np.ndarray:
    """`counts` is the Poisson field."""
    c, i = drawn["colour shift"], drawn["intensity"]
    hls = cv2.cvtColor(image.astype(np.float32) * np.float32(1 / 255), cv2.COLOR_RGB2HLS)
    size = image.shape[:2]
    shares = ((words(drawn["hue"], size[0] * size[1]) >> np.uint64(11)) + 0.5) * 2.0**-53
    hue = (hls[..., 0] + ndtri(shares).reshape(size) * 360 * c * i).astype(np.float32)
    hue = np.where(hue < 0, hue + np.float32(360), hue)
    hls[..., 0] = np.where(hue > 360, hue - np.float32(360), hue)
    hls[..., 1] += (counts / 255) * (1 - hls[..., 1].astype(np.float64))
    return np.floor(cv2.cvtColor(hls, cv2.COLOR_HLS2RGB) * np.float32(255)).astype(np.uint8)


def median_blur(image: np.ndarray, drawn: Values) -> np.ndarray:
    k = (5, 7, 9, 11)[drawn["side"]]
    wide = np.pad(image, ((k // 2, k // 2),) * 2 + ((0, 0),), mode="edge")
    views = np.lib.stride_tricks.sliding_window_view(wide, (k, k), axis=(0, 1))
    return np.median(views.reshape(*image.shape, k * k), axis=-1).astype(np.uint8)


def motion_blur(image: np.ndarray, drawn: Values) -> np.ndarray:
    k = (11, 13, 15, 17)[drawn["side"]]
    (xs, xe), (ys, ye) = drawn["columns"], drawn["rows"][:2]
    assert (xs, ys) != (xe, ye)
    kernel = np.zeros((k, k), np.uint8)
    cv2.line(kernel, (xs, ys), (xe, ye), 1, thickness=1, lineType=cv2.LINE_8)
    return cv2.filter2D(image, -1, kernel.astype(np.float32) / np.sum(kernel))


def multiplicative_noise(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    share = (words(drawn["factors"], height * width) >> np.uint64(11)) * 2.0**-53
    return trunc(image * (0.7 + (1.3 - 0.7) * share).reshape(height, width, 1))


def optical_distortion(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    k = float(np.float32(drawn["strength"]))
    dx, dy = round(drawn["columns"]), round(drawn["rows"])
    v, u = np.mgrid[0:height, 0:width].astype(np.float64)
    x, y = (u - (width - 1) / 2) / width, (v - (height - 1) / 2) / height
    r2 = x**2 + y**2
    g = 1 + k * r2 + k * r2**2
    return remapped(
        image, width * x * g + width / 2 + dx, height * y * g + height / 2 + dy, cv2.BORDER_REFLECT_101
    )


def perspective(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    tl, tr, br, bl = (np.abs(np.array(drawn["corners"], np.float32).reshape(4, 2)) % 1).astype(np.float32)
    tr[0], br[0], br[1], bl[1] = 1 - tr[0], 1 - br[0], 1 - br[1], 1 - bl[1]
    points = np.array([tl, tr, br, bl], np.float32) * np.array([width, height], np.float32)
    total, gap = points.sum(axis=1), points[:, 1] - points[:, 0]
    tl, br, tr, bl = (
        points[i].copy() for i in (np.argmin(total), np.argmax(total), np.argmin(gap), np.argmax(gap))
    )

    def lengths(*edges: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
        each = [float(np.linalg.norm(a.astype(np.float64) - b)) for a, b in edges]
        return int(max(each)), int(min(each))

    mw, nw = lengths((tr, tl), (br, bl))
    while nw < 2:
        for point, sign in ((tl, -1), (bl, -1), (tr, 1), (br, 1)):
            point[0] += np.float32(sign * (2 - nw) / 2)
        mw, nw = lengths((tr, tl), (br, bl))
    mh, nh = lengths((tr, br), (tl, bl))
    while nh < 2:
        for point, sign in ((tl, -1), (tr, -1), (bl, 1), (br, 1)):
            point[1] += np.float32(sign * (2 - nh) / 2)
        mh, nh = lengths((tr, br), (tl, bl))
    source = np.array([tl, tr, br, bl], np.float32)
    target = np.array([(0, 0), (mw, 0), (mw, mh), (0, mh)], np.float32)
    out = cv2.warpPerspective(image, cv2.getPerspectiveTransform(source, target), (mw, mh))
    if (mh, mw) == (height, width):
        return out
    way = cv2.INTER_AREA if height > mh or width > mw else cv2.INTER_LINEAR
    return cv2.resize(out, (width, height), interpolation=way)


def posterize(image: np.ndarray, _drawn: Values) -> np.ndarray:
    return image // 64 * 64


def random_brightness(image: np.ndarray, drawn: Values) -> np.ndarray:
    return trunc(image.astype(np.float32) + np.float32(255 * drawn["shift"]))


def random_contrast(image: np.ndarray, drawn: Values) -> np.ndarray:
    return trunc(image.astype(np.float32) * np.float32(drawn["factor"]))


def random_fog(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    c = drawn["density"]
    hw = max(1, math.floor(width // 3 * c))
    mx, my, i, points = width // 2 - 2 * hw, height // 2 - hw, 1, []
    while mx > -hw or my > -hw:
        columns, rows = drawn[f"columns {i}"], drawn[f"rows {i}"]
        assert len(columns) == len(rows) == hw // 10 * i
        assert all(mx <= x <= width - mx - hw for x in columns)
        assert all(my <= y <= height - my - hw for y in rows)
        points += zip(columns, rows, strict=True)
        mx -= 3 * hw * width // (height + width)
        my -= 3 * hw * height // (height + width)
        i += 1
    hw = max(hw, 10)
    for x, y in points:
        overlay = image.copy()
        cv2.circle(overlay, (x + hw // 2, y + hw // 2), hw // 2, (255, 255, 255), -1)
        image = blend(overlay, 0.08 * c, image)
    return cv2.blur(image, (hw // 10, hw // 10))


def random_gamma(image: np.ndarray, drawn: Values) -> np.ndarray:
    return (255 * (image * (1 / 255)) ** (drawn["gamma"] / 100)).astype(np.uint8)


def random_grid_shuffle(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    rows, columns = ([math.floor(side * i / 4) for i in range(5)] for side in (height, width))
    cells = [(y0, y1, x0, x1) for y0, y1 in pairwise(rows) for x0, x1 in pairwise(columns)]
    out = np.zeros_like(image)
    for size in {(y1 - y0, x1 - x0) for y0, y1, x0, x1 in cells}:
        group = [cell for cell in cells if (cell[1] - cell[0], cell[3] - cell[2]) == size]
        for t, source in enumerate(drawn[f"{size[0]}x{size[1]}"]):
            y0, y1, x0, x1 = group[t]
            a0, a1, b0, b1 = group[source]
            out[y0:y1, x0:x1] = image[a0:a1, b0:b1]
    return out


def random_rain(image: np.ndarray, drawn: Values) -> np.ndarray:
    (height, width), s = image.shape[:2], int(drawn["slant"])
    out = image.copy()
    assert len(drawn["columns"]) == height * width // 600
    for x, y in zip(drawn["columns"], drawn["rows"], strict=True):
        assert (s <= x <= width if s < 0 else 0 <= x <= width - s) and 0 <= y <= height - 20
        cv2.line(out, (x, y), (x + 10, y + 20), (200, 200, 200), 1)
    hls = cv2.cvtColor(window_means(out, 7), cv2.COLOR_RGB2HLS)
    hls[..., 1] = (hls[..., 1].astype(np.float32) * np.float32(0.7)).astype(np.uint8)
    return cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)


def random_shadow(image: np.ndarray, drawn: Values) -> np.ndarray:
    mask = np.zeros(image.shape[:2], np.uint8)
    corners = np.array(list(zip(drawn["columns"], drawn["rows"], strict=True)), np.int32)
    for polygon in corners.reshape(drawn["count"], 8, 2):
        one = np.zeros_like(mask)
        cv2.fillPoly(one, [polygon], 1)
        mask |= one
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    hls[..., 1] = np.where(mask == 1, hls[..., 1] // 2, hls[..., 1])
    return cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)


def random_snow(image: np.ndarray, drawn: Values) -> np.ndarray:
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    light = hls[..., 1].astype(np.float32)
    lifted = np.where(light < 127.5 * drawn["snow"] + 85, light * np.float32(2.5), light)
    hls[..., 1] = trunc(lifted)
    return cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)


def random_sun_flare(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    ang = 2 * math.pi * drawn["angle"]
    cx, cy = math.floor(width * drawn["column"]), math.floor(height * drawn["row"])
    overlay, out = image.copy(), image.copy()
    rows = zip(
        drawn["alphas"], drawn["columns"], drawn["radii"], np.reshape(drawn["colours"], (-1, 3)), strict=True
    )
    for a, column, e, colour in rows:
        x = 10 * column
        y = int(2 * cy - (math.tan(ang) * (x - cx) + cy))
        cv2.circle(overlay, (x, y), e**3, colour.tolist(), -1)
        out = blend(overlay, a, out)
    overlay = out.copy()
    radii = [1, 11, 21, 32, 42, 53, 63, 74, 84, 95, 105, 116, 126, 137, 147, 158, 168, 179, 189, 200]
    for i, radius in enumerate(radii):
        cv2.circle(overlay, (cx, cy), radius, (255, 255, 255), -1)
        out = blend(overlay, np.linspace(0, 1, 20)[19 - i] ** 3, out)
    return out


def rgb_shift(image: np.ndarray, drawn: Values) -> np.ndarray:
    return trunc(image.astype(np.float32) + np.asarray(drawn["shifts"]).astype(np.float32))


def rotate(image: np.ndarray, drawn: Values) -> np.ndarray:
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), drawn["angle"], 1.0)
    return warp(image, matrix.tolist())


def sharpen(image: np.ndarray, drawn: Values) -> np.ndarray:
    a, light = np.float32(drawn["share"]), np.float32(drawn["lightness"])
    kernel = np.full((3, 3), -a, np.float32)
    kernel[1, 1] = (1 - a) * np.float32(1) + a * (np.float32(8) + light)
    return cv2.filter2D(image, -1, kernel)


def solarize(image: np.ndarray, _drawn: Values) -> np.ndarray:
    return np.where(image < 200, image, 255 - image)


def to_sepia(image: np.ndarray, _drawn: Values) -> np.ndarray:
    weights = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]]
    fixed = np.rint(1024 * np.array(weights)).astype(np.int64)
    return np.minimum(255, (image.astype(np.int64) @ fixed.T + 512) >> 10).astype(np.uint8)


def transpose(image: np.ndarray, drawn: Values) -> np.ndarray:
    dx, dy = drawn["shift"]
    return warp(image, [[1, 0, dx * image.shape[1]], [0, 1, dy * image.shape[0]]])


# gauss_noise and iso_noise have tests of their own.
ORACLES: dict[str, Oracle] = {
    "affines": affines, "blur": blur, "border": border, "channel_dropout": channel_dropout,
    "coarse_dropout": coarse_dropout, "color_jitter": color_jitter, "cutout": cutout, "downscale": downscale,
    "elastic_transform": elastic_transform, "emboss": emboss, "flip": flip, "gaussian_blur": gaussian_blur,
    "grid_distortion": grid_distortion, "hue_saturation_value": hue_saturation_value,
    "image_compression": image_compression, "invert_img": invert_img, "jpeg_compression": image_compression,
    "median_blur": median_blur, "motion_blur": motion_blur, "multiplicative_noise": multiplicative_noise,
    "optical_distortion": optical_distortion, "perspective": perspective, "posterize": posterize,
    "random_brightness": random_brightness, "random_contrast": random_contrast, "random_fog": random_fog,
    "random_gamma": random_gamma, "random_grid_shuffle": random_grid_shuffle, "random_rain": random_rain,
    "random_shadow": random_shadow, "random_snow": random_snow, "random_sun_flare": random_sun_flare,
    "rgb_shift": rgb_shift, "rotate": rotate, "sharpen": sharpen, "solarize": solarize, "to_sepia": to_sepia,
    "transpose": transpose,
}  # fmt: skip
