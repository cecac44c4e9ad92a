"""The demo scene, a harbour with a cat, drawn by code to show corruptions on.

It contains what corruptions act on: smooth sky, fine texture, straight and organic edges, small text,
muted and saturated colours. Lengths and positions are fractions of the side; y points down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image as PillowImage

from windtunnel.core.images import Image
from windtunnel.report.scene_drawing import (
    SCENE_DRAWS,
    Box,
    Colour,
    Plane,
    Point,
    blend,
    blob,
    cloudy,
    ellipse,
    lettering,
    paint_dots,
    paint_over,
    pixel_grid,
    polygon,
    polyline,
    rectangle,
    smooth_noise,
    tint,
)

# The scene is drawn at least this large and then averaged down, for smooth edges and texture.
DRAWN_PX = 896

WATERLINE = 0.60
QUAY = 0.845
CAT = 0.275
KEEL = 0.752

GUNWALE = ((0.535, 0.655), (0.60, 0.682), (0.76, 0.692), (0.955, 0.672))
# Outlines of the cat. All but the first two are its right half, by the distance from its middle.
CAT_BODY = (
    (0.275, 0.545), (0.335, 0.565), (0.375, 0.63), (0.415, 0.71), (0.432, 0.79), (0.41, 0.85), (0.33, 0.86),
    (0.22, 0.86), (0.14, 0.85), (0.118, 0.79), (0.138, 0.70), (0.170, 0.62), (0.205, 0.565),
)  # fmt: skip
CAT_TAIL = (
    (0.40, 0.79), (0.445, 0.785), (0.475, 0.81), (0.468, 0.848), (0.42, 0.870), (0.37, 0.872), (0.345, 0.862),
    (0.35, 0.846), (0.38, 0.842), (0.41, 0.825),
)  # fmt: skip
CAT_BIB = ((0, 0.585), (0.060, 0.595), (0.066, 0.645), (0.052, 0.705), (0.026, 0.755), (0, 0.785))
CAT_LEG = (
    (0.014, 0.742), (0.040, 0.690), (0.064, 0.730), (0.056, 0.800), (0.060, 0.850), (0.030, 0.862),
    (0.004, 0.852), (0.006, 0.790),
)  # fmt: skip
CAT_EAR = ((0.030, 0.430), (0.098, 0.352), (0.118, 0.475))
CAT_INNER_EAR = ((0.052, 0.432), (0.093, 0.378), (0.104, 0.462))
CAT_FACE = (
    (0, 0.418), (0.055, 0.424), (0.105, 0.462), (0.128, 0.520), (0.112, 0.566), (0.060, 0.600), (0, 0.612),
)  # fmt: skip
CAT_BLAZE = ((0, 0.466), (0.010, 0.475), (0.013, 0.510), (0.020, 0.545), (0, 0.550))
CAT_NOSE = ((0, 0.538), (0.017, 0.541), (0, 0.557))
CAT_MOUTH = ((0, 0.572), (0.014, 0.580), (0.030, 0.576))


def scene(side_px: int) -> Image:
    """The scene as a square image; the pixels are the same at every call."""
    factor = -(-DRAWN_PX // side_px)
    image = np.zeros((side_px * factor, side_px * factor, 3), np.float32)
    for paint in (_sky, _hills, _lighthouse, _houses, _tree, _shore, _water, _boat, _quay, _flowers, _cat):
        paint(image)
    drawn = PillowImage.fromarray(np.clip(image + 0.5, 0, 255).astype(np.uint8))
    return np.array(drawn.reduce(factor))


# Parts of the scene, from background to foreground.


def _sky(image: Plane) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    up = np.clip(1 - y / 0.5, 0, 1) ** 0.8 + 0 * x
    sky = blend((248, 214, 178), (58, 118, 190), up)
    glow = np.exp(-((x - 0.83) ** 2 + (y - 0.40) ** 2) / 0.05)
    image[:] = blend(sky, (255, 238, 200), 0.7 * glow)
    cloud = cloudy(px, "clouds", 4, 9, 6)
    down, across = px // 90, px // 60
    lit = np.pad(cloud, ((down, 0), (0, across)), mode="edge")[:px, across:] - cloud
    body = np.clip((cloud - 0.50 + 0.05 * np.sin(9 * y)) / 0.13, 0, 1)
    shade = blend((196, 190, 205), (255, 250, 242), 0.62 + 3.2 * lit)
    paint_over(image, np.asarray(body * np.clip((0.50 - y) / 0.15, 0, 1), np.float32), shade, 0.92)


def _hills(image: Plane) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    for purpose, height, rough, colour in (
        ("far", 0.475, 0.13, (136, 150, 178)),
        ("near", 0.53, 0.10, (104, 126, 112)),
    ):
        ridge = height + rough * (cloudy(px, f"{purpose} ridge", 3, 3, 5)[px // 2] - 0.5)[None, :]
        wood = cloudy(px, f"{purpose} wood", 40, 60, 3)
        shade = tint(colour, 0.82 + 0.36 * wood)
        haze = np.clip((y - height) / 0.16, 0, 1) + 0 * x
        paint_over(image, (y > ridge).astype(np.float32), blend(shade, (222, 204, 186), 0.55 * haze))


def _lighthouse(image: Plane) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    rock = cloudy(px, "rock", 30, 30, 4)
    head = [(0.74, 0.61), (0.79, 0.575), (0.84, 0.555), (0.92, 0.55), (1.01, 0.56), (1.01, 0.61)]
    paint_over(image, polygon(px, head), tint((132, 118, 104), 0.55 + 0.9 * rock))
    paint_over(
        image, polygon(px, [(0.8, 0.572), (0.85, 0.551), (0.93, 0.546), (1.01, 0.557)]), (110, 140, 70)
    )
    tower = polygon(px, [(0.868, 0.29), (0.912, 0.29), (0.928, 0.555), (0.852, 0.555)])
    band = ((y - 0.29) * 19 % 2 < 1) + 0 * x
    round_ = 0.62 + 0.5 * np.clip(1 - ((x - 0.905) / 0.05) ** 2, 0, 1)
    paint_over(image, tower, blend((246, 242, 234), (206, 38, 34), band) * round_[..., None])
    paint_over(image, rectangle(px, (0.858, 0.278, 0.922, 0.292)), (62, 62, 70))
    paint_over(image, rectangle(px, (0.872, 0.236, 0.908, 0.280)), (255, 236, 150))
    for left in (0.872, 0.889, 0.904):
        paint_over(image, rectangle(px, (left, 0.236, left + 0.004, 0.280)), (62, 62, 70))
    paint_over(image, polygon(px, [(0.864, 0.240), (0.890, 0.205), (0.916, 0.240)]), (170, 34, 32))
    for top in (0.36, 0.46):
        paint_over(image, rectangle(px, (0.884, top, 0.896, top + 0.026)), (52, 60, 76))


def _houses(image: Plane) -> None:
    houses = (
        # left, right, eaves, ridge, wall, roof, rows of windows, columns of windows
        (-0.03, 0.135, 0.335, 0.235, (214, 168, 74), (124, 70, 54), 3, 2),
        (0.135, 0.285, 0.385, 0.300, (178, 58, 48), (84, 80, 88), 2, 2),
        (0.285, 0.470, 0.320, 0.215, (92, 140, 150), (136, 78, 58), 3, 3),
        (0.470, 0.615, 0.395, 0.315, (236, 226, 204), (112, 66, 54), 2, 2),
    )
    px = len(image)
    x, y = pixel_grid(px)
    glass = blend((38, 50, 66), (170, 196, 214), 0.5 + 0.5 * np.cos(2 * np.pi * (9 * x + 14.3 * y)))
    for left, right, eaves, ridge, wall, roof, rows, columns in houses:
        _house(image, left, right, eaves, ridge, wall, roof)
        _windows(image, glass, left, right, eaves, rows, columns)
    paint_over(image, rectangle(px, (0.492, 0.512, 0.594, 0.546)), (24, 66, 60))
    paint_over(image, lettering(px, 0.543, 0.5295, 0.031, "CAFE"), (250, 240, 214))
    for number, left in enumerate(np.arange(0.488, 0.598, 0.0137)):
        slat = [(left, 0.548), (left + 0.0138, 0.548), (left + 0.0138, 0.566), (left, 0.566)]
        paint_over(image, polygon(px, slat), (198, 44, 44) if number % 2 else (246, 240, 228))


def _house(
    image: Plane, left: float, right: float, eaves: float, ridge: float, wall: Colour, roof: Colour
) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    middle = (left + right) / 2
    planks = 0.93 + 0.07 * np.cos(2 * np.pi * x * 75) + 0 * y
    stain = 0.82 + 0.32 * cloudy(px, f"wall {left}", 14, 10, 4)
    damp = 1 - 0.28 * np.clip((y - 0.50) / 0.12, 0, 1)
    light = 0.90 + 0.14 * (x - left) / (right - left)
    outline = [(left, 0.62), (left, eaves), (middle, ridge), (right, eaves), (right, 0.62)]
    paint_over(image, polygon(px, outline), tint(wall, planks, stain, damp, light))
    tiles = 0.84 + 0.16 * np.cos(2 * np.pi * (y * 95 + 0.25 * np.cos(2 * np.pi * x * 110)))
    grain = 0.70 + 0.6 * cloudy(px, f"roof {left}", 60, 60, 2)
    for side, shade in ((left, 0.78), (right, 1.12)):
        out = 0.012 if side == right else -0.012
        slope = [(middle, ridge - 0.022), (middle, ridge + 0.016), (side + out, eaves + 0.022)]
        paint_over(
            image, polygon(px, [*slope, (side + out, eaves - 0.016)]), tint(roof, tiles, grain) * shade
        )


def _windows(
    image: Plane, glass: Plane, left: float, right: float, eaves: float, rows: int, columns: int
) -> None:
    px = len(image)
    wide, high, frame = 0.026, 0.040, (250.0, 246.0, 236.0)
    for row in range(rows):
        for column in range(columns):
            middle = left + (right - left) * (column + 0.5) / columns
            top = eaves + 0.022 + 0.070 * row
            bar = top + 0.42 * high
            box = (middle - wide / 2, top, middle + wide / 2, top + high)
            is_lit = SCENE_DRAWS.uniform(f"lamp {left} {row} {column}") > 0.72
            paint_over(image, rectangle(px, _grown(box, 0.0055)), frame)
            paint_over(image, rectangle(px, box), (255, 206, 112) if is_lit else glass)
            paint_over(image, rectangle(px, (middle - 0.0018, top, middle + 0.0018, top + high)), frame)
            paint_over(image, rectangle(px, (box[0], bar - 0.0018, box[2], bar + 0.0018)), frame)


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _tree(image: Plane) -> None:
    px = len(image)
    trunk = [(0.682, 0.61), (0.690, 0.50), (0.674, 0.44), (0.686, 0.44), (0.696, 0.475), (0.712, 0.43)]
    paint_over(image, polygon(px, [*trunk, (0.720, 0.44), (0.704, 0.50), (0.708, 0.61)]), (84, 62, 48))
    count = 900
    angle = SCENE_DRAWS.uniforms("leaf angle", count, 0, 2 * np.pi)
    reach = np.sqrt(SCENE_DRAWS.uniforms("leaf reach", count))
    size = SCENE_DRAWS.uniforms("leaf size", count, 0.006, 0.013)
    tone = SCENE_DRAWS.uniforms("leaf tone", count, -0.22, 0.22)
    lumps = 1 + 0.16 * np.sin(5 * angle + 1) + 0.08 * np.sin(9 * angle)
    xs = 0.695 + 0.092 * reach * lumps * np.cos(angle)
    ys = 0.405 + 0.098 * reach * lumps * np.sin(angle)
    light = np.clip(0.5 + 2.6 * (xs - 0.695) - 3.4 * (ys - 0.405) + tone, 0, 1)
    paint_dots(image, xs, ys, size, light, (26, 58, 34), (178, 196, 74))


def _shore(image: Plane) -> None:
    px = len(image)
    wall = cloudy(px, "shore", 60, 90, 3)
    paint_over(image, rectangle(px, (-0.01, 0.582, 0.76, 0.62)), tint((146, 134, 120), 0.6 + 0.8 * wall))
    paint_over(image, rectangle(px, (-0.01, 0.580, 0.76, 0.586)), (196, 184, 164))


def _water(image: Plane) -> None:
    """Draw the water: the scene above, mirrored in ripples that grow towards the viewer."""
    px = len(image)
    x, y = pixel_grid(px)
    depth = np.clip((y - WATERLINE) / (1 - WATERLINE), 0, 1)
    near = cloudy(px, "ripples", 7, 110, 3) - 0.5
    far = cloudy(px, "small ripples", 16, 260, 2) - 0.5
    ripple = near * depth + far * (1 - depth)
    rows = WATERLINE - (y - WATERLINE) * 1.15 + ripple * (0.02 + 0.20 * depth)
    columns = x + ripple * 0.03
    mirrored = image[
        np.clip(rows * px, 0, WATERLINE * px - 1).astype(np.intp),
        np.clip(columns * px, 0, px - 1).astype(np.intp),
    ]
    deep = blend((70, 122, 140), (18, 62, 84), depth + 0.8 * ripple)
    water = blend(mirrored * 0.84, deep, 0.42 + 0.34 * depth + 0.5 * ripple)
    sparkle = np.clip((ripple - 0.17) / 0.08, 0, 1) * np.exp(-(((x - 0.84) / 0.16) ** 2))
    water = blend(water, (255, 240, 206), 0.85 * sparkle)
    paint_over(image, (y > WATERLINE + 0 * x).astype(np.float32), water)


def _boat(image: Plane) -> None:
    """Draw a fishing boat and its rippled reflection."""
    px = len(image)
    x, y = pixel_grid(px)
    boat = image.copy()
    covered = _boat_without_reflection(boat)
    ripple = cloudy(px, "boat ripples", 8, 120, 2) - 0.5
    rows = np.clip((2 * KEEL - y + 0.05 * ripple) * px, 0, px - 1).astype(np.intp)
    columns = np.clip((x + 0.035 * ripple) * px, 0, px - 1).astype(np.intp)
    paint_over(image, covered[rows, columns] * (y > KEEL), boat[rows, columns] * np.float32(0.62), 0.72)
    paint_over(image, covered * (y <= KEEL), boat)


def _boat_without_reflection(boat: Plane) -> Plane:
    """Draw the boat; returns its mask."""
    px = len(boat)
    x, y = pixel_grid(px)
    covered = np.zeros((px, px), np.float32)

    def lay(mask: Plane, colour: Colour | Plane) -> None:
        paint_over(boat, mask, colour)
        np.maximum(covered, mask, out=covered)

    lay(polyline(px, [(0.735, 0.695), (0.735, 0.40)], 0.009), (96, 70, 50))
    lay(polyline(px, [(0.735, 0.415), (0.560, 0.665)], 0.0032), (60, 56, 54))
    lay(polyline(px, [(0.735, 0.415), (0.945, 0.675)], 0.0032), (60, 56, 54))
    lay(polygon(px, [(0.735, 0.405), (0.785, 0.418), (0.735, 0.434)]), (244, 196, 40))
    cabin = [(0.785, 0.600), (0.895, 0.600), (0.905, 0.70), (0.778, 0.70)]
    lay(polygon(px, cabin), tint((240, 236, 224), 0.86 + 1.7 * (x - 0.78) + 0 * y))
    lay(polygon(px, [(0.772, 0.588), (0.908, 0.588), (0.902, 0.604), (0.780, 0.604)]), (36, 92, 110))
    for left in (0.796, 0.832, 0.868):
        lay(rectangle(px, (left, 0.618, left + 0.024, 0.646)), (44, 58, 74))
        gleam = [(left, 0.634), (left + 0.014, 0.618), (left + 0.022, 0.618), (left, 0.642)]
        lay(polygon(px, gleam), (150, 178, 194))
    planks = 0.9 + 0.1 * np.cos(2 * np.pi * 85 * y) + 0 * x
    worn = 0.84 + 0.3 * cloudy(px, "hull", 24, 12, 4)
    hull = [*GUNWALE, (0.925, KEEL), (0.590, KEEL)]
    lay(polygon(px, hull), tint((28, 84, 152), planks, worn, 1.12 - 1.8 * (y - 0.66)))
    rail = [*GUNWALE, (0.952, 0.683), (0.76, 0.703), (0.60, 0.693), (0.54, 0.665)]
    lay(polygon(px, rail), (244, 238, 222))
    lay(polygon(px, [(0.580, 0.738), (0.931, 0.738), (0.925, 0.754), (0.590, 0.754)]), (170, 44, 36))
    lay(lettering(px, 0.662, 0.716, 0.034, "MARIE"), (250, 246, 232))
    for middle in (0.78, 0.835):
        lay(ellipse(px, middle, 0.718, 0.017, 0.017), (226, 92, 30))
        lay(ellipse(px, middle, 0.718, 0.008, 0.008), (28, 70, 124))
    return covered


def _quay(image: Plane) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    wide, high = 0.125, 0.058
    grain = cloudy(px, "stone", 70, 70, 4)
    course = (y - QUAY) / high
    block = x / wide + 0.48 * (np.floor(course) % 2)
    to_joint = np.minimum(np.abs(block - np.round(block)) * wide, np.abs(course - np.round(course)) * high)
    joint = np.clip((to_joint + 0.004 * (grain - 0.5)) / 0.0035, 0.45, 1)
    tone = 0.88 + 0.12 * np.sin(np.floor(block) * 12.9 + np.floor(course) * 78.2)
    stone = tint((164, 148, 128), 0.56 + 0.84 * grain, tone, joint, 1 - 0.5 * (y - QUAY))
    paint_over(image, (y > QUAY + 0 * x).astype(np.float32), stone)
    kerb = rectangle(px, (-0.01, QUAY - 0.016, 1.01, QUAY + 0.010))
    paint_over(image, kerb, tint((206, 192, 170), 0.72 + 0.5 * grain))
    paint_over(image, rectangle(px, (-0.01, QUAY + 0.010, 1.01, QUAY + 0.018)), (60, 52, 48), 0.5)


def _flowers(image: Plane) -> None:
    """Draw geraniums in a pot."""
    px = len(image)
    x, y = pixel_grid(px)
    side = 0.75 + 0.6 * (x - 0.86) / 0.10 + 0 * y
    paint_over(image, ellipse(px, 0.908, QUAY + 0.004, 0.068, 0.010), (40, 34, 34), 0.45)
    pot = [(0.862, 0.790), (0.954, 0.790), (0.940, 0.848), (0.876, 0.848)]
    paint_over(image, polygon(px, pot), tint((190, 98, 60), side))
    paint_over(image, rectangle(px, (0.855, 0.780, 0.961, 0.798)), tint((206, 112, 70), side))
    count = 110
    tones = SCENE_DRAWS.uniforms("leaf tones", count)
    xs = 0.908 + 0.068 * (SCENE_DRAWS.uniforms("leaf x", count, -1, 1))
    ys = SCENE_DRAWS.uniforms("leaf y", count, 0.745, 0.792)
    paint_dots(image, xs, ys, np.full(count, 0.011), tones, (26, 70, 34), (112, 168, 66))
    head = SCENE_DRAWS.uniforms("head", 2 * count, 0, 7).astype(int)
    xs = 0.854 + 0.018 * head + SCENE_DRAWS.uniforms("petal x", 2 * count, -0.016, 0.016)
    ys = 0.738 + 0.016 * np.sin(2.4 * head) + SCENE_DRAWS.uniforms("petal y", 2 * count, -0.016, 0.016)
    tones = SCENE_DRAWS.uniforms("petal tones", 2 * count)
    paint_dots(image, xs, ys, np.full(2 * count, 0.0062), tones, (196, 8, 52), (255, 112, 140))


def _cat(image: Plane) -> None:
    """Draw a ginger cat on the quay."""
    px = len(image)
    x, y = pixel_grid(px)
    fur = 0.76 + 0.5 * cloudy(px, "fur", 110, 40, 3)
    wander = smooth_noise(px, "wander", 9, 9)
    bands = np.clip(1.5 * np.cos(2 * np.pi * (17 * y + 1.1 * wander + 30 * (x - CAT) ** 2)), 0, 1)
    light = 0.70 + 1.6 * np.clip(x - 0.10, 0, 0.36)
    ginger = blend((222, 138, 62), (158, 78, 28), 0.85 * bands) * (fur * light)[..., None]
    white = tint((246, 238, 226), 0.80 + 0.34 * cloudy(px, "bib", 110, 40, 3), light**0.4 + 0 * y)
    paint_over(image, ellipse(px, 0.29, QUAY + 0.004, 0.19, 0.016), (36, 30, 30), 0.5)
    paint_over(image, blob(px, CAT_BODY), ginger)
    paint_over(image, blob(px, _mirrored(CAT_BIB)), white)
    for sign in (-1, 1):
        paint_over(image, blob(px, _offset_from_middle(CAT_LEG, sign)), ginger * np.float32(1.05))
        paint_over(image, ellipse(px, CAT + sign * 0.033, 0.848, 0.031, 0.018), white)
        for toe in (0.024, 0.042):
            paint_over(
                image,
                polyline(px, _offset_from_middle(((toe, 0.846), (toe, 0.864)), sign), 0.0028),
                (150, 120, 104),
            )
    paint_over(image, polyline(px, [(CAT, 0.775), (CAT, 0.852)], 0.005), (96, 50, 26), 0.8)
    paint_over(image, blob(px, CAT_TAIL), ginger * np.float32(0.96))
    _head(image, ginger * np.float32(1.06), white)


def _head(image: Plane, ginger: Plane, white: Plane) -> None:
    px = len(image)
    for sign in (-1, 1):
        paint_over(image, polygon(px, _offset_from_middle(CAT_EAR, sign)), ginger * np.float32(0.9))
        paint_over(image, polygon(px, _offset_from_middle(CAT_INNER_EAR, sign)), (222, 150, 138))
    paint_over(image, ellipse(px, CAT, 0.600, 0.085, 0.020), (84, 44, 24), 0.35)
    paint_over(image, blob(px, _mirrored(CAT_FACE)), ginger)
    for a in (-0.026, 0.0, 0.026):
        mark = [(CAT + a - 0.006, 0.424), (CAT + a + 0.006, 0.424), (CAT + a * 0.7, 0.470)]
        paint_over(image, blob(px, mark), (150, 74, 28), 0.9)
    paint_over(image, blob(px, _mirrored(CAT_BLAZE)), white, 0.8)
    for sign in (-1, 1):
        for drop in (0.0, 0.026):
            out = 0.124 - 0.4 * drop
            stripe = ((out, 0.515 + drop), (0.085, 0.527 + 0.8 * drop), (out, 0.527 + drop))
            paint_over(image, polygon(px, _offset_from_middle(stripe, sign)), (150, 74, 28), 0.85)
        paint_over(image, ellipse(px, CAT + sign * 0.030, 0.566, 0.040, 0.030), white)
        _eye(image, CAT + sign * 0.056, 0.505)
    paint_over(image, ellipse(px, CAT, 0.588, 0.026, 0.018), white)
    paint_over(image, blob(px, _mirrored(CAT_NOSE)), (214, 112, 112))
    paint_over(image, polyline(px, [(CAT, 0.556), (CAT, 0.572)], 0.0035), (110, 64, 56))
    for sign in (-1, 1):
        paint_over(image, polyline(px, _offset_from_middle(CAT_MOUTH, sign), 0.0035), (110, 64, 56))
        for lift, start in ((-0.020, 0.558), (0.002, 0.566), (0.024, 0.574)):
            whisker = ((0.042, start), (0.10, start + 0.5 * lift - 0.004), (0.165, start + lift))
            paint_over(image, polyline(px, _offset_from_middle(whisker, sign), 0.0028), (255, 252, 244), 0.9)


def _eye(image: Plane, across: float, down: float) -> None:
    px = len(image)
    x, y = pixel_grid(px)
    iris = blend((196, 214, 84), (62, 132, 62), np.hypot((x - across) / 0.026, (y - down - 0.007) / 0.026))
    paint_over(image, ellipse(px, across, down, 0.030, 0.0245), (58, 34, 24))
    paint_over(image, ellipse(px, across, down, 0.026, 0.0205), iris)
    paint_over(image, ellipse(px, across, down, 0.0085, 0.0185), (14, 12, 14))
    paint_over(image, ellipse(px, across + 0.008, down - 0.008, 0.0055, 0.0055), (255, 255, 250))


def _offset_from_middle(points: Sequence[Point], sign: int) -> list[Point]:
    """Points from their distances to the cat's middle, on its right (1) or left (-1) side."""
    return [(CAT + sign * x, y) for x, y in points]


def _mirrored(half: Sequence[Point]) -> list[Point]:
    """The closed outline of a part from its right half, given from top to bottom with ends on the middle."""
    return _offset_from_middle(half, 1) + _offset_from_middle(half[-2:0:-1], -1)
