"""Hue, saturation and value: one picture's saturation and value changed, its hue kept.

The arithmetic is float64 in the textbook's order, so that truncation to bytes falls where the
reference's does; it goes line by line and without branches, so that the compiler can vectorise it.
"""

from __future__ import annotations

import numpy as np

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit


@jit
def shift_saturation_and_value(
    image: Image, saturation_factor: float, saturation_shift: float, value_shift: float
) -> Image:
    """clip(S*factor + shift) and clip(V + shift) in HSV, back to RGB, truncated."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    planes = np.empty((3, width), np.float64)
    bytes_ = np.empty((3, width), np.int32)
    unit = np.arange(256) / 255.0
    reds, greens, blues = planes[0], planes[1], planes[2]
    new_reds, new_greens, new_blues = bytes_[0], bytes_[1], bytes_[2]
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for x in range(width):
            reds[x] = unit[source[3 * x]]
            greens[x] = unit[source[3 * x + 1]]
            blues[x] = unit[source[3 * x + 2]]
        for x in range(width):
            red, green, blue = reds[x], greens[x], blues[x]
            value = max(max(red, green), blue)
            spread = value - min(min(red, green), blue)
            # Where two channels share the maximum, the later one decides, as in the reference.
            across = green - blue
            turn = 0.0
            if green == value:
                across = blue - red
                turn = 2.0
            if blue == value:
                across = red - green
                turn = 4.0
            grey = spread == 0.0
            hue = (turn + across / (1.0 if grey else spread)) / 6.0
            hue = hue + 1.0 if hue < 0.0 else hue
            hue = 0.0 if grey else hue
            saturation = 0.0 if grey else spread / value
            saturation = min(max(saturation * saturation_factor + saturation_shift, 0.0), 1.0)
            value = min(max(value + value_shift, 0.0), 1.0)
            sector = np.floor(hue * 6.0)
            part = hue * 6.0 - sector
            low = value * (1.0 - saturation)
            falling = value * (1.0 - part * saturation)
            rising = value * (1.0 - (1.0 - part) * saturation)
            red = value
            red = falling if sector == 1.0 else red
            red = low if sector == 2.0 or sector == 3.0 else red
            red = rising if sector == 4.0 else red
            green = low
            green = rising if sector == 0.0 or sector == 6.0 else green
            green = value if sector == 1.0 or sector == 2.0 else green
            green = falling if sector == 3.0 else green
            blue = low
            blue = rising if sector == 2.0 else blue
            blue = value if sector == 3.0 or sector == 4.0 else blue
            blue = falling if sector == 5.0 else blue
            new_reds[x] = np.int32(red * 255.0)
            new_greens[x] = np.int32(green * 255.0)
            new_blues[x] = np.int32(blue * 255.0)
        for x in range(width):
            target[3 * x] = np.uint8(new_reds[x])
            target[3 * x + 1] = np.uint8(new_greens[x])
            target[3 * x + 2] = np.uint8(new_blues[x])
    return out
